import { canonicalJson, type JsonValue, LIMITS, requireWithin } from '../core/index.ts';
import type { ReadTx, Row, Tx } from '../store/index.ts';
import type { ActionEventType } from './model.ts';

/** Everything of one action group as it is stored: fixed lists of columns, so that a digest over it stays valid. */
export interface GroupLedger {
  readonly group: Row;
  readonly events: readonly Row[];
  readonly attempts: readonly Row[];
}

const GROUP = `SELECT group_id, root_frame_id, branch_id, turn_id, ordinal, kind, provider, model, wire_state,
  assistant_content, assistant_message, usage, cost_usd, created_at FROM action_groups WHERE group_id = ?`;
const EVENTS = `SELECT event_id, group_id, sequence, type, action_id, tool_call_id, wire_id, canonical_arguments,
  raw_arguments, result, side_effect_class, resource_keys, created_at
FROM action_events WHERE group_id = ? ORDER BY sequence LIMIT ?`;
const ATTEMPTS = `SELECT attempt_id, group_id, producing_cell_id, attempt_ordinal, state_revision, generation_id,
  owner_instance_id, allocated_at, started_at, response_at, capture_at, finished_at, terminal_state, error,
  replayed_from_cell_id FROM execution_attempts WHERE group_id = ? ORDER BY attempt_ordinal, attempt_id LIMIT ?`;
const IS_EMPTY = `SELECT NOT EXISTS (SELECT 1 FROM action_events WHERE group_id = ?)
  AND NOT EXISTS (SELECT 1 FROM execution_attempts WHERE group_id = ?) AS empty`;
const NAMING = `SELECT action_id, tool_call_id, side_effect_class, resource_keys, result FROM action_events
WHERE group_id = ? AND type = ? AND canonical_arguments = ? ORDER BY sequence`;
/** Leaves unfinished. */
const CLOSE = `UPDATE execution_attempts SET finished_at = ?, state_revision = state_revision + 1,
  terminal_state = CASE WHEN started_at IS NULL THEN 'cancelled' ELSE 'outcome_unknown' END
WHERE group_id = ? AND finished_at IS NULL`;
const REVERTED_SINCE = `SELECT 1 AS reverted FROM session_checkpoints WHERE branch_id = ?
  AND metadata ->> '$.reverted_to' IS NOT NULL
  AND metadata ->> '$.history_projection.resume_cursors.auto_event_cursor' >= ? LIMIT 1`;

/** The group with its events and attempts in their order, or null. LIMIT_REACHED when it is longer than one read takes. */
export async function readGroupLedger(tx: ReadTx, groupId: string): Promise<GroupLedger | null> {
  const group = await tx.get(GROUP, [groupId]);
  if (!group) return null;
  const most = LIMITS.sessionGroupRows;
  const events = await tx.all(EVENTS, [groupId, most + 1]);
  const attempts = await tx.all(ATTEMPTS, [groupId, most + 1]);
  requireWithin('sessionGroupRows', Math.max(events.length, attempts.length));
  return { group, events, attempts };
}

/** Whether nothing was done in the group yet: no event and no attempt. */
export async function isGroupEmpty(tx: ReadTx, groupId: string): Promise<boolean> {
  return Number((await tx.get(IS_EMPTY, [groupId, groupId]))?.['empty']) === 1;
}

/** The events of one type in a group whose arguments are exactly these. */
export async function eventsNaming(
  tx: ReadTx,
  groupId: string,
  type: ActionEventType,
  canonicalArguments: JsonValue,
): Promise<Row[]> {
  return tx.all(NAMING, [groupId, type, canonicalJson(canonicalArguments)]);
}

/**
 * Ends the open attempts of a group whose outcome will not be learned: what had started as `outcome_unknown`, what had
 * not as `cancelled`. Gives their number.
 */
export async function closeAttempts(tx: Tx, groupId: string, atMs: number): Promise<number> {
  return (await tx.run(CLOSE, [atMs, groupId])).changes;
}

/** Whether the branch was reverted after its auto event with this cursor. */
export async function revertedSince(tx: ReadTx, branchId: string, autoEventCursor: number): Promise<boolean> {
  return (await tx.get(REVERTED_SINCE, [branchId, autoEventCursor])) !== undefined;
}
