import { canonicalJson, fail, type JsonObject, LIMITS, requireText } from '../core/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';
import { checkId, checkLongText, checkWord } from './bounds.ts';
import { openGroup, type SessionContext } from './ledger.ts';
import type { Principal, Session, SessionBranch } from './model.ts';
import * as sql from './queries.ts';
import { branchOf, sessionOf } from './rows.ts';

export interface NewSession {
  readonly projectId: string;
  /** Default: a fresh id. */
  readonly rootFrameId?: string;
  readonly kind?: string;
  readonly origin?: 'local' | 'import';
  readonly name?: string;
  readonly taskSummary?: string;
  readonly attributes?: JsonObject;
}

/**
 * Opens a session with its main branch in a project of the principal's tenant.
 * Refuses with PROJECT_NOT_FOUND, SESSION_EXISTS, INVALID_VALUE, LIMIT_REACHED.
 */
export async function openSession(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  session: NewSession,
): Promise<string> {
  const id = session.rootFrameId ?? context.ids.next();
  const kind = session.kind ?? 'turn';
  checkId('root_frame_id', id);
  checkWord('kind', kind);
  if (session.name !== undefined) requireText('name', session.name, LIMITS.sessionNameCodePoints);
  checkLongText('task_summary', session.taskSummary);
  const now = context.clock.nowMs();
  if (await tx.get(sql.ID_TAKEN, [id]))
    throw fail('SESSION_EXISTS', 'A session or branch with this id exists already.');
  const { changes } = await tx.run(sql.INSERT_SESSION, [
    id,
    kind,
    session.origin ?? 'local',
    session.name ?? null,
    session.taskSummary ?? null,
    canonicalJson(session.attributes ?? {}),
    now,
    session.projectId,
    principal.tenant,
  ]);
  if (changes === 0) throw fail('PROJECT_NOT_FOUND', 'There is no such project.');
  await tx.run(sql.INSERT_BRANCH, [id, id, null, null, null, null, now, now]);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'session.opened', reference: id });
  return id;
}

/** The session, or SESSION_NOT_FOUND: another tenant's session is not told apart from one that does not exist. */
export async function requireSession(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<Session> {
  const row = await tx.get(sql.SELECT_SESSION, [rootFrameId, principal.tenant]);
  if (!row) throw sessionNotFound();
  return sessionOf(row);
}

export const sessionNotFound = (): Error => fail('SESSION_NOT_FOUND', 'There is no such session.');

/** The branch of that session, or BRANCH_NOT_FOUND. */
export async function requireBranch(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  branchId: string,
): Promise<SessionBranch> {
  const row = await tx.get(sql.SELECT_BRANCH, [branchId, rootFrameId, principal.tenant]);
  if (!row) throw fail('BRANCH_NOT_FOUND', 'There is no such branch in this session.');
  return branchOf(row);
}

/** A user's request: opens a turn with a group of kind `user` and the message that shows it. */
export async function beginTurn(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  turn: {
    readonly rootFrameId: string;
    readonly branchId: string;
    readonly content: string;
    readonly turnId?: string;
    readonly ticketId?: string;
  },
): Promise<{ readonly turnId: string; readonly groupId: string }> {
  const { content, ...place } = turn;
  const turnId = turn.turnId ?? context.ids.next();
  const assistantMessage = { role: 'user', content };
  const { id } = await openGroup(tx, context, principal, { ...place, turnId, kind: 'user', assistantMessage });
  return { turnId, groupId: id };
}

/** A setting of one session. The presence of some stops new work, see `QUARANTINE_PREFIX` and `REVERT_MARKER_PREFIX`. */
export async function getSetting(tx: ReadTx, rootFrameId: string, key: string): Promise<string | null> {
  const row = await tx.get(sql.GET_SETTING, [rootFrameId, key]);
  return row ? String(row['value']) : null;
}

/** Writes a setting, or removes it with null. The caller has checked the session. */
export async function putSetting(
  tx: Tx,
  context: SessionContext,
  rootFrameId: string,
  key: string,
  value: string | null,
): Promise<void> {
  checkId('key', key);
  if (value === null) await tx.run(sql.DROP_SETTING, [rootFrameId, key]);
  else await tx.run(sql.PUT_SETTING, [rootFrameId, key, value, context.clock.nowMs()]);
}
