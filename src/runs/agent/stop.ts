import { type ApprovalBatch, type BatchRecovery, cancelBatch } from '../../approvals/index.ts';
import type { Trace } from '../trace/model.ts';
import type { AgentContext } from './driving.ts';
import { abandonedBatch } from './recover.ts';
import { rejudgeStored } from './rejudge.ts';

export const isEnded = (trace: Trace): boolean => trace.status !== 'running' && trace.status !== 'waiting_confirmation';

/**
 * Writes down that a run is stopped. Where another process carries it out, the stored status asks it to stop: it looks
 * before each step. Where nobody does, what waits is cancelled and what was under way is told as unknown.
 */
export async function stopStored(context: AgentContext, traceId: string): Promise<void> {
  const { home } = context;
  const hold = await home.holds.acquire(traceId, 0);
  try {
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
  if (action === 'wait') return cancelBatch(batch, 'the run was stopped', now);
  return action === 'start' ? abandonedBatch(batch, now) : batch;
}
