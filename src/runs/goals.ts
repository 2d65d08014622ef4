import { canonicalJson, type Clock, fail } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';
import { requireRun } from './run-store.ts';
import type { GoalTree } from './trace/model.ts';
import { readGoals } from './trace/documents.ts';
import { checkedGoals } from './trace/records.ts';
import { GOALS, PUT_GOALS } from './trace-sql/queries.ts';

/** The goal tree of a composed run; null where none was given. Throws RUN_NOT_FOUND, TRACE_CORRUPT. */
export async function findRunGoals(tx: ReadTx, principal: Principal, runId: string): Promise<GoalTree | null> {
  await requireRun(tx, principal, runId);
  return goalsOf(tx, runId);
}

/** The goal tree of a run that was read already; null where none was given. Throws TRACE_CORRUPT. */
export async function goalsOf(tx: ReadTx, runId: string): Promise<GoalTree | null> {
  const row = await tx.get<{ tree: string }>(GOALS, [runId]);
  return row === undefined ? null : readGoals(row.tree);
}

/**
 * Puts a goal tree beside a run, in place of the one before. It is carried and shown, not interpreted. Throws
 * RUN_NOT_FOUND, RUN_ENDED for a run that is completed or was stopped, TRACE_RECORD_INVALID.
 */
export async function putRunGoals(
  tx: Tx,
  clock: Clock,
  principal: Principal,
  runId: string,
  tree: GoalTree,
): Promise<void> {
  const checked = checkedGoals(tree);
  const { state } = await requireRun(tx, principal, runId);
  if (state.status === 'completed' || state.status === 'stopped')
    throw fail('RUN_ENDED', `The run is ${state.status}.`);
  await tx.run(PUT_GOALS, [runId, canonicalJson(checked), clock.nowMs()]);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.goals_changed', reference: runId });
}
