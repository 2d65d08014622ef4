import { HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { AutonomyContext } from './context.ts';
import * as sql from './queries.ts';
import { proveRun } from './run-proof.ts';

/** What proving all supervised runs of a session came to. */
export interface RunAudit {
  readonly runs: number;
  readonly problems: readonly { readonly runId: string; readonly why: string }[];
}

/** Proves each run that began here, whole, and goes on where a proof fails. */
export async function auditRuns(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  rootFrameId: string,
): Promise<RunAudit> {
  const rows = await tx.all({ text: sql.RUNS_OF_ROOT, integers: 'bigint' }, [rootFrameId]);
  const own = rows.filter((row) => row['trust_state'] === 'local');
  const problems: { readonly runId: string; readonly why: string }[] = [];
  for (const row of own)
    try {
      await proveRun(tx, context, principal, sql.RUNS.read(row));
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code.startsWith('STORE_')) throw error;
      problems.push({ runId: String(row['run_id']), why: `${error.code}: ${error.message}` });
    }
  return { runs: own.length, problems };
}
