import { QUARANTINE_PREFIX } from './queries.ts';

// Each page names the place that the next one begins after.
export const PAGE_MESSAGES = `SELECT *, seq AS place FROM messages WHERE root_frame_id = ? AND seq > ?
ORDER BY seq LIMIT ?`;
export const PAGE_GROUPS = `SELECT *, ordinal AS place FROM action_groups WHERE branch_id = ? AND ordinal > ?
ORDER BY ordinal LIMIT ?`;
export const PAGE_EVENTS = `SELECT event_id, sequence, type, action_id, tool_call_id, wire_id, canonical_arguments,
  raw_arguments, result, side_effect_class, resource_keys, created_at, sequence AS place,
  (result IS NULL OR json_valid(result)) AND (canonical_arguments IS NULL OR json_valid(canonical_arguments)) AS is_json
FROM action_events WHERE group_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`;
export const PAGE_CHECKPOINTS = `SELECT *, number AS place FROM session_checkpoints
WHERE root_frame_id = ? AND number > ? ORDER BY number LIMIT ?`;
export const ALL_ATTEMPTS = `SELECT * FROM execution_attempts WHERE root_frame_id = ?
ORDER BY group_id, attempt_ordinal, attempt_id`;
export const COUNT_HISTORY = `SELECT (SELECT COUNT(*) FROM messages WHERE root_frame_id = ?) AS messages,
  (SELECT COUNT(*) FROM action_groups WHERE root_frame_id = ?) AS groups,
  (SELECT COUNT(*) FROM execution_attempts WHERE root_frame_id = ?) AS attempts,
  (SELECT COUNT(*) FROM session_branches WHERE root_frame_id = ?) AS branches,
  (SELECT COUNT(*) FROM session_checkpoints WHERE root_frame_id = ?) AS checkpoints,
  (SELECT COUNT(*) FROM restore_operations WHERE root_frame_id = ?) AS operations`;
/**
 * A branch's ordinals rise with its positions. The session's groups are walked back from the position, and no further
 * than to the branch's first: branch, session, branch, position.
 */
export const LAST_ORDINAL_BY = `SELECT ordinal FROM action_groups
WHERE position >= (SELECT position FROM action_groups WHERE branch_id = ? ORDER BY ordinal LIMIT 1)
  AND root_frame_id = ? AND branch_id = ? AND position <= ? ORDER BY position DESC LIMIT 1`;
export const SESSION_MARK = `SELECT 'active' AS what, active_branch_id AS value FROM sessions WHERE root_frame_id = ?
UNION ALL SELECT 'message', CAST(MAX(seq) AS TEXT) FROM messages WHERE root_frame_id = ?
UNION ALL SELECT 'event', CAST(MAX(position) AS TEXT) FROM action_events WHERE root_frame_id = ?
UNION ALL SELECT 'setting ' || key, value || updated_at FROM session_settings WHERE root_frame_id = ?
UNION ALL SELECT 'head ' || branch_id, head_checkpoint_id FROM session_branches WHERE root_frame_id = ?
ORDER BY 1, 2`;

export const IMPORT_MESSAGE = `INSERT INTO messages (message_id, root_frame_id, branch_id, seq, role, content, metadata,
  created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
export const COMPLETE_MESSAGE = `UPDATE messages SET content = ?, metadata = ?
WHERE message_id = ? AND root_frame_id = ? AND content = ? AND group_id IS NULL`;
export const IMPORT_GROUP = `INSERT INTO action_groups (group_id, root_frame_id, branch_id, turn_id, ordinal, position,
  kind, provider, model, wire_state, assistant_content, assistant_message, usage, cost_usd, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const IMPORT_EVENT = `INSERT INTO action_events (event_id, group_id, root_frame_id, sequence, position, type,
  action_id, tool_call_id, wire_id, canonical_arguments, raw_arguments, result, side_effect_class, resource_keys,
  created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const IMPORT_ATTEMPT = `INSERT INTO execution_attempts (attempt_id, group_id, root_frame_id, producing_cell_id,
  attempt_ordinal, state_revision, generation_id, allocated_at, started_at, response_at, capture_at, finished_at,
  terminal_state, error, replayed_from_cell_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const UPDATE_MAIN = `UPDATE session_branches SET head_checkpoint_id = ?, name = ?, created_at = ?, updated_at = ?
WHERE branch_id = ?`;
export const IMPORT_BRANCH = `INSERT INTO session_branches (branch_id, root_frame_id, parent_branch_id,
  base_checkpoint_id, head_checkpoint_id, name, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
export const IMPORT_CHECKPOINT = `INSERT INTO session_checkpoints (checkpoint_id, root_frame_id, branch_id, number,
  parent_checkpoint_id, source_kind, source_id, internal, reason, action_cursor, message_cursor, cell_cursor,
  auto_event_cursor, workspace_tree_id, artifact_versions, environment_pins, generation_refs, capability_state,
  permission_state, recovery_recipe, metadata, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const FACE_SESSION = `UPDATE sessions SET kind = ?, name = ?, task_summary = ?, attributes = ?,
  active_branch_id = ?, created_at = ?, updated_at = ? WHERE root_frame_id = ? AND origin = 'import'`;

export const QUARANTINED_IMPORTS = `SELECT s.root_frame_id, q.value FROM sessions s
JOIN session_settings q ON q.root_frame_id = s.root_frame_id AND q.key = '${QUARANTINE_PREFIX}' || s.root_frame_id
WHERE s.tenant_id = ? AND s.origin = 'import' ORDER BY s.root_frame_id`;
export const SESSION_OF_PROJECT = `SELECT 1 AS found FROM sessions WHERE project_id = ? LIMIT 1`;
