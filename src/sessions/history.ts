import { fail, HoldfastError } from '../core/index.ts';
import type { ReadTx, Row, SqlParams } from '../store/index.ts';
import { pageSize } from './bounds.ts';
import type {
  ActionEvent,
  ActionGroup,
  Message,
  Page,
  Principal,
  Session,
  SessionBranch,
  SessionTicket,
  Turn,
} from './model.ts';
import * as sql from './queries.ts';
import { branchOf, eventOf, exact, groupOf, messageOf, readExact, sessionOf, ticketOf, turnOf } from './rows.ts';
import { sessionNotFound } from './service.ts';
import { LIST_TICKETS } from './ticket-queries.ts';

export interface PageQuery {
  /** The `next` of the page before; absent for the first. */
  readonly after?: string;
  /** Rows wanted, at most 500. Default 100. */
  readonly limit?: number;
}

/** Reads one row more than asked for, to know whether a page follows. */
export async function readPage<T>(
  tx: ReadTx,
  text: string,
  params: SqlParams,
  limit: number,
  of: (row: Row) => T,
  key: (item: T) => string,
): Promise<Page<T>> {
  const rows = await tx.all(text, [...params, limit + 1]);
  const items = rows.slice(0, limit).map(of);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? key(last) : null };
}

export function afterNumber(after: string | undefined, first: number): number {
  if (after === undefined) return first;
  if (!/^\d{1,15}$/.test(after)) throw fail('INVALID_VALUE', 'after must be the next of the page before.');
  return Number(after);
}

/** A session whose own row was changed behind the program's back and cannot be read. */
export interface DamagedSession {
  readonly rootFrameId: string;
  readonly code: string;
  readonly why: string;
}

export interface SessionPage extends Page<Session> {
  /** Those of the page that cannot be read: they keep no other from being listed. */
  readonly damaged: readonly DamagedSession[];
}

/** Sessions of the principal's tenant, newest first. */
export async function listSessions(tx: ReadTx, principal: Principal, query: PageQuery = {}): Promise<SessionPage> {
  const limit = pageSize(query.limit);
  const rows = await tx.all(exact(sql.LIST_SESSIONS), [principal.tenant, query.after ?? '\u{10ffff}', limit + 1]);
  const items: Session[] = [];
  const damaged: DamagedSession[] = [];
  for (const row of rows.slice(0, limit)) {
    try {
      items.push(readExact(row, sessionOf));
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      damaged.push({ rootFrameId: String(row['root_frame_id']), code: error.code, why: error.message });
    }
  }
  return { items, damaged, next: rows.length > limit ? String(rows[limit - 1]?.['root_frame_id']) : null };
}

/** Branches of a session, by id. SESSION_NOT_FOUND. */
export async function listBranches(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  query: PageQuery = {},
): Promise<Page<SessionBranch>> {
  await requireThatSession(tx, principal, rootFrameId);
  const params = [rootFrameId, query.after ?? ''];
  return readPage(tx, sql.LIST_BRANCHES, params, pageSize(query.limit), branchOf, (item) => item.branchId);
}

/** Turns of a session in their order. SESSION_NOT_FOUND. */
export async function listTurns(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  query: PageQuery = {},
): Promise<Page<Turn>> {
  await requireThatSession(tx, principal, rootFrameId);
  const params = [rootFrameId, afterNumber(query.after, 0)];
  return readPage(tx, sql.LIST_TURNS, params, pageSize(query.limit), turnOf, (item) => String(item.firstPosition));
}

/** Action groups of a session in the order of the ledger. SESSION_NOT_FOUND. */
export async function listGroups(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  query: PageQuery = {},
): Promise<Page<ActionGroup>> {
  await requireThatSession(tx, principal, rootFrameId);
  const params = [rootFrameId, afterNumber(query.after, 0)];
  return readPage(tx, sql.LIST_GROUPS, params, pageSize(query.limit), groupOf, (item) => String(item.position));
}

/** SESSION_NOT_FOUND where it is not the principal's; nothing of it is read. */
export async function requireThatSession(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<void> {
  if (!(await tx.get(sql.HAS_SESSION, [rootFrameId, principal.tenant]))) throw sessionNotFound();
}

async function requireThatGroup(tx: ReadTx, principal: Principal, groupId: string): Promise<void> {
  if (!(await tx.get(sql.HAS_GROUP, [groupId, principal.tenant]))) throw groupNotFound();
}

const groupNotFound = (): Error => fail('ACTION_GROUP_NOT_FOUND', 'There is no such action group.');

/** The group, or ACTION_GROUP_NOT_FOUND. */
export async function requireGroup(tx: ReadTx, principal: Principal, groupId: string): Promise<ActionGroup> {
  const row = await tx.get(sql.SELECT_GROUP, [groupId, principal.tenant]);
  if (!row) throw groupNotFound();
  return groupOf(row);
}

/** Events of one group in their sequence. ACTION_GROUP_NOT_FOUND. */
export async function listGroupEvents(
  tx: ReadTx,
  principal: Principal,
  groupId: string,
  query: PageQuery = {},
): Promise<Page<ActionEvent>> {
  await requireThatGroup(tx, principal, groupId);
  const params = [groupId, afterNumber(query.after, -1)];
  return readPage(tx, sql.LIST_GROUP_EVENTS, params, pageSize(query.limit), eventOf, (item) => String(item.sequence));
}

/** Events of a whole session in the order of the ledger. SESSION_NOT_FOUND. */
export async function listEvents(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  query: PageQuery = {},
): Promise<Page<ActionEvent>> {
  await requireThatSession(tx, principal, rootFrameId);
  const params = [rootFrameId, afterNumber(query.after, 0)];
  return readPage(tx, sql.LIST_EVENTS, params, pageSize(query.limit), eventOf, (item) => String(item.position));
}

/** Messages of a whole session, all branches, in their order. SESSION_NOT_FOUND. */
export async function listMessages(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  query: PageQuery = {},
): Promise<Page<Message>> {
  await requireThatSession(tx, principal, rootFrameId);
  const params = [rootFrameId, afterNumber(query.after, 0)];
  return readPage(tx, sql.LIST_MESSAGES, params, pageSize(query.limit), messageOf, (item) => String(item.seq));
}

/** Who holds the session's pen and who waits for it, in order; empty for a session that is not the principal's. */
export async function listTickets(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<SessionTicket[]> {
  return (await tx.all(LIST_TICKETS, [rootFrameId, principal.tenant])).map(ticketOf);
}
