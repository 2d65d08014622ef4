import { recordRecovered, recoverCall, resultOf } from '../calls/index.ts';
import type { JsonObject } from '../core/index.ts';
import type { OperationView } from '../operations/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { Runtime } from './runtime.ts';

/** An operation as `--json` and HTTP carry it. Snake case, closed. */
export function operationDocument(view: OperationView): JsonObject {
  const { receipt, verdict, lateReceipt } = view;
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
    verdict: verdict && {
      verdict: verdict.verdict,
      source: verdict.source,
      decided_by: verdict.decidedBy,
      reason: verdict.reason,
      decided_at: verdict.decidedAt,
    },
  };
}

/**
 * Moves an operation whose outcome is unknown on: its tool is asked, and it is delivered again under the same key where
 * the tool allows that. Throws OPERATION_NOT_FOUND, TOOL_UNKNOWN.
 */
export async function deliverAgain(runtime: Runtime, principal: Principal, statusRef: string): Promise<void> {
  const recovery = { filesystem: runtime.filesystem, signal: new AbortController().signal, redeliver: true };
  const { outcome, recorded } = await recoverCall(runtime.calls, principal, statusRef, recovery);
  if (recorded || outcome.state === 'unknown') return;
  await recordRecovered(runtime.calls, principal, await resultOf(runtime.calls, principal, statusRef), outcome);
}
