import { type ApprovalBatch, type BatchRecovery, finishCall, recoverBatch } from '../../approvals/index.ts';

/**
 * What a stored batch comes to when its run is taken up. A call whose result is stored has ended, whatever its state
 * says: the result is written first. With that counted, a batch in which no call is under way goes on with what has not
 * started; one that has a call under way is unknown.
 */
export function judgeBatch(batch: ApprovalBatch, answered: ReadonlySet<string>, now: number): BatchRecovery {
  const proven = batch.calls
    .filter((call) => call.executionStatus === 'executing' && answered.has(call.toolCallId))
    .reduce((judged, call) => finishCall(judged, call.toolCallId, 'executed', now), batch);
  const underWay = proven.calls.some((call) => call.executionStatus === 'executing');
  if (proven.status === 'executing' && !underWay) return { action: 'start', batch: proven };
  return recoverBatch(proven, now);
}

/** A batch whose calls all have ended, rejected ones included. */
export function completedBatch(batch: ApprovalBatch, now: number): ApprovalBatch {
  const ended = batch.calls.every((call) => ['executed', 'rejected'].includes(call.executionStatus));
  return ended && batch.status !== 'completed' ? { ...batch, status: 'completed', updatedAt: now } : batch;
}

/** A decided batch of a run that is stopped: what has not started never will, and counts as rejected. */
export function abandonedBatch(batch: ApprovalBatch, now: number): ApprovalBatch {
  const calls = batch.calls.map((call) =>
    call.executionStatus === 'not_started'
      ? { ...call, executionStatus: 'rejected' as const, reason: 'the run was stopped' }
      : call,
  );
  return completedBatch({ ...batch, calls }, now);
}
