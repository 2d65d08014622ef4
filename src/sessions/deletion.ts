import { appendFeed, type Tx } from '../store/index.ts';
import type { KeptRecords } from './hooks.ts';
import type { SessionContext } from './ledger.ts';
import type { Principal } from './model.ts';
import { RECORD_TABLES_TO_CLEAR } from './records/tables.ts';
import { requireSession } from './service.ts';

const MARK = 'UPDATE sessions SET deleting_at = ? WHERE root_frame_id = ?';

/** Children before parents. While `deleting_at` is set, the guards of the append-only tables step aside. */
const REMOVE = [
  ...RECORD_TABLES_TO_CLEAR,
  'messages',
  'execution_attempts',
  'action_events',
  'action_groups',
  'restore_operations',
  'session_checkpoints',
  'session_branches',
  'session_settings',
  'session_tickets',
  'sessions',
].map((table) => `DELETE FROM ${table} WHERE root_frame_id = ?`);

/**
 * Removes a session whole: history, messages, checkpoints, records, and what other rooms keep about it, in the caller's
 * transaction. Answers what stays elsewhere because it is somebody's audit. A room that must keep the session refuses by
 * throwing, and then nothing is removed. Workspace trees that only its checkpoints named go with the next collection.
 * Works in quarantine and in the middle of a revert. SESSION_NOT_FOUND. Whoever calls this holds the session's pen, or
 * knows that nobody writes.
 */
export async function deleteSession(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
): Promise<readonly KeptRecords[]> {
  await requireSession(tx, principal, rootFrameId);
  const kept: KeptRecords[] = [];
  // What stays is counted, and what must not go refuses, before any room has removed anything.
  for (const hook of context.hooks) kept.push(...((await hook.keepsOf?.(tx, rootFrameId, principal)) ?? []));
  await tx.run(MARK, [context.clock.nowMs(), rootFrameId]);
  for (const hook of context.hooks) await hook.onDelete?.(tx, rootFrameId);
  for (const text of REMOVE) await tx.run(text, [rootFrameId]);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'session.deleted', reference: rootFrameId });
  return kept.filter((one) => one.count > 0);
}
