import { HoldfastError, LIMITS } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { Row, Store } from '../store/index.ts';
import type { PermissionRequest } from './model.ts';
import * as sql from './queries.ts';
import { requestOf } from './rows.ts';

/** A stored permission request that no longer fits its own digests. */
export interface DamagedRequest {
  readonly requestId: string;
  readonly code: string;
  readonly why: string;
}

/** Numbers as they are stored: read as numbers, one beyond 2^53 would be the whole page's end. */
export const exact = (text: string) => ({ text, integers: 'bigint' }) as const;

/** The requests of a page, and those that were changed behind the program's back. */
export function readRequests(rows: readonly Row[]): {
  readonly requests: readonly PermissionRequest[];
  readonly damaged: readonly DamagedRequest[];
} {
  const requests: PermissionRequest[] = [];
  const damaged: DamagedRequest[] = [];
  for (const row of rows) {
    try {
      requests.push(requestOf(row));
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      damaged.push({ requestId: String(row['decision_id']), code: error.code, why: error.message });
    }
  }
  return { requests, damaged };
}

/** Proves every permission request of the principal's tenant against its digests, a page at a time. Changes nothing. */
export async function auditRequests(store: Store, { tenant }: Principal): Promise<readonly DamagedRequest[]> {
  const found: DamagedRequest[] = [];
  for (let before = '\u{10ffff}'; ; ) {
    const params = [tenant, before, LIMITS.sessionPageRows];
    const rows = await store.read('approvals.audit', (tx) => tx.all(exact(sql.LIST_REQUESTS), params));
    found.push(...readRequests(rows).damaged);
    const last = rows.at(-1);
    if (!last || rows.length < LIMITS.sessionPageRows) return found;
    before = String(last['decision_id']);
  }
}
