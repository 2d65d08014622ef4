import { canonicalJson, fail, type JsonValue, sha256Hex } from '../core/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';
import { setActiveBranch } from './branches.ts';
import type { Checkpoint, RestoreOperation } from './checkpoint-model.ts';
import * as sql from './checkpoint-queries.ts';
import { operationOf } from './checkpoint-rows.ts';
import { createCheckpoint, requireCheckpoint } from './checkpoints.ts';
import { jsonOrNull } from './rows.ts';
import { requireBranch, requireSession, putSetting } from './service.ts';
import { REVERT_MARKER_PREFIX } from './queries.ts';
import type { SessionContext } from './ledger.ts';
import type { Principal, SessionBranch } from './model.ts';

/** The setting whose presence says that a restore of this session was begun and not ended. */
export const revertMarkerKey = (rootFrameId: string): string => REVERT_MARKER_PREFIX + sha256Hex(rootFrameId);

export interface BegunRestore {
  readonly operation: RestoreOperation;
  /** Where the session stood: its logs, and the workspace as it was captured just before. */
  readonly undo: Checkpoint;
  readonly target: Checkpoint;
}

/**
 * The first of the two transactions around a change of the workspace: writes down the operation, an undo checkpoint on
 * the active branch with the workspace as it is, and the marker that stops new work until the operation has ended.
 * `kind` `revert` takes the active branch back to a checkpoint that it shows; `activate` goes to another branch's head.
 * Refuses with CHECKPOINT_NOT_FOUND, RESTORE_TARGET_INVALID, SESSION_REVERTING, SESSION_QUARANTINED,
 * CHECKPOINT_HEAD_MOVED.
 */
export async function beginRestore(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  restore: {
    readonly rootFrameId: string;
    readonly kind: RestoreOperation['kind'];
    readonly targetCheckpointId: string;
    readonly undoTreeId: string | null;
    readonly expectedHead?: string | null;
    readonly preview?: JsonValue;
    /** A fresh id, where the caller has to find the operation again; else one is made. */
    readonly operationId?: string;
  },
): Promise<BegunRestore> {
  const { rootFrameId, kind } = restore;
  const { activeBranchId } = await requireSession(tx, principal, rootFrameId);
  const branch = await requireBranch(tx, principal, rootFrameId, activeBranchId);
  const target = await requireCheckpoint(tx, principal, rootFrameId, restore.targetCheckpointId);
  await requireTarget(tx, principal, branch, target, kind);
  const undo = await createCheckpoint(tx, context, principal, {
    rootFrameId,
    branchId: activeBranchId,
    reason: `before ${kind}`,
    internal: true,
    workspaceTreeId: restore.undoTreeId,
    ...(restore.expectedHead === undefined ? {} : { expectedHead: restore.expectedHead }),
  });
  const operation = operationOf({
    operation_id: restore.operationId ?? context.ids.next(),
    root_frame_id: rootFrameId,
    branch_id: kind === 'revert' ? activeBranchId : target.branchId,
    kind,
    source_checkpoint_id: undo.checkpointId,
    target_checkpoint_id: target.checkpointId,
    status: 'running',
    preview: jsonOrNull(restore.preview),
    error: null,
    created_at: context.clock.nowMs(),
    finished_at: null,
  });
  await insertOperation(tx, context, operation);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'restore.begun', reference: operation.operationId });
  return { operation, undo, target };
}

async function insertOperation(tx: Tx, context: SessionContext, operation: RestoreOperation): Promise<void> {
  const { operationId, rootFrameId, branchId, kind, sourceCheckpointId, targetCheckpointId, preview, createdAt } =
    operation;
  const source = sourceCheckpointId;
  const row = [operationId, rootFrameId, branchId, kind, source, targetCheckpointId, jsonOrNull(preview), createdAt];
  await tx.run(sql.INSERT_OPERATION, row);
  const marker = { schema_version: 1, state: 'recovery_required', operation_id: operationId, branch_id: branchId };
  await putSetting(tx, context, rootFrameId, revertMarkerKey(rootFrameId), canonicalJson(marker));
}

/** A revert goes to a point that the branch shows; an activation to the head of another branch. */
async function requireTarget(
  tx: ReadTx,
  principal: Principal,
  branch: SessionBranch,
  target: Checkpoint,
  kind: RestoreOperation['kind'],
): Promise<void> {
  if (kind === 'activate') {
    const other = await requireBranch(tx, principal, branch.rootFrameId, target.branchId);
    if (other.branchId !== branch.branchId && other.headCheckpointId === target.checkpointId) return;
    throw fail('RESTORE_TARGET_INVALID', 'Another branch is activated at its head.');
  }
  if (!(await comesFrom(tx, principal, branch, target)))
    throw fail('RESTORE_TARGET_INVALID', 'The branch does not come from this checkpoint.');
}

/** Whether a checkpoint is of the branch itself, or of one it was forked from, no later than the fork. */
async function comesFrom(
  tx: ReadTx,
  principal: Principal,
  branch: SessionBranch,
  target: Checkpoint,
): Promise<boolean> {
  let latest = Number.MAX_SAFE_INTEGER;
  const passed = new Set<string>();
  for (let at = branch; ; ) {
    if (target.branchId === at.branchId) return target.number <= latest;
    if (at.parentBranchId === null || at.baseCheckpointId === null) return false;
    const base = await requireCheckpoint(tx, principal, at.rootFrameId, at.baseCheckpointId);
    latest = Math.min(latest, base.number);
    passed.add(at.branchId);
    at = await requireBranch(tx, principal, at.rootFrameId, at.parentBranchId);
    if (passed.has(at.branchId)) throw fail('SESSION_CORRUPT', 'The branches of the session are forked in a circle.');
  }
}

/** The restore that was begun in this session and has not ended, or null. */
export async function runningRestore(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
): Promise<RestoreOperation | null> {
  const row = await tx.get(sql.RUNNING_OPERATION, [rootFrameId, principal.tenant]);
  return row ? operationOf(row) : null;
}

/** Changes with every restore of a session that begins or ends; for comparison alone. */
export async function restoresOf(tx: ReadTx, rootFrameId: string): Promise<string> {
  const row = await tx.get(sql.COUNT_OPERATIONS, [rootFrameId]);
  return `${String(row?.['begun'])} ${String(row?.['ended'])}`;
}

/** The restore operation of that id in that session, or null. */
export async function restoreOfId(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  operationId: string,
): Promise<RestoreOperation | null> {
  const row = await tx.get(sql.OPERATION_OF_ID, [operationId, rootFrameId, principal.tenant]);
  return row ? operationOf(row) : null;
}

/**
 * The second transaction, once the workspace is the target's: the history follows, the marker goes. For a revert the
 * branch gets a checkpoint that shows the target's history and goes on after the undo checkpoint, and every `onRevert`
 * has its say. RESTORE_NOT_RUNNING when the operation has ended.
 */
export async function finishRestore(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  operation: RestoreOperation,
): Promise<Checkpoint> {
  const { rootFrameId, kind, operationId } = operation;
  const target = await requireCheckpoint(tx, principal, rootFrameId, operation.targetCheckpointId);
  const undo = await requireCheckpoint(tx, principal, rootFrameId, operation.sourceCheckpointId ?? '');
  const head =
    kind === 'revert'
      ? await createCheckpoint(tx, context, principal, revertCheckpoint(operation, target, undo), { forced: true })
      : target;
  if (kind === 'activate') {
    const change = { rootFrameId, branchId: target.branchId, expectedActive: undo.branchId };
    await setActiveBranch(tx, context, principal, change, { forced: true });
  }
  await endOperation(tx, context, operation, 'completed', null);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'restore.completed', reference: operationId });
  return head;
}

function revertCheckpoint(operation: RestoreOperation, target: Checkpoint, undo: Checkpoint) {
  const { action, message, cell, autoEvent } = undo.cursors;
  return {
    rootFrameId: operation.rootFrameId,
    branchId: operation.branchId,
    expectedHead: undo.checkpointId,
    reason: 'revert',
    workspaceTreeId: target.workspaceTreeId,
    metadata: {
      reverted_to: target.checkpointId,
      undo_checkpoint_id: undo.checkpointId,
      history_projection: {
        version: 1,
        base_checkpoint_id: target.checkpointId,
        resume_cursors: {
          action_cursor: action,
          message_cursor: message,
          cell_cursor: cell,
          auto_event_cursor: autoEvent,
        },
      },
    },
  };
}

/** Gives a restore up, once the workspace is again what the undo checkpoint holds: the history stays as it was. */
export async function rollBackRestore(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  operation: RestoreOperation,
  why: string,
): Promise<void> {
  await requireSession(tx, principal, operation.rootFrameId);
  await endOperation(tx, context, operation, 'rolled_back', why);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'restore.rolled_back', reference: operation.operationId });
}

async function endOperation(
  tx: Tx,
  context: SessionContext,
  { operationId, rootFrameId }: RestoreOperation,
  status: 'completed' | 'rolled_back',
  error: string | null,
): Promise<void> {
  const { changes } = await tx.run(sql.END_OPERATION, [status, error, context.clock.nowMs(), operationId]);
  if (changes !== 1) throw fail('RESTORE_NOT_RUNNING', 'The restore operation has ended already.');
  await putSetting(tx, context, rootFrameId, revertMarkerKey(rootFrameId), null);
}
