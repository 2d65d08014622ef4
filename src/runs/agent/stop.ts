import { type ApprovalBatch, type BatchRecovery, cancelBatch } from '../../approvals/index.ts';
import { fail } from '../../core/index.ts';
import type { Trace } from '../trace/model.ts';
import type { AgentContext } from './driving.ts';
import { abandonedBatch } from './recover.ts';
import { rejudgeStored } from './rejudge.ts';

export const isEnded = (trace: Trace): boolean => trace.status !== 'running' && trace.status !== 'waiting_confirmation';

/** Cancels what waits in a run that is stopped, whoever has the run: nobody carries out what is not decided. */
export async function cancelWaiting({ home, clock }: AgentContext, traceId: string): Promise<void> {
  if ((await home.batches.get(traceId))?.status !== 'pending') return;
  await home.batches.change(traceId, (now) => {
    if (now === null) throw fail('TRACE_CORRUPT', 'The approval batch of the trace is gone.');
    return now.status === 'pending' ? cancelBatch(now, STOPPED, clock.nowMs()) : now;
  });
}

const STOPPED = 'the run was stopped';

/**
 * Writes down that a run is stopped. Where another process carries it out, the stored status asks it to stop: it looks
 * before each step. Where nobody does, what waits is cancelled and what was under way is told as unknown.
 */
export async function stopStored(context: AgentContext, traceId: string): Promise<void> {
  const { home } = context;
  const hold = await home.holds.acquire(traceId, 0);
  try {
    if (hold === null) await cancelWaiting(context, traceId);
    const batch = hold === null ? null : await rejudgeStored(context, traceId, stoppedBatch);
    if (batch?.status === 'execution_unknown') {
      const errorMessage = 'The outcome is unknown: a call had started when the run was stopped.';
      await home.traces.updateTrace(traceId, (now) => (isEnded(now) ? null : { status: 'failed', errorMessage }));
      return;
    }
    await home.traces.updateTrace(traceId, (now) => (isEnded(now) ? null : { status: 'stopped' }));
  } finally {
    hold?.release();
  }
}

function stoppedBatch({ action, batch }: BatchRecovery, now: number): ApprovalBatch {
  if (action === 'wait') return cancelBatch(batch, STOPPED, now);
  return action === 'start' ? abandonedBatch(batch, now) : batch;
}
