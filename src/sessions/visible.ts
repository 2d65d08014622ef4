import type { ReadTx, Row, SqlParams } from '../store/index.ts';
import { pageSize } from './bounds.ts';
import type { Checkpoint, RestoreOperation } from './checkpoint-model.ts';
import * as sql from './checkpoint-queries.ts';
import { checkpointOf, operationOf } from './checkpoint-rows.ts';
import { afterNumber, type PageQuery, readPage } from './history.ts';
import type { ActionEvent, ActionGroup, Message, Page, Principal } from './model.ts';
import { type Segment, visibleSegments } from './projection.ts';
import { eventOf, groupOf, messageOf } from './rows.ts';
import { requireBranch, requireSession } from './service.ts';

interface BranchOf {
  readonly rootFrameId: string;
  readonly branchId: string;
}

/** What a branch shows of its messages, inherited ones first. BRANCH_NOT_FOUND. */
export async function visibleMessages(
  tx: ReadTx,
  principal: Principal,
  of: BranchOf,
  query: PageQuery = {},
): Promise<Page<Message>> {
  const segments = await visibleSegments(
    tx,
    await requireBranch(tx, principal, of.rootFrameId, of.branchId),
    'message',
  );
  return walkSegments(tx, segments, query, {
    text: sql.SEGMENT_MESSAGES,
    params: [of.rootFrameId],
    of: messageOf,
    placeOf: (message: Message) => message.seq,
  });
}

/** What a branch shows of its action groups. BRANCH_NOT_FOUND. */
export async function visibleGroups(
  tx: ReadTx,
  principal: Principal,
  of: BranchOf,
  query: PageQuery = {},
): Promise<Page<ActionGroup>> {
  const segments = await visibleSegments(tx, await requireBranch(tx, principal, of.rootFrameId, of.branchId), 'action');
  const placeOf = (group: ActionGroup): number => group.position;
  const rows = { text: sql.SEGMENT_GROUPS, params: [of.rootFrameId], of: groupOf, placeOf };
  return walkSegments(tx, segments, query, rows);
}

/** What a branch shows of its action events. BRANCH_NOT_FOUND. */
export async function visibleEvents(
  tx: ReadTx,
  principal: Principal,
  of: BranchOf,
  query: PageQuery = {},
): Promise<Page<ActionEvent>> {
  const segments = await visibleSegments(tx, await requireBranch(tx, principal, of.rootFrameId, of.branchId), 'action');
  const placeOf = (event: ActionEvent): number => event.position;
  return walkSegments(tx, segments, query, {
    text: sql.SEGMENT_EVENTS,
    params: [of.rootFrameId],
    of: eventOf,
    placeOf,
  });
}

/** How the rows of one log are read. Parameters: `params`, branch, after, up to, rows. */
export interface SegmentRows<T> {
  readonly text: string;
  readonly params: SqlParams;
  readonly of: (row: Row) => T;
  readonly placeOf: (item: T) => number;
}

/** Reads segment by segment until a page is full; places only rise from one segment to the next. */
export async function walkSegments<T>(
  tx: ReadTx,
  segments: readonly Segment[],
  query: PageQuery,
  { text, params, of, placeOf }: SegmentRows<T>,
): Promise<Page<T>> {
  const limit = pageSize(query.limit);
  const from = afterNumber(query.after, 0);
  const items: T[] = [];
  for (const { branchId, after, upTo } of segments) {
    if (upTo <= from) continue;
    const rest = limit + 1 - items.length;
    const rows = await tx.all(text, [...params, branchId, Math.max(after, from), upTo, rest]);
    items.push(...rows.map(of));
    if (items.length > limit) break;
  }
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown, next: items.length > limit && last !== undefined ? String(placeOf(last)) : null };
}

/** Checkpoints of a session in the order they were made. SESSION_NOT_FOUND. */
export async function listCheckpoints(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  query: PageQuery = {},
): Promise<Page<Checkpoint>> {
  await requireSession(tx, principal, rootFrameId);
  const params = [rootFrameId, afterNumber(query.after, 0)];
  return readPage(tx, sql.LIST_CHECKPOINTS, params, pageSize(query.limit), checkpointOf, (one) => String(one.number));
}

const NEWEST = 20;

/** The newest checkpoints of a session, newest first, at most twenty. SESSION_NOT_FOUND. */
export async function newestCheckpoints(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<Checkpoint[]> {
  await requireSession(tx, principal, rootFrameId);
  return (await tx.all(sql.NEWEST_CHECKPOINTS, [rootFrameId, NEWEST])).map(checkpointOf);
}

/** Restore operations of a session, oldest first. SESSION_NOT_FOUND. */
export async function listRestores(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  query: PageQuery = {},
): Promise<Page<RestoreOperation>> {
  await requireSession(tx, principal, rootFrameId);
  const params = [rootFrameId, query.after ?? ''];
  return readPage(tx, sql.LIST_OPERATIONS, params, pageSize(query.limit), operationOf, (one) => one.operationId);
}
