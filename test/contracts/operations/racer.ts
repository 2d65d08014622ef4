// One of several that start at once: a thread, or a process, with a runtime of its own on the same file.
import { parentPort, workerData } from 'node:worker_threads';
import { envelopeCode } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { openDesk, type RefundDesk } from '../../fixtures/refund-desk/desk.ts';

/** What a racer does when the barrier falls. */
export type RacerTask =
  | { readonly kind: 'dispatch'; readonly now: number; readonly reason: string; readonly suffix: string }
  | { readonly kind: 'dispatch_whole'; readonly now: number }
  | { readonly kind: 'process'; readonly now: number; readonly statusRef: string; readonly workerId: string };

export async function race(desk: RefundDesk, task: RacerTask): Promise<string> {
  if (task.kind === 'process')
    return desk.operations.process(task.statusRef, { workerId: task.workerId, now: task.now });
  if (task.kind === 'dispatch_whole') {
    const call = refundCall();
    const approvals = desk.approve(USER, call, 'valid', T0);
    return envelopeCode(await desk.operations.dispatch(USER, call, { approvals, now: task.now }));
  }
  const { reason, suffix } = task;
  const call = refundCall({ reason, callId: `call-persistent${suffix}`, responseId: `response-persistent${suffix}` });
  const approvals = desk.approve(USER, call, 'valid', T0);
  const options = { approvals, now: task.now, failure: 'after_intent_commit' } as const;
  return envelopeCode(await desk.operations.dispatch(USER, call, options));
}

interface ThreadData {
  readonly file: string;
  readonly task: RacerTask;
  readonly barrier: SharedArrayBuffer;
  readonly racers: number;
}

/** Waits until all racers are here. */
function meet({ barrier, racers }: ThreadData): void {
  const here = new Int32Array(barrier);
  if (Atomics.add(here, 0, 1) + 1 === racers) Atomics.notify(here, 0);
  for (let seen = Atomics.load(here, 0); seen < racers; seen = Atomics.load(here, 0)) Atomics.wait(here, 0, seen, 100);
}

if (parentPort) {
  const data = workerData as ThreadData;
  await using desk = await openDesk(data.file, { busyTimeoutMs: 20_000 });
  meet(data);
  parentPort.postMessage(await race(desk, data.task));
}
