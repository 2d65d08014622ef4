import {
  approvalDigest,
  MAX_PORTABLE_UNIX_SECONDS,
  type OperationApproval,
  requestDigest,
  type ToolCall,
} from '../../../src/operations/index.ts';
import { ANTHROPIC, refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { readTables } from '../../fixtures/refund-desk/replay/tables.ts';
import { assert, check, contract } from '../../support/index.ts';
import { codeOf, freshDesk } from './desk.ts';

async function refusal(desk: RefundDesk, approvals: readonly OperationApproval[], call: ToolCall = refundCall()) {
  return codeOf(await desk.operations.dispatch(USER, call, { approvals, now: T0 }));
}

contract('OPS-68 OPS-69', 'no approval, no operation', async (t) => {
  const { desk } = await freshDesk(t);
  assert.equal(await refusal(desk, []), 'APPROVAL_REQUIRED');
  assert.equal((await desk.operations.counts()).operations, 0);
});

contract('OPS-70 OPS-71', 'an approval that has ended is no approval', async (t) => {
  const { desk } = await freshDesk(t);
  assert.equal(await refusal(desk, desk.approve(USER, refundCall(), 'expired', T0)), 'APPROVAL_INVALID');
  assert.equal((await desk.operations.counts()).operations, 0);
});

contract('OPS-72 OPS-73 OPS-74', 'an approval past the portable end is as bad as one that has ended', async (t) => {
  const { desk } = await freshDesk(t);
  const approvals = desk
    .approve(USER, refundCall(), 'valid', T0)
    .map((approval) => ({ ...approval, expiresAt: MAX_PORTABLE_UNIX_SECONDS + 1 }));
  assert.equal(await refusal(desk, approvals), 'APPROVAL_INVALID');
  const counts = await desk.operations.counts();
  assert.equal(counts.operations, 0);
  assert.equal(counts.outbox, 0);
});

contract('OPS-75 OPS-76 OPS-77', 'a stored operation keeps who approved it, and for what context', async (t) => {
  const { desk, file } = await freshDesk(t);
  const call = refundCall();
  assert.equal(await refusal(desk, desk.approve(USER, call, 'valid', T0)), 'OK');
  const [row] = readTables(file, ['operations'])['operations'] as Record<string, unknown>[];
  assert.equal(row?.['approver_id'], 'human-reviewer-1');
  const context = [row?.['first_provider'], row?.['first_api_family'], row?.['first_adapter_revision']];
  assert.deepEqual(context, ['openai', 'responses', 'openai-responses-v1']);
  const request = requestDigest(USER, REFUND_SPEC.contract, call.arguments);
  const digest = approvalDigest(call, REFUND_SPEC.contract, request, String(row?.['approver_id']));
  assert.equal(row?.['approval_digest'], digest);
});

contract('OPS-78 OPS-79 OPS-80', 'an approval crosses neither to another provider nor to another key', async (t) => {
  const { desk } = await freshDesk(t);
  const approvals = desk.approve(USER, refundCall(), 'valid', T0);
  assert.equal(await refusal(desk, approvals, refundCall(ANTHROPIC)), 'APPROVAL_INVALID');
  const otherKey = refundCall({ idempotencyKey: 'other-persistent-key' });
  assert.equal(await refusal(desk, approvals, otherKey), 'APPROVAL_INVALID');
  assert.equal((await desk.operations.counts()).operations, 0);
});

check('an approval whose digest is another one is no approval, whatever else it says', async (t) => {
  const { desk } = await freshDesk(t);
  assert.equal(await refusal(desk, desk.approve(USER, refundCall(), 'mismatched', T0)), 'APPROVAL_INVALID');
  assert.equal((await desk.operations.counts()).operations, 0);
});

check('a blank or over-long approval id is never the one that is kept', async (t) => {
  const { desk, file } = await freshDesk(t);
  const [good] = desk.approve(USER, refundCall(), 'valid', T0);
  assert.ok(good);
  const approvals = [{ ...good, approvalId: ' ' }, { ...good, approvalId: 'a'.repeat(256) }, good];
  assert.equal(await refusal(desk, approvals), 'OK');
  const [row] = readTables(file, ['operations'])['operations'] as Record<string, unknown>[];
  assert.equal(row?.['approval_id'], good.approvalId);
  assert.equal((await desk.operations.audit()).passed, true);
});

check('of several valid approvals the first by id is kept, then the one that ends first', async (t) => {
  const { desk, file } = await freshDesk(t);
  const [good] = desk.approve(USER, refundCall(), 'valid', T0);
  assert.ok(good);
  const approvals = [
    { ...good, approvalId: 'b' },
    { ...good, approvalId: 'a', expiresAt: T0 + 50 },
    { ...good, approvalId: 'a', expiresAt: T0 + 40 },
  ];
  assert.equal(await refusal(desk, approvals), 'OK');
  const [row] = readTables(file, ['operations'])['operations'] as Record<string, unknown>[];
  assert.deepEqual([row?.['approval_id'], row?.['approval_expires_at']], ['a', T0 + 40]);
});
