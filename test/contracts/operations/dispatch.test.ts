import { ANTHROPIC, refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import type { ToolCall } from '../../../src/operations/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { anotherDesk, codeOf, deliveryOf, freshDesk } from './desk.ts';

function approved(desk: RefundDesk, call: ToolCall, failure: 'none' | 'after_intent_commit' = 'none') {
  return desk.operations.dispatch(USER, call, { approvals: desk.approve(USER, call, 'valid', T0), now: T0, failure });
}

function unapproved(desk: RefundDesk, call: ToolCall, now = T0) {
  return desk.operations.dispatch(USER, call, { approvals: [], now });
}

async function effects(desk: RefundDesk): Promise<number> {
  return (await desk.operations.counts()).downstream_receipts;
}

contract('OPS-48 OPS-49 OPS-50', 'a first dispatch is done, fresh, and one effect', async (t) => {
  const { desk } = await freshDesk(t);
  const result = await approved(desk, refundCall());
  assert.equal(codeOf(result), 'OK');
  assert.equal(deliveryOf(result), 'fresh');
  assert.equal(await effects(desk), 1);
});

contract('OPS-51 OPS-52 OPS-53', 'the same call again is a replay: no approval, no second effect', async (t) => {
  const { desk } = await freshDesk(t);
  assert.equal(codeOf(await approved(desk, refundCall())), 'OK');
  assert.equal(deliveryOf(await unapproved(desk, refundCall())), 'local_replay');
  assert.equal(await effects(desk), 1);
});

contract('OPS-54 OPS-55', 'one key, two intents: the second is a conflict', async (t) => {
  const { desk } = await freshDesk(t);
  await approved(desk, refundCall(), 'after_intent_commit');
  const changed = refundCall({ reason: 'damaged', callId: 'changed', responseId: 'changed-response' });
  assert.equal(codeOf(await approved(desk, changed)), 'IDEMPOTENCY_CONFLICT');
  assert.equal(await effects(desk), 0);
});

contract('OPS-56 OPS-57', 'the same intent under another key is a second effect', async (t) => {
  const { desk } = await freshDesk(t);
  const second = refundCall({ idempotencyKey: 'persistent-key-2', callId: 'call-2', responseId: 'response-2' });
  const codes = [codeOf(await approved(desk, refundCall())), codeOf(await approved(desk, second))];
  assert.deepEqual(codes, ['OK', 'OK']);
  assert.equal(await effects(desk), 2);
});

contract('OPS-58 OPS-59', 'a direct dispatch without a key is refused before anything is reserved', async (t) => {
  const { desk } = await freshDesk(t);
  const result = await unapproved(desk, refundCall({ idempotencyKey: null }));
  assert.equal(codeOf(result), 'IDEMPOTENCY_KEY_REQUIRED');
  assert.equal((await desk.operations.counts()).operations, 0);
});

contract('OPS-60 OPS-61', 'arguments that break the input rules do not reach the database', async (t) => {
  const { desk } = await freshDesk(t);
  assert.equal(codeOf(await unapproved(desk, refundCall({ reason: 'invented' }))), 'INVALID_ARGUMENTS');
  const counts = await desk.operations.counts();
  assert.equal(counts.operations, 0);
  assert.equal(counts.call_bindings, 0);
});

contract('OPS-62', 'a call identity cannot be used again for another key', async (t) => {
  const { desk } = await freshDesk(t);
  await approved(desk, refundCall(), 'after_intent_commit');
  assert.equal(codeOf(await approved(desk, refundCall({ idempotencyKey: 'other-key' }))), 'CALL_ID_CONFLICT');
});

contract('OPS-65 OPS-66', 'a replay cannot cross into another provider context', async (t) => {
  const { desk } = await freshDesk(t);
  assert.equal(codeOf(await approved(desk, refundCall())), 'OK');
  const crossed = refundCall({ ...ANTHROPIC, responseId: 'response-anthropic' });
  assert.equal(codeOf(await unapproved(desk, crossed, T0 + 1)), 'IDEMPOTENCY_CONFLICT');
  assert.equal(await effects(desk), 1);
});

contract('OPS-67', 'results are copies: what a caller does to one changes nothing', async (t) => {
  const { desk } = await freshDesk(t);
  const result = await approved(desk, refundCall());
  const data = result.model_result.data as { reason: string };
  data.reason = 'tampered';
  const replayed = await unapproved(desk, refundCall());
  assert.equal((replayed.model_result.data as { reason: string }).reason, 'duplicate');
});

contract('OPS-174 OPS-175 OPS-176', 'two runtimes on one file see one operation', async (t) => {
  const { desk, file } = await freshDesk(t);
  const second = await anotherDesk(t, file);
  assert.equal(deliveryOf(await approved(desk, refundCall())), 'fresh');
  assert.equal(deliveryOf(await unapproved(second, refundCall(), T0 + 1)), 'local_replay');
  assert.equal(await effects(desk), 1);
});

check('an unauthorised request without a key is told the same as one for nothing (I-1, I-2)', async (t) => {
  const { desk } = await freshDesk(t);
  const foreign = await unapproved(desk, refundCall({ orderRef: 'ORDER-8', idempotencyKey: null }));
  const absent = await unapproved(desk, refundCall({ orderRef: 'ORDER-404', idempotencyKey: null }));
  assert.equal(codeOf(foreign), 'NOT_FOUND');
  assert.deepEqual(foreign.model_result, absent.model_result);
  assert.deepEqual(foreign.protected_audit.downstream, absent.protected_audit.downstream);
});

check('a tool that only reads and one that nobody registered are unknown to operations', async (t) => {
  const { desk } = await freshDesk(t);
  const reading = refundCall({ name: 'get_order', arguments: { order_ref: 'ORDER-7' } });
  const absent = refundCall({ name: 'delete_everything' });
  const codes = [
    codeOf(await approved(desk, absent.with({ name: 'get_order' }))),
    codeOf(await unapproved(desk, reading)),
  ];
  assert.deepEqual(codes, ['UNKNOWN_TOOL', 'UNKNOWN_TOOL']);
  assert.equal(codeOf(await unapproved(desk, absent)), 'UNKNOWN_TOOL');
  assert.equal((await desk.operations.counts()).call_bindings, 0);
});
