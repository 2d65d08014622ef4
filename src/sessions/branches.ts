import { fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import { appendFeed, type Tx } from '../store/index.ts';
import { checkId } from './bounds.ts';
import type { Checkpoint } from './checkpoint-model.ts';
import * as sql from './checkpoint-queries.ts';
import { createCheckpoint, requireCheckpoint } from './checkpoints.ts';
import type { SessionContext } from './ledger.ts';
import { ledgerRefusal } from './ledger-place.ts';
import type { Principal } from './model.ts';
import { ID_TAKEN, INSERT_BRANCH, IS_REVERTING } from './queries.ts';
import { requireBranch } from './service.ts';

export interface NewFork {
  readonly rootFrameId: string;
  /** The checkpoint at which the new branch leaves its parent. */
  readonly fromCheckpointId: string;
  readonly branchId?: string;
  readonly name?: string;
}

/**
 * Forks a branch at a checkpoint. The new branch shows what the checkpoint shows and starts with a checkpoint of its
 * own, with the same cursors and workspace. Refuses with CHECKPOINT_NOT_FOUND, SESSION_EXISTS (the id is taken),
 * SESSION_QUARANTINED, SESSION_REVERTING, INVALID_VALUE, LIMIT_REACHED.
 */
export async function forkBranch(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  fork: NewFork,
): Promise<{ readonly branchId: string; readonly head: Checkpoint }> {
  const { rootFrameId } = fork;
  const base = await requireCheckpoint(tx, principal, rootFrameId, fork.fromCheckpointId);
  const branchId = fork.branchId ?? context.ids.next();
  checkId('branch_id', branchId);
  if (fork.name !== undefined) requireText('name', fork.name, LIMITS.sessionNameCodePoints);
  if (await tx.get(ID_TAKEN, [branchId]))
    throw fail('SESSION_EXISTS', 'A session or branch with this id exists already.');
  const counted = await tx.get(sql.COUNT_BRANCHES, [rootFrameId]);
  requireWithin('sessionBranches', Number(counted?.['branches']) + 1);
  const now = context.clock.nowMs();
  const headId = context.ids.next();
  const parts = [branchId, rootFrameId, base.branchId, base.checkpointId, headId, fork.name ?? null, now, now];
  await tx.run(INSERT_BRANCH, parts);
  const first = {
    checkpointId: headId,
    rootFrameId,
    branchId,
    reason: 'fork',
    internal: true,
    cursors: base.cursors,
    workspaceTreeId: base.workspaceTreeId,
  };
  const head = await createCheckpoint(tx, context, principal, first, { parent: base.checkpointId });
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'branch.forked', reference: branchId });
  return { branchId, head };
}

/**
 * Makes another branch the active one, if the active one is still `expectedActive`: BRANCH_NOT_FOUND,
 * ACTIVE_BRANCH_MOVED, SESSION_REVERTING. The workspace is the caller's to change, see `SessionHistory.activate`.
 */
export async function setActiveBranch(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  change: { readonly rootFrameId: string; readonly branchId: string; readonly expectedActive: string },
  manner: { readonly forced?: boolean } = {},
): Promise<void> {
  const { rootFrameId, branchId, expectedActive } = change;
  await requireBranch(tx, principal, rootFrameId, branchId);
  if (!manner.forced && Number((await tx.get(IS_REVERTING, [rootFrameId]))?.['reverting']) !== 0)
    throw await ledgerRefusal(tx, null, branchId, principal);
  const params = [branchId, context.clock.nowMs(), rootFrameId, expectedActive];
  const { changes } = await tx.run(sql.SET_ACTIVE_BRANCH, params);
  if (changes !== 1) throw fail('ACTIVE_BRANCH_MOVED', 'Another branch is active than the one that was expected.');
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'branch.activated', reference: branchId });
}
