import { fail, type JsonObject } from '../core/index.ts';
import { type Principal, requireBranch } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { runOfStart } from './advance.ts';
import type { AutonomyContext } from './context.ts';
import { runRequest, runStarted } from './documents.ts';
import { abandoned, keyConflict, unproved } from './errors.ts';
import { appendAutoEvent, replayedEvent, transition } from './events.ts';
import { keyField, objectField, textField, wordField } from './fields.ts';
import { AUTO_MODES, type AutoMode, type AutoRun, type RunTransition } from './model.ts';
import * as sql from './queries.ts';
import { SUPERVISOR } from './supervise/terms.ts';
import { requireCurrent, requireOpenSession } from './usable.ts';
import { isAtTail, visibleLog } from './visible.ts';

export interface NewAutoRun {
  readonly runId: string;
  readonly key: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly turnId: string;
  readonly executionId: string;
  readonly mode: AutoMode;
  readonly selection: JsonObject;
  readonly budgets: JsonObject;
  /** The process that starts it, by its instance. A replay by another process changes nothing. */
  readonly ownerInstanceId: string;
}

/**
 * Starts a run, exactly once: the same key and request give the run that was started, as it is now. Refuses with
 * SESSION_NOT_FOUND, SESSION_QUARANTINED, SESSION_REVERTING, BRANCH_NOT_FOUND, AUTO_KEY_CONFLICT, AUTO_RUN_ACTIVE (the
 * branch shows one that has not ended), AUTO_RUN_ABANDONED, AUTO_PROOF_FAILED, AUTO_ID_TAKEN, INVALID_VALUE,
 * LIMIT_REACHED. An active run that a fork or revert hides is abandoned.
 */
export async function startRun(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  asked: NewAutoRun,
): Promise<RunTransition> {
  const run = newRun(asked, context.sessions.clock.nowMs());
  await requireOpenSession(tx, principal, run.root_frame_id);
  const branch = await requireBranch(tx, principal, run.root_frame_id, run.branch_id);
  const earlier = await tx.get(sql.RUN_BY_KEY, [run.root_frame_id, run.idempotency_key]);
  if (earlier) return replay(tx, context, principal, sql.RUNS.read(earlier), run);
  const active = await tx.get(sql.ACTIVE_RUN, [run.root_frame_id, run.branch_id]);
  if (active) {
    const open = sql.RUNS.read(active);
    if (await isAtTail(tx, await visibleLog(tx, branch), open.run_id)) throw stillActive(open);
    await tx.run(sql.ABANDON_RUN, [run.created_at, branch.headCheckpointId, open.run_id]);
  }
  await requireFree(tx, run);
  await tx.run(sql.RUNS.insert, sql.RUNS.params(run));
  const event = await appendAutoEvent(tx, context.sessions, principal, run, 'auto_run_started', runStarted(run));
  return transition(run, event, true);
}

/** What a supervisor began is named by the run of which it supervises a turn, and no sweep ends it. */
function stillActive({ selection, execution_id }: AutoRun): Error {
  const message = 'The branch has a recovery-required active run; it must end before another starts.';
  if (selection['source'] !== SUPERVISOR) return fail('AUTO_RUN_ACTIVE', message);
  const [runId = ''] = execution_id.split('.');
  const resolve = `Carry its run on: holdfast runs resume ${runId}; or stop it: holdfast runs stop ${runId}`;
  return fail('AUTO_RUN_ACTIVE', message, { resolve });
}

function newRun(asked: NewAutoRun, at: number): AutoRun {
  const run = {
    run_id: textField('run_id', asked.runId),
    root_frame_id: textField('root_frame_id', asked.rootFrameId),
    branch_id: textField('branch_id', asked.branchId),
    turn_id: textField('turn_id', asked.turnId),
    execution_id: textField('execution_id', asked.executionId),
    idempotency_key: keyField('idempotency_key', asked.key),
    mode: wordField('mode', asked.mode, AUTO_MODES),
    selection: objectField('selection', asked.selection),
    budgets: objectField('budgets', asked.budgets),
    owner_instance_id: textField('owner_instance_id', asked.ownerInstanceId),
  };
  const bare = runOfStart({
    ...run,
    event_id: '',
    event_cursor: 0,
    sequence: 1,
    type: 'auto_run_started',
    request_sha256: '',
    payload: { mode: run.mode, selection: run.selection, budgets: run.budgets },
    payload_sha256: '',
    created_at: at,
    event_ordinal: 0,
    occurred_at: at,
  });
  const owned = { ...bare, owner_instance_id: run.owner_instance_id };
  return { ...owned, request_sha256: runRequest(owned) };
}

async function replay(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  stored: AutoRun,
  asked: AutoRun,
): Promise<RunTransition> {
  if (stored.request_sha256 !== asked.request_sha256) throw keyConflict();
  if (stored.abandoned_at !== null) throw abandoned();
  const { run_id, idempotency_key: key, request_sha256: request } = stored;
  const event = await replayedEvent(tx, run_id, key, 'auto_run_started', request);
  if (!event) throw unproved('run', 'its start event is missing');
  await requireCurrent(tx, context, principal, stored);
  return transition(stored, event, false);
}

async function requireFree(tx: ReadTx, run: AutoRun): Promise<void> {
  const scope = [run.run_id, run.root_frame_id, run.branch_id, run.turn_id, run.execution_id];
  if (await tx.get(sql.RUN_TAKEN, scope))
    throw fail('AUTO_ID_TAKEN', 'There is an auto run with this id, or for this execution of the turn.');
}
