import { fail, type JsonValue } from '../core/index.ts';

/** What was said about one call. `not_required`: it needs nobody. */
export type BatchDecision = 'pending' | 'approved' | 'rejected' | 'cancelled' | 'not_required';
export type BatchExecution = 'not_started' | 'executing' | 'executed' | 'rejected' | 'execution_unknown';
export type BatchStatus = 'pending' | 'decided' | 'executing' | 'completed' | 'cancelled' | 'execution_unknown';

export interface BatchCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** What is executed: an approver's edit replaces the whole. */
  readonly effectiveArguments: JsonValue;
  readonly decision: BatchDecision;
  readonly executionStatus: BatchExecution;
  /** Epoch ms. */
  readonly decidedAt: number | null;
  /** Why it was rejected or cancelled: `expired`, or what a person wrote. */
  readonly reason: string | null;
}

/** All calls of one model reply, in the model's order, while at least one of them needs or needed a person. */
export interface ApprovalBatch {
  readonly batchId: string;
  readonly status: BatchStatus;
  readonly updatedAt: number;
  readonly calls: readonly BatchCall[];
}

/** A call of a new batch. */
export interface BatchProposal {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: JsonValue;
  readonly needsPerson: boolean;
}

/** What a person says about one call of a batch. `arguments` is there when an edit was made and checked. */
export interface BatchVerdict {
  readonly toolCallId: string;
  readonly decision: 'approve' | 'reject';
  readonly arguments?: JsonValue;
}

/** A fresh batch: pending while a call needs a person, else decided at once. INVALID_VALUE for a repeated call id. */
export function openBatch(batchId: string, calls: readonly BatchProposal[], now: number): ApprovalBatch {
  if (calls.length === 0 || new Set(calls.map((call) => call.toolCallId)).size !== calls.length)
    throw fail('INVALID_VALUE', 'A batch has at least one call, and each call id once.');
  return {
    batchId,
    status: calls.some((call) => call.needsPerson) ? 'pending' : 'decided',
    updatedAt: now,
    calls: calls.map(({ toolCallId, toolName, arguments: given, needsPerson }) => ({
      toolCallId,
      toolName,
      effectiveArguments: given,
      decision: needsPerson ? 'pending' : 'not_required',
      executionStatus: 'not_started',
      decidedAt: null,
      reason: null,
    })),
  };
}

export const pendingCalls = (batch: ApprovalBatch): readonly BatchCall[] =>
  batch.calls.filter((call) => call.decision === 'pending');

/**
 * Decides calls of a pending batch, all or none; it is decided once no call is pending. Refuses with
 * APPROVAL_NOT_FOUND for a call it does not have, APPROVAL_ALREADY_DECIDED for one, or a whole batch, that is decided.
 */
export function decideBatch(batch: ApprovalBatch, verdicts: readonly BatchVerdict[], now: number): ApprovalBatch {
  if (batch.status !== 'pending') throw fail('APPROVAL_ALREADY_DECIDED', 'These calls were decided already.');
  const byCall = new Map(verdicts.map((verdict) => [verdict.toolCallId, verdict]));
  if (verdicts.length === 0 || byCall.size !== verdicts.length)
    throw fail('INVALID_VALUE', 'Each call is decided once, and at least one.');
  for (const id of byCall.keys()) requirePending(batch, id);
  const calls = batch.calls.map((call) => decidedCall(call, byCall.get(call.toolCallId), now));
  const status = calls.some((call) => call.decision === 'pending') ? 'pending' : 'decided';
  return { ...batch, status, updatedAt: now, calls };
}

function requirePending(batch: ApprovalBatch, toolCallId: string): void {
  const call = batch.calls.find((one) => one.toolCallId === toolCallId);
  if (!call) throw fail('APPROVAL_NOT_FOUND', 'The batch has no such call.');
  if (call.decision !== 'pending') throw fail('APPROVAL_ALREADY_DECIDED', 'This call was decided already.');
}

function decidedCall(call: BatchCall, verdict: BatchVerdict | undefined, now: number): BatchCall {
  if (!verdict) return call;
  if (verdict.decision === 'reject')
    return { ...call, decision: 'rejected', executionStatus: 'rejected', decidedAt: now };
  const effectiveArguments = verdict.arguments ?? call.effectiveArguments;
  return { ...call, decision: 'approved', effectiveArguments, decidedAt: now };
}

/** The stop call: what waits is cancelled. Any other state is left to its execution: APPROVAL_ALREADY_DECIDED. */
export function cancelBatch(batch: ApprovalBatch, reason: string, now: number): ApprovalBatch {
  if (batch.status !== 'pending') throw fail('APPROVAL_ALREADY_DECIDED', 'These calls are no longer waiting.');
  const calls = batch.calls.map(
    (call): BatchCall =>
      call.decision === 'pending' ? { ...call, decision: 'cancelled', decidedAt: now, reason } : call,
  );
  return { ...batch, status: 'cancelled', updatedAt: now, calls };
}

/** A call is about to start: stored before its body runs. Only an approved call, or one that needs nobody, may. */
export function startCall(batch: ApprovalBatch, toolCallId: string, now: number): ApprovalBatch {
  const call = batch.calls.find((one) => one.toolCallId === toolCallId);
  const mayRun = call?.decision === 'approved' || call?.decision === 'not_required';
  const isOpen = batch.status === 'decided' || batch.status === 'executing';
  if (!isOpen || !mayRun || call.executionStatus !== 'not_started')
    throw fail('APPROVAL_NOT_GIVEN', 'The call may not start: it is not decided, not allowed, or has started already.');
  return withExecution({ ...batch, status: 'executing' }, toolCallId, 'executing', now);
}

/** A call has ended. The batch is completed once every call is; one unknown makes the whole unknown. */
export function finishCall(
  batch: ApprovalBatch,
  toolCallId: string,
  ended: 'executed' | 'execution_unknown',
  now: number,
): ApprovalBatch {
  const call = batch.calls.find((one) => one.toolCallId === toolCallId);
  if (call?.executionStatus !== 'executing') throw fail('APPROVAL_NOT_GIVEN', 'The call is not being executed.');
  const next = withExecution(batch, toolCallId, ended, now);
  return { ...next, status: executedStatus(next.calls) };
}

/** What the executions of decided calls say about their batch. */
export function executedStatus(calls: readonly BatchCall[]): BatchStatus {
  const over = new Set(calls.map((call) => call.executionStatus));
  if (over.has('execution_unknown')) return 'execution_unknown';
  if (over.has('executing')) return 'executing';
  if (!over.has('not_started')) return 'completed';
  return over.has('executed') ? 'executing' : 'decided';
}

function withExecution(batch: ApprovalBatch, id: string, status: BatchExecution, now: number): ApprovalBatch {
  const calls = batch.calls.map((call) => (call.toolCallId === id ? { ...call, executionStatus: status } : call));
  return { ...batch, updatedAt: now, calls };
}

export type BatchRecovery =
  /** Nobody has decided: the run goes back to waiting; the batch is as it was. */
  | { readonly action: 'wait'; readonly batch: ApprovalBatch }
  /** Decided, nothing started: the run may be taken up where it stopped. */
  | { readonly action: 'start'; readonly batch: ApprovalBatch }
  /** Something had started: nobody knows how it ended, and nothing is repeated. */
  | { readonly action: 'unknown'; readonly batch: ApprovalBatch }
  | { readonly action: 'none'; readonly batch: ApprovalBatch };

/** What a restart makes of a stored batch. Run twice it gives the same. */
export function recoverBatch(batch: ApprovalBatch, now: number): BatchRecovery {
  switch (batch.status) {
    case 'pending':
      return { action: 'wait', batch };
    case 'decided':
      return { action: 'start', batch };
    case 'executing': {
      const calls = batch.calls.map(
        (call): BatchCall =>
          call.executionStatus === 'executing' ? { ...call, executionStatus: 'execution_unknown' } : call,
      );
      return { action: 'unknown', batch: { ...batch, status: 'execution_unknown', updatedAt: now, calls } };
    }
    case 'completed':
    case 'cancelled':
    case 'execution_unknown':
      return { action: 'none', batch };
  }
}
