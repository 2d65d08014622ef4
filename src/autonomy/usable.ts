import { fail } from '../core/index.ts';
import {
  getSetting,
  type Principal,
  requireBranch,
  requireSession,
  revertedSince,
  revertMarkerKey,
} from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { AutonomyContext } from './context.ts';
import { abandoned, requireProof } from './errors.ts';
import { isTerminal } from './machine.ts';
import type { AutoRun } from './model.ts';
import * as sql from './queries.ts';
import { type ProvedRun, proveRun } from './run-proof.ts';
import { isAtTail, visibleLog } from './visible.ts';

/** The run, in a session of the tenant. AUTO_RUN_NOT_FOUND. */
export async function requireRun(tx: ReadTx, principal: Principal, runId: string): Promise<AutoRun> {
  const row = await tx.get(sql.FIND_RUN, [runId, principal.tenant]);
  if (!row) throw fail('AUTO_RUN_NOT_FOUND', 'There is no such auto run.');
  return sql.RUNS.read(row);
}

/** Nothing runs in an imported session, and nothing new while a revert is unfinished. */
export async function requireOpenSession(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<void> {
  const session = await requireSession(tx, principal, rootFrameId);
  if (session.trustState !== 'local')
    throw fail('SESSION_QUARANTINED', 'The session was imported and is view-only until it is confirmed.');
  if ((await getSetting(tx, rootFrameId, revertMarkerKey(rootFrameId))) !== null)
    throw fail('SESSION_REVERTING', 'A revert of this session was interrupted and must be finished first.');
}

const terminal = (run: AutoRun): Error =>
  fail('AUTO_RUN_TERMINAL', 'The auto run is terminal and takes no further step.', { details: { status: run.status } });

/** The run is what its branch shows last, and nobody has abandoned it. AUTO_RUN_ABANDONED. */
export async function requireAtTail(tx: ReadTx, principal: Principal, run: AutoRun): Promise<void> {
  if (run.abandoned_at !== null) throw abandoned();
  const branch = await requireBranch(tx, principal, run.root_frame_id, run.branch_id);
  if (!(await isAtTail(tx, await visibleLog(tx, branch), run.run_id))) throw abandoned();
  if (isTerminal(run.status)) return;
  const last = await tx.get(sql.LAST_OF_RUN, [run.run_id]);
  if (await revertedSince(tx, run.branch_id, Number(last?.['event_cursor']))) throw abandoned();
}

/**
 * Proves that an earlier answer still stands: the session is open, the run is current at the head of its branch, ended
 * or not, and everything of it is proved. AUTO_RUN_ABANDONED, AUTO_PROOF_FAILED, SESSION_QUARANTINED, SESSION_REVERTING.
 */
export async function requireCurrent(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
): Promise<ProvedRun> {
  await requireOpenSession(tx, principal, run.root_frame_id);
  if (run.trust_state !== 'local') throw fail('SESSION_QUARANTINED', 'The auto run was imported and never runs.');
  await requireAtTail(tx, principal, run);
  return proveRun(tx, context, principal, run);
}

/** The same, and the run may take a further step: AUTO_RUN_TERMINAL when it has ended. */
export async function requireMutable(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
): Promise<ProvedRun> {
  if (isTerminal(run.status)) throw terminal(run);
  return requireCurrent(tx, context, principal, run);
}

/**
 * Whether the run came with a package: it is shown as unverified, and nothing of it is proved. Only a session that was
 * imported has such runs; one elsewhere was made by an edit. AUTO_PROOF_FAILED.
 */
export async function isImported(tx: ReadTx, principal: Principal, run: AutoRun): Promise<boolean> {
  if (run.trust_state === 'local') return false;
  const { origin } = await requireSession(tx, principal, run.root_frame_id);
  requireProof(origin === 'import', 'run', 'it claims to be imported');
  return true;
}
