import type { ReadTx, Row, SqlValue, Tx } from '../store/index.ts';
import { fail, type JsonObject, type JsonValue } from '../core/index.ts';
import { attemptOf, checkpointOf } from './checkpoint-rows.ts';
import type { Checkpoint, ExecutionAttempt } from './checkpoint-model.ts';
import type { ActionEvent, ActionGroup, Message, Session, SessionBranch } from './model.ts';
import * as sql from './portable-queries.ts';
import { groupOf, jsonOrNull, messageOf, storedEventOf } from './rows.ts';

// The door for sessions that travel as a package. What comes in was checked whole before, has identities of its own,
// and goes into a session that was opened for it (`origin` `import`) and is quarantined. Nothing here tells hooks: what
// is imported happened elsewhere and gives nobody authority.

/** Rows of one kind, in the order in which a package lists them. A page holds at most `limit` of them. */
export interface PortablePage<T> {
  readonly items: readonly T[];
  /** What the next page begins after; null when there is none. */
  readonly next: SqlValue;
}

const pageOf = async <T>(
  tx: ReadTx,
  text: string,
  params: readonly SqlValue[],
  limit: number,
  of: (row: Row) => T,
): Promise<PortablePage<T>> => {
  const rows = await tx.all(text, [...params, limit]);
  return { items: rows.map(of), next: rows.length < limit ? null : (rows.at(-1)?.['place'] ?? null) };
};

export const portableMessages = (tx: ReadTx, root: string, after: SqlValue, limit: number) =>
  pageOf(tx, sql.PAGE_MESSAGES, [root, after ?? 0], limit, messageOf);
/** The groups of one branch. */
export const portableGroups = (tx: ReadTx, branchId: string, after: SqlValue, limit: number) =>
  pageOf(tx, sql.PAGE_GROUPS, [branchId, after ?? -1], limit, groupOf);
/** The events of one group. */
export const portableEvents = (tx: ReadTx, groupId: string, after: SqlValue, limit: number) =>
  pageOf(tx, sql.PAGE_EVENTS, [groupId, after ?? -1], limit, storedEventOf);
export const portableCheckpoints = (tx: ReadTx, root: string, after: SqlValue, limit: number) =>
  pageOf(tx, sql.PAGE_CHECKPOINTS, [root, after ?? 0], limit, checkpointOf);
export const portableAttempts = async (tx: ReadTx, root: string): Promise<ExecutionAttempt[]> =>
  (await tx.all(sql.ALL_ATTEMPTS, [root])).map(attemptOf);

/** Rows of each kind that a session has. */
export interface HistoryCounts {
  readonly messages: number;
  readonly groups: number;
  readonly attempts: number;
  readonly branches: number;
  readonly checkpoints: number;
  readonly operations: number;
}

export async function countHistory(tx: ReadTx, root: string): Promise<HistoryCounts> {
  const row = (await tx.get(sql.COUNT_HISTORY, [root, root, root, root, root, root])) ?? {};
  const of = (name: string): number => Number(row[name]);
  return {
    messages: of('messages'),
    groups: of('groups'),
    attempts: of('attempts'),
    branches: of('branches'),
    checkpoints: of('checkpoints'),
    operations: of('operations'),
  };
}

/** The place of the last group of a branch at or before a position of the ledger; null where there is none. */
export async function lastOrdinalBy(
  tx: ReadTx,
  of: { readonly rootFrameId: string; readonly branchId: string },
  position: number,
): Promise<number | null> {
  const { rootFrameId, branchId } = of;
  const row = await tx.get(sql.LAST_ORDINAL_BY, [branchId, rootFrameId, branchId, position]);
  return row?.['ordinal'] == null ? null : Number(row['ordinal']);
}

/** What a change of the session since would change in this text: the active branch, the heads, the logs, the marker. */
export async function sessionMark(tx: ReadTx, root: string): Promise<string> {
  const rows = await tx.all(sql.SESSION_MARK, [root, root, root, root, root]);
  return rows.map((row) => `${String(row['what'])}=${String(row['value'])}`).join('\n');
}

export async function importMessage(tx: Tx, message: Message): Promise<void> {
  const { messageId, rootFrameId, branchId, seq, role, content, metadata, createdAt } = message;
  await tx.run(sql.IMPORT_MESSAGE, [
    messageId,
    rootFrameId,
    branchId,
    seq,
    role,
    content,
    jsonOrNull(metadata),
    createdAt,
  ]);
}

/** Gives a message that was imported with a placeholder its text. SESSION_CORRUPT unless it still is the placeholder. */
export async function completeImportedMessage(
  tx: Tx,
  message: Pick<Message, 'messageId' | 'rootFrameId' | 'content' | 'metadata'>,
  placeholder: string,
): Promise<void> {
  const { messageId, rootFrameId, content, metadata } = message;
  const params = [content, jsonOrNull(metadata), messageId, rootFrameId, placeholder];
  const { changes } = await tx.run(sql.COMPLETE_MESSAGE, params);
  if (changes !== 1) throw fail('SESSION_CORRUPT', 'An imported message is not the placeholder that it must be.');
}

export async function importGroup(tx: Tx, group: ActionGroup): Promise<void> {
  await tx.run(sql.IMPORT_GROUP, [
    group.groupId,
    group.rootFrameId,
    group.branchId,
    group.turnId,
    group.ordinal,
    group.position,
    group.kind,
    group.provider,
    group.model,
    jsonOrNull(group.wireState),
    group.assistantContent,
    jsonOrNull(group.assistantMessage),
    jsonOrNull(group.usage),
    group.costUsd,
    group.createdAt,
  ]);
}

export async function importEvent(tx: Tx, event: ActionEvent): Promise<void> {
  await tx.run(sql.IMPORT_EVENT, [
    event.eventId,
    event.groupId,
    event.rootFrameId,
    event.sequence,
    event.position,
    event.type,
    event.actionId,
    event.toolCallId,
    event.wireId,
    jsonOrNull(event.canonicalArguments),
    event.rawArguments,
    jsonOrNull(event.result),
    event.sideEffectClass,
    event.resourceKeys.length === 0 ? null : jsonOrNull([...event.resourceKeys]),
    event.createdAt,
  ]);
}

export async function importAttempt(tx: Tx, root: string, attempt: ExecutionAttempt): Promise<void> {
  await tx.run(sql.IMPORT_ATTEMPT, [
    attempt.attemptId,
    attempt.groupId,
    root,
    attempt.producingCellId,
    attempt.attemptOrdinal,
    attempt.stateRevision,
    attempt.generationId,
    attempt.allocatedAt,
    attempt.startedAt,
    attempt.responseAt,
    attempt.captureAt,
    attempt.finishedAt,
    attempt.terminalState,
    attempt.error,
    attempt.replayedFromCellId,
  ]);
}

/** A branch of an imported session. Its main branch is there already and only takes name, head and times. */
export async function importBranch(tx: Tx, branch: SessionBranch): Promise<void> {
  const { branchId, rootFrameId, parentBranchId, baseCheckpointId, headCheckpointId, name, createdAt, updatedAt } =
    branch;
  if (branchId === rootFrameId) await tx.run(sql.UPDATE_MAIN, [headCheckpointId, name, createdAt, updatedAt, branchId]);
  else
    await tx.run(sql.IMPORT_BRANCH, [
      branchId,
      rootFrameId,
      parentBranchId,
      baseCheckpointId,
      headCheckpointId,
      name,
      createdAt,
      updatedAt,
    ]);
}

export async function importCheckpoint(tx: Tx, checkpoint: Checkpoint): Promise<void> {
  const { cursors, source } = checkpoint;
  await tx.run(sql.IMPORT_CHECKPOINT, [
    checkpoint.checkpointId,
    checkpoint.rootFrameId,
    checkpoint.branchId,
    checkpoint.number,
    checkpoint.parentCheckpointId,
    source?.kind ?? null,
    source?.id ?? null,
    checkpoint.internal ? 1 : 0,
    checkpoint.reason,
    cursors.action,
    cursors.message,
    cursors.cell,
    cursors.autoEvent,
    checkpoint.workspaceTreeId,
    jsonOrNull(checkpoint.artifactVersions),
    jsonOrNull(checkpoint.environmentPins),
    jsonOrNull(checkpoint.generationRefs),
    jsonOrNull(checkpoint.capabilityState),
    jsonOrNull(checkpoint.permissionState),
    jsonOrNull(checkpoint.recoveryRecipe),
    jsonOrNull(checkpoint.metadata),
    checkpoint.createdAt,
  ]);
}

/** What an imported session is called, once everything in it is there. */
export interface ImportedFace extends Pick<Session, 'rootFrameId' | 'name' | 'taskSummary' | 'activeBranchId'> {
  readonly kind: string;
  readonly attributes: JsonObject;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export async function faceImported(tx: Tx, face: ImportedFace): Promise<void> {
  await tx.run(sql.FACE_SESSION, [
    face.kind,
    face.name,
    face.taskSummary,
    jsonOrNull(face.attributes as JsonValue),
    face.activeBranchId,
    face.createdAt,
    face.updatedAt,
    face.rootFrameId,
  ]);
}

/** Imported sessions of a tenant that are still quarantined. */
export async function quarantinedImports(tx: ReadTx, tenant: string): Promise<{ root: string; value: string }[]> {
  const rows = await tx.all(sql.QUARANTINED_IMPORTS, [tenant]);
  return rows.map((row) => ({ root: String(row['root_frame_id']), value: String(row['value']) }));
}

/** Whether any session hangs from a project. */
export async function hasSessionOfProject(tx: ReadTx, projectId: string): Promise<boolean> {
  return (await tx.get(sql.SESSION_OF_PROJECT, [projectId])) !== undefined;
}
