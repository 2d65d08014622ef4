import {
  fail,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LIMITS,
  requireText,
  requireWithin,
} from '../core/index.ts';
import { appendFeed, type ReadTx, type SqlValue, type Tx } from '../store/index.ts';
import { checkId } from './bounds.ts';
import type { Checkpoint, Cursors } from './checkpoint-model.ts';
import * as sql from './checkpoint-queries.ts';
import { checkpointOf } from './checkpoint-rows.ts';
import type { CheckpointParts } from './hooks.ts';
import type { SessionContext } from './ledger.ts';
import { ledgerRefusal } from './ledger-place.ts';
import type { Principal } from './model.ts';
import { jsonOrNull } from './rows.ts';
import { requireBranch } from './service.ts';
import { FIND_TREE } from './workspace/queries.ts';

export interface NewCheckpoint {
  readonly checkpointId?: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  /** The head the caller has seen; another one is CHECKPOINT_HEAD_MOVED. Absent: whatever the head is. */
  readonly expectedHead?: string | null;
  readonly reason: string;
  readonly source?: { readonly kind: 'cell' | 'message'; readonly id: string };
  readonly internal?: boolean;
  /** Default: where each log stands now. */
  readonly cursors?: Partial<Cursors>;
  readonly workspaceTreeId?: string | null;
  readonly recoveryRecipe?: JsonValue;
  /** With a text `reverted_to` the branch goes back to that checkpoint, see `Reverted`. */
  readonly metadata?: JsonObject;
}

/** For the house alone: how a checkpoint differs from one that a caller asks for. */
export interface CheckpointManner {
  /** The running restore operation makes it. */
  readonly forced?: boolean;
  /** The first of a child branch: what it was forked from. */
  readonly parent?: string;
  /** History that came with a package: its own time, and past the quarantine. */
  readonly importedAt?: number;
}

/**
 * Makes a checkpoint and moves the branch's head to it, in the caller's transaction. What other contexts add comes
 * from their `checkpointParts`; when the metadata has a text `reverted_to`, every `onRevert` runs in the same
 * transaction. Refuses with BRANCH_NOT_FOUND, CHECKPOINT_HEAD_MOVED, CHECKPOINT_NOT_FOUND (the metadata names none of
 * this session), WORKSPACE_TREE_NOT_FOUND, SESSION_QUARANTINED, SESSION_REVERTING, INVALID_VALUE, LIMIT_REACHED.
 */
export async function createCheckpoint(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  asked: NewCheckpoint,
  manner: CheckpointManner = {},
): Promise<Checkpoint> {
  checkAsked(asked);
  const id = asked.checkpointId ?? context.ids.next();
  const metadata = asked.metadata ?? {};
  const reverted = revertOf(metadata);
  for (const named of reverted?.names ?? []) await requireCheckpoint(tx, principal, asked.rootFrameId, named);
  if (asked.workspaceTreeId != null && !(await tx.get(FIND_TREE, [asked.workspaceTreeId])))
    throw fail('WORKSPACE_TREE_NOT_FOUND', 'There is no such workspace tree.');
  const parts = manner.importedAt === undefined ? await gatherParts(tx, context, asked) : {};
  const at = manner.importedAt ?? context.clock.nowMs();
  const row = await tx.get(sql.INSERT_CHECKPOINT, checkpointParams(id, principal, asked, manner, parts, at));
  if (!row) throw await refusal(tx, principal, asked);
  const made = checkpointOf(row);
  requireWithin('sessionCheckpoints', made.number);
  await tx.run(sql.MOVE_HEAD, [id, at, asked.branchId]);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'checkpoint.created', reference: id });
  if (reverted) await tellReverted(tx, context, made, reverted.to);
  return made;
}

function checkAsked(asked: NewCheckpoint): void {
  requireText('reason', asked.reason, LIMITS.sessionNameCodePoints);
  if (asked.checkpointId !== undefined) checkId('checkpoint_id', asked.checkpointId);
  if (asked.source) checkId('source_id', asked.source.id);
  for (const cursor of Object.values(asked.cursors ?? {}))
    if (cursor !== null && (!Number.isSafeInteger(cursor) || cursor < 0))
      throw fail('INVALID_VALUE', 'A cursor is a whole number from 0.');
  if (asked.workspaceTreeId != null && !/^[0-9a-f]{64}$/.test(asked.workspaceTreeId))
    throw fail('INVALID_VALUE', 'workspace_tree_id is a SHA-256 in lower-case hex.');
}

/** The checkpoint a revert goes back to, and every checkpoint its metadata names. */
function revertOf(metadata: JsonObject): { readonly to: string; readonly names: readonly string[] } | null {
  const to = metadata['reverted_to'];
  if (typeof to !== 'string') return null;
  const projection = metadata['history_projection'];
  const base = isJsonObject(projection) ? projection['base_checkpoint_id'] : undefined;
  const names = [to, metadata['undo_checkpoint_id'], base].filter((name) => typeof name === 'string');
  return { to, names: [...new Set(names)] };
}

async function gatherParts(tx: Tx, context: SessionContext, asked: NewCheckpoint): Promise<CheckpointParts> {
  const { rootFrameId, branchId } = asked;
  let parts: CheckpointParts = {};
  for (const hook of context.hooks)
    parts = { ...parts, ...(await hook.checkpointParts?.(tx, { rootFrameId, branchId })) };
  return parts;
}

function checkpointParams(
  id: string,
  principal: Principal,
  asked: NewCheckpoint,
  manner: CheckpointManner,
  parts: CheckpointParts,
  at: number,
): SqlValue[] {
  const cursors = asked.cursors ?? {};
  return [
    id,
    asked.rootFrameId,
    asked.branchId,
    principal.tenant,
    asked.expectedHead === undefined ? 0 : 1,
    asked.expectedHead ?? null,
    manner.forced ? 1 : 0,
    manner.importedAt === undefined ? 0 : 1,
    manner.parent ?? null,
    asked.source?.kind ?? null,
    asked.source?.id ?? null,
    asked.internal ? 1 : 0,
    asked.reason,
    cursors.action ?? null,
    cursors.message ?? null,
    cursors.cell ?? null,
    cursors.autoEvent ?? parts.autoEventCursor ?? null,
    asked.workspaceTreeId ?? null,
    jsonOrNull(parts.artifactVersions),
    jsonOrNull(parts.environmentPins),
    jsonOrNull(parts.generationRefs),
    jsonOrNull(parts.capabilityState),
    jsonOrNull(parts.permissionState),
    jsonOrNull(asked.recoveryRecipe),
    jsonOrNull(asked.metadata ?? {}),
    at,
  ];
}

async function refusal(tx: Tx, principal: Principal, asked: NewCheckpoint): Promise<Error> {
  const branch = await requireBranch(tx, principal, asked.rootFrameId, asked.branchId);
  if (asked.expectedHead !== undefined && branch.headCheckpointId !== asked.expectedHead)
    return fail('CHECKPOINT_HEAD_MOVED', 'The branch has another head than the one that was expected.');
  return ledgerRefusal(tx, null, asked.branchId, principal);
}

async function tellReverted(tx: Tx, context: SessionContext, made: Checkpoint, revertedTo: string): Promise<void> {
  const undo = made.metadata['undo_checkpoint_id'];
  for (const hook of context.hooks)
    await hook.onRevert?.(tx, {
      rootFrameId: made.rootFrameId,
      branchId: made.branchId,
      checkpointId: made.checkpointId,
      revertedTo,
      undoCheckpointId: typeof undo === 'string' ? undo : null,
      at: made.createdAt,
    });
}

/** The checkpoint of that session, or CHECKPOINT_NOT_FOUND. */
export async function requireCheckpoint(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  checkpointId: string,
): Promise<Checkpoint> {
  const row = await tx.get(sql.SELECT_CHECKPOINT, [checkpointId, rootFrameId, principal.tenant]);
  if (!row) throw fail('CHECKPOINT_NOT_FOUND', 'There is no such checkpoint in this session.');
  return checkpointOf(row);
}
