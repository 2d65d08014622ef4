import fc from 'fast-check';
import { canonicalJson, HoldfastError, type JsonValue } from '../../../src/core/index.ts';
import { approvalDigest, effectIdentity, outboxPayload, requestDigest } from '../../../src/operations/index.ts';
import { digestJson } from '../../../src/core/index.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, check } from '../../support/index.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });

check('digests over documents in key order are those over canonical JSON, whatever the texts', () => {
  fc.assert(
    fc.property(text, text, text, text, (tenant, subject, key, approver) => {
      const scope = { tenant, subject, tool: 'tool', key };
      const wanted = digestJson({ request_sha256: 'r', scope: [tenant, subject, 'tool', key] });
      assert.equal(effectIdentity(scope, 'r'), wanted);
      const context = {
        provider: tenant,
        apiFamily: subject,
        adapterRevision: key,
        operationId: 'o',
        callId: key,
        responseId: 'r',
        idempotencyKey: null,
      };
      const { contract } = REFUND_SPEC;
      const approval: JsonValue = {
        provider: tenant,
        api_family: subject,
        adapter_revision: key,
        operation_id: 'o',
        call_id: key,
        response_id: 'r',
        idempotency_key: null,
        request_sha256: 'd',
        input_schema_revision: contract.inputSchema,
        output_schema_revision: contract.outputSchema,
        effect_revision: contract.effect,
        approval_revision: contract.policy,
        approver_id: approver,
      };
      assert.equal(approvalDigest(context, contract, 'd', approver), digestJson(approval));
      const payload = outboxPayload(7, 'd', key);
      assert.equal(JSON.stringify(payload), canonicalJson({ ...payload }));
    }),
  );
});

check('half of a surrogate pair is refused, and an escaped one is only text', () => {
  const { contract } = REFUND_SPEC;
  const who = (subject: string) => ({ tenant: 't', subject, roles: [] });
  assert.throws(() => requestDigest(who('\ud800'), contract, {}), HoldfastError);
  const digest = requestDigest(who('\\ud800'), contract, {});
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.notEqual(digest, requestDigest(who('\\uD800'), contract, {}));
});
