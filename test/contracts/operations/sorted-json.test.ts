import fc from 'fast-check';
import { canonicalJson, HoldfastError, type JsonValue } from '../../../src/core/index.ts';
import {
  approvalDigest,
  callFingerprint,
  effectIdentity,
  outboxPayload,
  Principal,
  requestDigest,
  ToolCall,
} from '../../../src/operations/index.ts';
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

/** Texts that JSON spells as they stand, and texts in which something has to be spelled otherwise. */
const anyText = fc.oneof(text, fc.constantFrom('a"b', 'a\\b', '\u0001', '\u007f', '\u2028', 'ä', '😀', '","x":"'));

check('digests of calls are those over canonical JSON, plain or not', () => {
  fc.assert(
    fc.property(fc.array(anyText, { minLength: 10, maxLength: 10 }), (texts) => {
      const [callId = '', operationId = '', key = '', provider = '', apiFamily = '', responseId = ''] = texts;
      const [adapterRevision = '', approver = '', subject = '', revision = ''] = texts.slice(6);
      const name = REFUND_SPEC.contract.name;
      const fields = { callId, operationId, name, arguments: {}, provider, apiFamily, responseId, adapterRevision };
      const call = new ToolCall({ ...fields, idempotencyKey: key });
      const contract = { ...REFUND_SPEC.contract, effect: revision };
      const shared = {
        adapter_revision: adapterRevision,
        api_family: apiFamily,
        call_id: callId,
        idempotency_key: key,
        operation_id: operationId,
        provider,
        request_sha256: 'd',
        response_id: responseId,
      };
      assert.equal(callFingerprint(call, 'dispatch', 'd'), digestJson({ ...shared, purpose: 'dispatch' }));
      const revisions = {
        effect_revision: revision,
        input_schema_revision: contract.inputSchema,
        output_schema_revision: contract.outputSchema,
      };
      const approval = { ...shared, ...revisions, approval_revision: contract.policy, approver_id: approver };
      assert.equal(approvalDigest(call, contract, 'd', approver), digestJson(approval));
      const request = { ...revisions, arguments: { a: 1 }, subject_id: subject, tenant_id: key, tool: name };
      assert.equal(requestDigest(new Principal(key, subject), contract, { a: 1 }), digestJson(request));
    }),
  );
});

check('a text that is no digest, where a digest is expected, is spelled as what it is', () => {
  const odd = 'a","b":"c';
  const call = new ToolCall({
    callId: 'c',
    operationId: 'o',
    name: 'tool',
    arguments: {},
    idempotencyKey: 'k',
    provider: 'p',
    apiFamily: 'f',
    responseId: 'r',
    adapterRevision: 'v',
  });
  const shared = {
    adapter_revision: 'v',
    api_family: 'f',
    call_id: 'c',
    idempotency_key: 'k',
    operation_id: 'o',
    provider: 'p',
    request_sha256: odd,
    response_id: 'r',
  };
  assert.equal(callFingerprint(call, 'dispatch', odd), digestJson({ ...shared, purpose: 'dispatch' }));
  const scope = { tenant: 't', subject: 's', tool: 'tool', key: 'k' };
  assert.equal(effectIdentity(scope, odd), digestJson({ request_sha256: odd, scope: ['t', 's', 'tool', 'k'] }));
});

check('a contract that is changed in place has the digests of what it is now', () => {
  const contract = { ...REFUND_SPEC.contract };
  const who = new Principal('t', 's');
  const before = requestDigest(who, contract, {});
  contract.effect = 'another-effect-v2';
  assert.notEqual(requestDigest(who, contract, {}), before);
  assert.equal(requestDigest(who, contract, {}), requestDigest(who, { ...contract }, {}));
});
