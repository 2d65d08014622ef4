import type { ReadTx } from '../store/index.ts';
import { FIND_TWIN } from './queries.ts';
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
