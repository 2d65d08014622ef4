import { HoldfastError } from '../../../src/core/index.ts';
import {
  hasKey,
  type OperationChange,
  Principal,
  prepareRequest,
  type ReservedOperation,
} from '../../../src/operations/index.ts';
import { countingObserver, type SqlValue } from '../../../src/store/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { assert, check } from '../../support/index.ts';
import { codeOf, freshDesk, RECEIPT } from './desk.ts';

/** The first transaction of a call: reserved, its outbox row already leased. */
async function begin(desk: RefundDesk): Promise<ReservedOperation> {
  const call = refundCall();
  const tool = desk.tools.current(call.name);
  if (!tool || !hasKey(call)) throw new Error('no tool');
  const request = prepareRequest(USER, call, tool, 'dispatch');
  const approvals = desk.approve(USER, call, 'valid', T0);
  const terms = { approvals, rule: { holds: true }, now: T0, lease: { workerId: 'w', seconds: 30 } };
  const reserved = await desk.store.write('begin', (tx) => desk.operations.reserve(tx, request, terms));
  if (reserved.kind !== 'reserved') throw new Error(reserved.kind);
  return reserved.operation;
}

/** The second: receipts, operation and outbox row. */
function finish(desk: RefundDesk, reserved: ReservedOperation, receipt = RECEIPT, now = T0 + 1) {
  const { statusRef, request } = reserved;
  const terms = { statusRef, expected: request, checked: receipt, keepChecked: true, reserved, now };
  return desk.store.write('finish', (tx) => desk.operations.record(tx, terms));
}

const isBroken = (error: unknown) => error instanceof HoldfastError && error.code === 'OPERATION_RECORD_BROKEN';

check('a whole dispatch in two commits is seven statements, and stands as any other', async (t) => {
  const counts = countingObserver();
  const { desk } = await freshDesk(t, { observer: counts.observe, verdicts: true });
  counts.reset();
  const reserved = await begin(desk);
  assert.deepEqual(await finish(desk, reserved), { kind: 'succeeded' });
  assert.equal(counts.statementsOf('begin').length, 3);
  assert.equal(counts.statementsOf('finish').length, 4);
  assert.equal(counts.count('committed'), 2);
  const audit = await desk.operations.audit();
  assert.deepEqual(audit.semantic_errors, []);
  const replayed = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 2 });
  assert.equal(codeOf(replayed), 'OK');
  const view = await desk.operations.show(USER, reserved.statusRef, T0 + 2);
  assert.deepEqual([view.attempts, view.completedAt, view.receipt?.receiptId], [1, T0 + 1, 'receipt-1']);
});

check('a leased reservation is what reserving and then leasing leave', async (t) => {
  const { desk } = await freshDesk(t);
  await begin(desk);
  const { desk: other } = await freshDesk(t);
  const call = refundCall();
  const options = { approvals: other.approve(USER, call, 'valid', T0), now: T0, failure: 'after_claim' } as const;
  await other.operations.dispatch(USER, call, { ...options, workerId: 'w' });
  const rows = (one: RefundDesk) =>
    one.store.read('test', async (tx) => [
      await tx.all('SELECT * FROM operations'),
      await tx.all('SELECT * FROM outbox'),
    ]);
  assert.deepEqual(await rows(desk), await rows(other));
});

const CHANGED: readonly (readonly [column: string, value: SqlValue])[] = [
  ['request_sha256', 'f'.repeat(64)],
  ['arguments_json', '{"order_ref":"ORDER-7","reason":"other"}'],
  ['handler_revision', 'x'],
  ['approver_id', 'intruder'],
  ['approval_digest', 'f'.repeat(64)],
  ['approved_at', T0 - 1],
  ['created_at', T0 - 1],
  ['first_call_id', 'x'],
  ['idempotency_key', 'x'],
];

for (const [column, value] of CHANGED)
  check(`an operation whose ${column} was changed in between is not finished, and nothing is written`, async (t) => {
    const { desk } = await freshDesk(t);
    const reserved = await begin(desk);
    await desk.store.write('test', (tx) => tx.run(`UPDATE operations SET ${column} = ?`, [value]));
    await assert.rejects(finish(desk, reserved), isBroken);
    const counts = await desk.operations.counts();
    assert.deepEqual([counts.downstream_receipts, counts.local_receipts], [0, 0]);
  });

check('what is not bound by any digest does not stop a receipt', async (t) => {
  const { desk } = await freshDesk(t);
  const reserved = await begin(desk);
  await desk.store.write('test', (tx) => tx.run('UPDATE operations SET approval_expires_at = ?', [T0 + 999]));
  assert.deepEqual(await finish(desk, reserved), { kind: 'succeeded' });
  assert.equal((await desk.operations.counts()).local_receipts, 1);
});

check('a verdict that came first stands: the receipt is kept beside it, and told once', async (t) => {
  const changes: OperationChange['kind'][] = [];
  const onChange = async (_tx: unknown, change: OperationChange) => void changes.push(change.kind);
  const { desk } = await freshDesk(t, { verdicts: true, onChange });
  const reserved = await begin(desk);
  const said = { verdict: 'not_done', reason: 'gave up', now: T0 + 30 } as const;
  await desk.operations.settleByPerson(new Principal('tenant-a', 'boss'), reserved.statusRef, said);
  assert.deepEqual(await finish(desk, reserved, RECEIPT, T0 + 40), { kind: 'settled' });
  const counts = await desk.operations.counts();
  assert.deepEqual([counts.downstream_receipts, counts.local_receipts], [1, 0]);
  assert.equal((await desk.operations.show(USER, reserved.statusRef, T0 + 41)).known, 'not_done');
  assert.deepEqual(await finish(desk, reserved, RECEIPT, T0 + 42), { kind: 'settled' });
  assert.deepEqual(changes, ['reserved', 'settled', 'receipt_kept']);
});

check('a second receipt of the same scope must say the same', async (t) => {
  const { desk } = await freshDesk(t);
  const reserved = await begin(desk);
  await finish(desk, reserved);
  assert.deepEqual(await finish(desk, reserved), { kind: 'succeeded', before: true });
  const later = { ...RECEIPT, receiptId: 'receipt-2', observedAt: '2026-07-19T00:00:09Z' };
  const answer = await finish(desk, reserved, later, T0 + 9);
  assert.equal(answer.kind, 'unchecked');
  const other = { ...RECEIPT, resultJson: '{"draft_id":"DRAFT-8","order_ref":"ORDER-7","reason":"duplicate"}' };
  await assert.rejects(finish(desk, reserved, other), isBroken);
  const view = await desk.operations.show(USER, reserved.statusRef, T0 + 9);
  assert.deepEqual([view.receipt?.receiptId, view.completedAt], ['receipt-1', T0 + 1]);
});

check('a receipt from another producer proves nothing', async (t) => {
  const { desk } = await freshDesk(t);
  const reserved = await begin(desk);
  await assert.rejects(finish(desk, reserved, { ...RECEIPT, producerRevision: 'x' }), isBroken);
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
});
