import { canonicalJson, sha256Hex } from '../../../src/core/index.ts';
import { MAX_PORTABLE_UNIX_SECONDS, requestDigest, type ToolCall } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { errorKind } from '../../fixtures/refund-desk/error-kinds.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, contract } from '../../support/index.ts';
import { codeOf, freshDesk } from './desk.ts';

/** The request digest, computed from the contract's words and nothing of ours but canonical JSON. */
function digestByHand(call: ToolCall): string {
  return sha256Hex(
    canonicalJson({
      tenant_id: 'tenant-a',
      subject_id: 'user-1',
      tool: 'create_refund_draft',
      arguments: call.arguments,
      input_schema_revision: 'refund-draft-input-v1',
      output_schema_revision: 'refund-draft-output-v2',
      effect_revision: 'create-refund-draft-v1',
    }),
  );
}

contract('OPS-39', 'the answer carries the request digest that anybody can compute', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall();
  const result = await desk.operations.dispatch(USER, call, {
    approvals: desk.approve(USER, call, 'valid', T0),
    now: T0,
  });
  assert.equal(result.protected_audit.binding.request_sha256, digestByHand(call));
});

contract('OPS-40', 'execution identity is not business intent', () => {
  const other = refundCall({ idempotencyKey: 'another-key', callId: 'other-call', responseId: 'other-response' });
  const contractOfTool = REFUND_SPEC.contract;
  assert.equal(
    requestDigest(USER, contractOfTool, refundCall().arguments),
    requestDigest(USER, contractOfTool, other.arguments),
  );
});

contract('OPS-41 OPS-42', 'an answer is whole for its own call, and for no call under another key', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall();
  const result = await desk.operations.dispatch(USER, call, {
    approvals: desk.approve(USER, call, 'valid', T0),
    now: T0,
  });
  assert.deepEqual(await desk.operations.validate(result, USER, call), []);
  const findings = await desk.operations.validate(result, USER, call.with({ idempotencyKey: 'persistent-key-2' }));
  assert.ok(findings.some((finding) => finding.includes('call_binding')));
});

contract('OPS-43', 'an unknown outcome is a whole answer too', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const result = await desk.operations.dispatch(USER, call, { approvals, now: T0, failure: 'after_intent_commit' });
  assert.equal(codeOf(result), 'OUTCOME_UNKNOWN');
  assert.deepEqual(await desk.operations.validate(result, USER, call), []);
});

function isInvalid(fragment: string) {
  return (error: unknown) =>
    errorKind(error) === 'invalid_value' && error instanceof Error && error.message.includes(fragment);
}

contract('OPS-44 OPS-45 OPS-46', 'times past the portable end are refused before anything is reserved', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const dispatch = (now: number, leaseSeconds: number) =>
    desk.operations.dispatch(USER, call, { approvals, now, leaseSeconds });
  await assert.rejects(dispatch(MAX_PORTABLE_UNIX_SECONDS + 1, 30), isInvalid('UTC datetime'));
  await assert.rejects(dispatch(MAX_PORTABLE_UNIX_SECONDS, 1), isInvalid('now + lease_seconds'));
  assert.equal((await desk.operations.counts()).operations, 0);
});

contract('OPS-47', 'the last second that leaves room for lease and approval is good', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall();
  const now = MAX_PORTABLE_UNIX_SECONDS - 60;
  assert.equal(now, 253_402_300_739);
  const result = await desk.operations.dispatch(USER, call, { approvals: desk.approve(USER, call, 'valid', now), now });
  assert.equal(codeOf(result), 'OK');
});
