import type { ReadTx } from '../../store/index.ts';
import type { ResourceRef } from '../model.ts';
import { touches } from '../overlap.ts';
import type { LedgerRun } from './ledger.ts';
import { CLAIMS_SINCE, LOOK_STARTS } from './queries.ts';
import { recordOf } from './rows.ts';

/** Where a run's log stood when somebody began to look at what one of its effects had left. */
export interface LookStart {
  readonly run: LedgerRun;
  readonly effectId: string;
  readonly position: number;
}

/** To be asked before a look at what an operation has left: the logs in which it was claimed, as they stand. */
export async function lookStarts(
  tx: ReadTx,
  of: { readonly tenantId: string; readonly operationId: string },
): Promise<readonly LookStart[]> {
  const rows = await tx.all<{ run_id: string; effect_id: string; last: number }>(LOOK_STARTS, [
    of.tenantId,
    of.operationId,
  ]);
  return rows.map((row) => ({
    run: { tenantId: of.tenantId, runId: row.run_id },
    effectId: row.effect_id,
    position: row.last,
  }));
}

/**
 * Of what a look has seen, what still says something: an observation has its place in the log where it is written down,
 * so one is left out over which, since the look began, another effect was claimed or ended that may have changed it.
 */
export async function stillSeen<T extends { readonly resource: ResourceRef }>(
  tx: ReadTx,
  { run, effectId, position }: LookStart,
  seen: readonly T[],
): Promise<readonly T[]> {
  if (seen.length === 0) return seen;
  const rows = await tx.all(CLAIMS_SINCE, [run.tenantId, run.runId, run.tenantId, run.runId, position, effectId]);
  const claims = rows.map(recordOf).flatMap((entry) => (entry.type === 'claim' ? [entry.record] : []));
  return seen.filter(({ resource }) => !claims.some((claim) => touches(claim, resource)));
}
