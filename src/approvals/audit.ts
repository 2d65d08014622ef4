import { HoldfastError, LIMITS } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { Store } from '../store/index.ts';
import * as sql from './queries.ts';
import { requestOf } from './rows.ts';

/** A stored permission request that no longer fits its own digests. */
export interface DamagedRequest {
  readonly requestId: string;
  readonly code: string;
  readonly why: string;
}

/** Proves every permission request of the principal's tenant against its digests, a page at a time. Changes nothing. */
export async function auditRequests(store: Store, { tenant }: Principal): Promise<readonly DamagedRequest[]> {
  const found: DamagedRequest[] = [];
  const text = { text: sql.LIST_REQUESTS, integers: 'bigint' } as const;
  for (let before = '\u{10ffff}'; ; ) {
    const params = [tenant, before, LIMITS.sessionPageRows];
    const rows = await store.read('approvals.audit', (tx) => tx.all(text, params));
    for (const row of rows) {
      before = String(row['decision_id']);
      try {
        requestOf(row);
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        found.push({ requestId: before, code: error.code, why: error.message });
      }
    }
    if (rows.length < LIMITS.sessionPageRows) return found;
  }
}
