import { isJsonObject, JSON_PROFILES, type JsonValue, readCanonicalJson } from '../core/index.ts';
import type { ActionEvent } from '../sessions/index.ts';
import { type ApprovalBatch, type BatchCall, type BatchExecution, executedStatus } from './batch.ts';
import type { PermissionRequest, RequestState } from './model.ts';

/**
 * The batch of one action group: what its calls, their requests and their executions say together. Its id is the
 * group's. A call without a request needs nobody; of several requests about one call the last one counts, so an edited
 * call shows the arguments that are executed. Null for a group that proposed no call.
 */
export function projectBatch(
  groupId: string,
  events: readonly ActionEvent[],
  requests: readonly PermissionRequest[],
): ApprovalBatch | null {
  const latest = new Map(requests.map((request) => [request.action.actionId, request]));
  const calls = events
    .filter((event) => event.type === 'proposed')
    .map((event) => callOf(event, latest.get(event.actionId ?? ''), executionOf(event, events)));
  const last = events.at(-1);
  if (calls.length === 0 || !last) return null;
  return { batchId: groupId, status: statusOf(calls), updatedAt: last.createdAt, calls };
}

function statusOf(calls: readonly BatchCall[]): ApprovalBatch['status'] {
  if (calls.some((call) => call.decision === 'pending')) return 'pending';
  const executed = executedStatus(calls);
  const cancelled = calls.some((call) => call.decision === 'cancelled');
  return cancelled && (executed === 'decided' || executed === 'completed') ? 'cancelled' : executed;
}

function callOf(event: ActionEvent, request: PermissionRequest | undefined, execution: BatchExecution): BatchCall {
  const { decision, decidedAt, reason } = request ? saidOf(request.status) : UNASKED;
  return {
    toolCallId: event.toolCallId ?? event.actionId ?? event.eventId,
    toolName: request?.action.tool ?? toolOf(event.result),
    effectiveArguments: request
      ? readCanonicalJson(request.action.canonicalArguments, JSON_PROFILES.packages)
      : event.canonicalArguments,
    decision,
    executionStatus: decision === 'rejected' ? 'rejected' : execution,
    decidedAt,
    reason,
  };
}

const UNASKED = { decision: 'not_required', decidedAt: null, reason: null } as const;

/** Allowed is approved, denied is rejected, timed out is rejected because it expired, cancelled is cancelled. */
function saidOf(status: RequestState): Pick<BatchCall, 'decision' | 'decidedAt' | 'reason'> {
  switch (status.state) {
    case 'pending':
      return { decision: 'pending', decidedAt: null, reason: null };
    case 'allowed':
      if (status.use.use === 'revoked')
        return { decision: 'cancelled', decidedAt: status.decision.at, reason: status.use.reason };
      return { decision: 'approved', decidedAt: status.decision.at, reason: status.decision.message };
    case 'denied':
      return { decision: 'rejected', decidedAt: status.decision.at, reason: status.decision.message };
    case 'timed_out':
      return { decision: 'rejected', decidedAt: status.at, reason: 'expired' };
    case 'cancelled':
      return { decision: 'cancelled', decidedAt: status.at, reason: status.message };
  }
}

/** What the ledger says about the execution of a proposed call: by its `started` and what came after. */
function executionOf(proposed: ActionEvent, events: readonly ActionEvent[]): BatchExecution {
  let execution: BatchExecution = 'not_started';
  for (const event of events) {
    if (event.actionId !== proposed.actionId) continue;
    if (event.type === 'started') execution = 'executing';
    else if (event.type === 'denied') execution = 'rejected';
    else if (event.type === 'result')
      execution = outcomeOf(event.result) === 'unknown' ? 'execution_unknown' : 'executed';
  }
  return execution;
}

/** The word of a result's outcome: `calls/` writes the outcome as a document, whoever keeps a ledger alone as the word. */
function outcomeOf(result: JsonValue): JsonValue | undefined {
  const said = isJsonObject(result) ? result['outcome'] : undefined;
  return isJsonObject(said) ? said['outcome'] : said;
}

function toolOf(result: JsonValue): string {
  const tool = isJsonObject(result) ? result['tool'] : undefined;
  return typeof tool === 'string' ? tool : '';
}
