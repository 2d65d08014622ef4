import { LIMITS } from '../core/index.ts';
import type { ReadTx } from '../store/index.ts';
import { FIND_TWIN, LIST_UNRESOLVED_APPROVED } from './queries.ts';
import type { ExpectedRequest } from './evidence.ts';

/**
 * An operation of the same principal, tool and arguments under another key whose outcome is not known, whatever revisions
 * the tool had then: models like to propose again what they were told is unknown. Needs the verdict tables. The status
 * reference, or null.
 */
export async function findUnresolvedTwin(tx: ReadTx, request: ExpectedRequest): Promise<string | null> {
  const { tenant, subject, tool, key } = request.scope;
  const row = await tx.get(FIND_TWIN, [tenant, subject, tool, request.argumentsJson, request.argumentsJson, key]);
  return row === undefined ? null : String(row['status_ref']);
}

/** An operation whose outcome is not known, with what it was made with and the approval that it was made under. */
export interface UnresolvedApproved {
  readonly statusRef: string;
  readonly argumentsJson: string;
  readonly approvalId: string;
}

/** Those of the same principal and tool under other keys that somebody's word was needed for. Needs the verdict tables. */
export async function unresolvedApproved(tx: ReadTx, request: ExpectedRequest): Promise<UnresolvedApproved[]> {
  const { tenant, subject, tool, key } = request.scope;
  const rows = await tx.all(LIST_UNRESOLVED_APPROVED, [tenant, subject, tool, key, LIMITS.callTwinsConsidered]);
  return rows.map((row) => ({
    statusRef: String(row['status_ref']),
    argumentsJson: String(row['arguments_json']),
    approvalId: String(row['approval_id']),
  }));
}
