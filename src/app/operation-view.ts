import { type CallOutcome, ledgerResultOfStored, recordRecovered, recoverCall } from '../calls/index.ts';
import { fail, type JsonObject } from '../core/index.ts';
import { type OperationView, Principal as OperationPrincipal, proveStored } from '../operations/index.ts';
import { findRunOfTurn } from '../runs/index.ts';
import { type Principal, requireGroup } from '../sessions/index.ts';
import { principalNow } from './principal-now.ts';
import type { Runtime } from './runtime.ts';

/** An operation as `--json` and HTTP carry it. Snake case, closed. */
export function operationDocument(view: OperationView): JsonObject {
  const { receipt, verdict, lateReceipt, otherAnswers } = view;
  return {
    status_ref: view.statusRef,
    tool: view.tool,
    subject: view.subject,
    state: view.state,
    // The one outcome type has no word for what is under way: until it is known, it is unknown.
    outcome: view.known === 'done' || view.known === 'not_done' ? view.known : 'unknown',
    progress: view.known,
    arguments: view.argumentsJson,
    request_sha256: view.requestSha256,
    idempotency_key: view.idempotencyKey,
    approval_id: view.approvalId,
    approver_id: view.approverId,
    attempts: view.attempts,
    lease_owner: view.leaseOwner,
    lease_until: view.leaseUntil,
    created_at: view.createdAt,
    completed_at: view.completedAt,
    receipt: receipt && { receipt_id: receipt.receiptId, observed_at: receipt.observedAt, result: receipt.resultJson },
    late_receipt: lateReceipt && { receipt_id: lateReceipt.receiptId, observed_at: lateReceipt.observedAt },
    other_answers: otherAnswers.map(({ receiptId, downstreamRequestId, resultJson, toldAt }) => ({
      receipt_id: receiptId,
      downstream_request_id: downstreamRequestId,
      result: resultJson,
      told_at: toldAt,
    })),
    verdict: verdict && {
      verdict: verdict.verdict,
      source: verdict.source,
      decided_by: verdict.decidedBy,
      reason: verdict.reason,
      decided_at: verdict.decidedAt,
    },
    damage: view.damage,
  };
}

/** What is stored after somebody asked or sent again, and why that left it as unknown as it was; null where it is known. */
export function movedOperationDocument(view: OperationView, outcome: CallOutcome): JsonObject {
  return { ...operationDocument(view), reason: outcome.state === 'unknown' ? outcome.reason : null };
}

/**
 * Moves an operation whose outcome is unknown on: its tool is asked, and it is delivered again under the same key where
 * the tool allows that. The tool's rules are asked about whoever the call is of, with the roles that principal has now:
 * those of whoever wants it delivered lend it nothing. Answers what is known of it then, and where that is nothing, why. Throws OPERATION_NOT_FOUND, OPERATION_RECORD_BROKEN, TOOL_UNKNOWN,
 * CALL_NOT_AUTHORIZED, BUSINESS_RULE_VIOLATION.
 */
export async function deliverAgain(runtime: Runtime, principal: Principal, statusRef: string): Promise<CallOutcome> {
  const requester = await requesterOf(runtime, principal, statusRef);
  const { signal } = new AbortController();
  const recovery = { filesystem: runtime.filesystem, signal, redeliver: true, requester };
  const { outcome, recorded, refusal } = await recoverCall(runtime.calls, principal, statusRef, recovery);
  if (refusal) throw fail(refusal.code, `It was not delivered again: ${refusal.reason}`);
  if (recorded || outcome.state === 'unknown') return outcome;
  return recordRecovered(
    runtime.calls,
    principal,
    await ledgerResultOfStored(runtime.calls, principal, statusRef),
    outcome,
  );
}

/** Who made an operation's call, with the roles that are left of those it was made with. */
async function requesterOf(runtime: Runtime, principal: Principal, statusRef: string): Promise<Principal> {
  const { store, operations, calls, principal: owner } = runtime;
  const { tenant, subject } = principal;
  const whole = await operations.stored(new OperationPrincipal(tenant, subject), statusRef);
  // Whose call it is, is read from the record: it fits itself, or nobody is looked for.
  proveStored(whole, statusRef);
  const { operation } = whole;
  const requester = await store.read('app.requester', async (tx) => {
    // A call's response id is the id of its action group.
    const group = await requireGroup(tx, principal, operation.first.responseId);
    const roles = (await findRunOfTurn(tx, principal, group))?.principal.roles ?? [];
    return principalNow(tx, calls.clock, owner, { tenant, subject: operation.scope.subject, roles });
  });
  if (requester) return requester;
  throw fail('CALL_NOT_AUTHORIZED', 'It was not delivered again: whoever made the call has no token any more.');
}
