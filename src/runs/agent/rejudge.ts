import type { ApprovalBatch, BatchRecovery } from '../../approvals/index.ts';
import { fail } from '../../core/index.ts';
import { Conversation } from './conversation.ts';
import type { AgentContext } from './driving.ts';
import { judgeBatch } from './recover.ts';

/** Judges the stored batch of a run that nobody carries out, and stores what `next` makes of it; null without one. */
export async function rejudgeStored(
  { home, clock }: AgentContext,
  traceId: string,
  next: (judged: BatchRecovery, now: number) => ApprovalBatch,
): Promise<ApprovalBatch | null> {
  if ((await home.batches.get(traceId)) === null) return null;
  const conversation = await Conversation.load(traceId, home.traces, clock);
  return home.batches.change(traceId, (stored) => {
    if (stored === null) throw fail('TRACE_CORRUPT', 'The approval batch of the trace is gone.');
    const reply = conversation.messages.find((one) => one.messageId === stored.batchId);
    const answered = reply === undefined ? new Set<string>() : conversation.answered(reply);
    return next(judgeBatch(stored, answered, clock.nowMs()), clock.nowMs());
  });
}
