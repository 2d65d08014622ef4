import { fail } from '../core/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import * as sql from './attempt-queries.ts';
import { checkId, checkLongText } from './bounds.ts';
import type { ExecutionAttempt } from './checkpoint-model.ts';
import { attemptOf } from './checkpoint-rows.ts';
import { requireGroup } from './history.ts';
import { admitAll } from './hooks.ts';
import type { SessionContext } from './ledger.ts';
import { ledgerRefusal } from './ledger-place.ts';
import type { Principal } from './model.ts';

export interface NewAttempt {
  readonly attemptId?: string;
  readonly groupId: string;
  readonly producingCellId: string;
  readonly generationId?: string;
  readonly ownerInstanceId?: string;
  readonly replayedFromCellId?: string;
}

/**
 * Allocates a try at executing a cell; its ordinal counts the tries of that cell, from 0. Refuses with
 * ACTION_GROUP_NOT_FOUND, SESSION_QUARANTINED, SESSION_REVERTING, or what a hook or a guard of the table says.
 */
export async function allocateAttempt(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  attempt: NewAttempt,
): Promise<ExecutionAttempt> {
  const id = attempt.attemptId ?? context.ids.next();
  checkId('attempt_id', id);
  checkId('producing_cell_id', attempt.producingCellId);
  await admitAll(tx, context.hooks, { what: 'attempt', groupId: attempt.groupId, step: 'allocated' });
  const row = await tx.get(sql.INSERT_ATTEMPT, [
    id,
    attempt.producingCellId,
    attempt.generationId ?? null,
    attempt.ownerInstanceId ?? null,
    attempt.replayedFromCellId ?? null,
    context.clock.nowMs(),
    attempt.groupId,
    principal.tenant,
  ]);
  if (!row) throw await ledgerRefusal(tx, attempt.groupId, null, principal);
  return attemptOf(row);
}

/** Milestones and the one before each. The end is `finishAttempt`. */
export type AttemptMilestone = 'started' | 'response' | 'capture';

/** Marks the next milestone of an unfinished attempt. ATTEMPT_NOT_FOUND, ATTEMPT_OUT_OF_ORDER. */
export async function markAttempt(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  attemptId: string,
  milestone: AttemptMilestone,
): Promise<ExecutionAttempt> {
  const attempt = await requireAttempt(tx, principal, attemptId);
  if (milestone === 'started')
    await admitAll(tx, context.hooks, { what: 'attempt', groupId: attempt.groupId, step: 'started' });
  const row = await tx.get(sql.MARK[milestone], [context.clock.nowMs(), attemptId]);
  if (!row) throw fail('ATTEMPT_OUT_OF_ORDER', `The attempt cannot be marked ${milestone} now.`);
  return attemptOf(row);
}

/** Words that say an attempt succeeded; they need its result captured first. */
const SUCCEEDED: ReadonlySet<string> = new Set(['completed', 'succeeded', 'ok']);

/** Ends an attempt. ATTEMPT_NOT_FOUND; ATTEMPT_OUT_OF_ORDER when it had ended, or succeeds without its capture. */
export async function finishAttempt(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  attemptId: string,
  end: { readonly terminalState: string; readonly error?: string },
): Promise<ExecutionAttempt> {
  checkId('terminal_state', end.terminalState);
  checkLongText('error', end.error);
  const attempt = await requireAttempt(tx, principal, attemptId);
  if (attempt.finishedAt !== null || (SUCCEEDED.has(end.terminalState) && attempt.captureAt === null))
    throw fail('ATTEMPT_OUT_OF_ORDER', `The attempt cannot end as ${end.terminalState} now.`);
  const params = [context.clock.nowMs(), end.terminalState, end.error ?? null, attemptId];
  const row = await tx.get(sql.FINISH_ATTEMPT, params);
  return attemptOf(row ?? {});
}

/** The attempt, or ATTEMPT_NOT_FOUND. */
export async function requireAttempt(tx: ReadTx, principal: Principal, attemptId: string): Promise<ExecutionAttempt> {
  const row = await tx.get(sql.SELECT_ATTEMPT, [attemptId, principal.tenant]);
  if (!row) throw fail('ATTEMPT_NOT_FOUND', 'There is no such execution attempt.');
  return attemptOf(row);
}

/** The attempts of a group in their order. ACTION_GROUP_NOT_FOUND. */
export async function listAttempts(tx: ReadTx, principal: Principal, groupId: string): Promise<ExecutionAttempt[]> {
  await requireGroup(tx, principal, groupId);
  return (await tx.all(sql.LIST_ATTEMPTS, [groupId])).map(attemptOf);
}

/**
 * Ends as `abandoned` what earlier processes left unfinished: attempts of an owner that is neither this one nor a live
 * instance, or of no owner, outside sealed groups. Gives their number.
 */
export async function abandonAttempts(tx: Tx, context: SessionContext, ownInstanceId: string): Promise<number> {
  const now = context.clock.nowMs();
  const { changes } = await tx.run(sql.ABANDON_ATTEMPTS, [now, ownInstanceId, now]);
  return changes;
}
