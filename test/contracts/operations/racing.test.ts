import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { assert, contract } from '../../support/index.ts';
import { freshDesk, statusRefIn } from './desk.ts';
import type { RacerTask } from './racer.ts';

/** Runs each task in a thread of its own, all at once, and says what each answered. */
function inThreads(file: string, tasks: readonly RacerTask[]): Promise<string[]> {
  const barrier = new SharedArrayBuffer(4);
  return Promise.all(
    tasks.map(
      (task) =>
        new Promise<string>((settle, refuse) => {
          const workerData = { file, task, barrier, racers: tasks.length };
          const worker = new Worker(join(import.meta.dirname, 'racer.ts'), { workerData });
          worker.once('message', (word: string) => settle(word));
          worker.once('error', refuse);
        }),
    ),
  );
}

const eight = <T>(make: (i: number) => T): T[] => Array.from({ length: 8 }, (_, i) => make(i));

contract(
  'OPS-165 OPS-166 OPS-167 OPS-168',
  'eight threads dispatch one call: one ledger row, one outbox row',
  async (t) => {
    const { desk, file } = await freshDesk(t);
    const codes = await inThreads(
      file,
      eight((i) => ({ kind: 'dispatch', now: T0 + i, reason: 'duplicate', suffix: '' })),
    );
    assert.deepEqual(
      codes,
      eight(() => 'OUTCOME_UNKNOWN'),
    );
    const counts = await desk.operations.counts();
    assert.equal(counts.operations, 1);
    assert.equal(counts.outbox, 1);
    assert.equal(counts.downstream_receipts, 0);
  },
);

contract('OPS-169 OPS-170', 'two threads with one key and two intents: one is a conflict', async (t) => {
  const { desk, file } = await freshDesk(t);
  const codes = await inThreads(file, [
    { kind: 'dispatch', now: T0, reason: 'duplicate', suffix: '-a' },
    { kind: 'dispatch', now: T0, reason: 'damaged', suffix: '-b' },
  ]);
  assert.deepEqual(codes.sort(), ['IDEMPOTENCY_CONFLICT', 'OUTCOME_UNKNOWN']);
  assert.equal((await desk.operations.counts()).operations, 1);
});

contract('OPS-171 OPS-172 OPS-173', 'eight workers on one operation: one effect, one receipt', async (t) => {
  const { desk, file } = await freshDesk(t);
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const stored = await desk.operations.dispatch(USER, call, { approvals, now: T0, failure: 'after_intent_commit' });
  const statusRef = statusRefIn(stored);
  const words = await inThreads(
    file,
    eight((i) => ({ kind: 'process', now: T0 + 1, statusRef, workerId: `worker-${i}` })),
  );
  assert.ok(words.includes('succeeded'));
  assert.ok(words.every((word) => word === 'succeeded' || word === 'not_claimed'));
  const counts = await desk.operations.counts();
  assert.equal(counts.downstream_receipts, 1);
  assert.equal(counts.local_receipts, 1);
});
