import { EVENT_COLUMNS, GROUP_COLUMNS, nextNumber, quarantined, reverting } from './queries.ts';

/** Parameters: the columns of `p`, in order. `forced` passes a revert marker: the operation that set it goes on. */
export const INSERT_CHECKPOINT = `
WITH p (id, root, branch, tenant, cas, expected, forced, imported, parent, source_kind, source_id, internal, reason,
  action, message, cell, auto, tree, artifacts, pins, generations, capabilities, permissions, recipe, metadata, at) AS
  (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))
INSERT INTO session_checkpoints (checkpoint_id, root_frame_id, branch_id, number, parent_checkpoint_id, source_kind,
  source_id, internal, reason, action_cursor, message_cursor, cell_cursor, auto_event_cursor, workspace_tree_id,
  artifact_versions, environment_pins, generation_refs, capability_state, permission_state, recovery_recipe, metadata,
  created_at)
SELECT p.id, b.root_frame_id, b.branch_id, ${nextNumber('session_checkpoints', 'b.root_frame_id')},
  COALESCE(p.parent, b.head_checkpoint_id), p.source_kind, p.source_id, p.internal, p.reason,
  COALESCE(p.action, MAX(
    COALESCE((SELECT MAX(position) FROM action_events WHERE root_frame_id = b.root_frame_id), 0),
    COALESCE((SELECT MAX(position) FROM action_groups WHERE root_frame_id = b.root_frame_id), 0))),
  COALESCE(p.message, (SELECT MAX(seq) FROM messages WHERE root_frame_id = b.root_frame_id), 0),
  COALESCE(p.cell, (SELECT MAX(state_revision) FROM cells WHERE root_frame_id = b.root_frame_id), h.cell_cursor, 0), COALESCE(p.auto, h.auto_event_cursor, 0), p.tree, p.artifacts, p.pins,
  p.generations, p.capabilities, p.permissions, p.recipe, p.metadata, p.at
FROM p JOIN session_branches b ON b.branch_id = p.branch AND b.root_frame_id = p.root
  JOIN sessions s ON s.root_frame_id = b.root_frame_id AND s.tenant_id = p.tenant
  LEFT JOIN session_checkpoints h ON h.checkpoint_id = b.head_checkpoint_id
WHERE (NOT p.cas OR b.head_checkpoint_id IS p.expected)
  AND (p.imported OR NOT ${quarantined('b.root_frame_id')})
  AND (p.imported OR p.forced OR NOT ${reverting('b.root_frame_id')})
RETURNING *`;
export const MOVE_HEAD = `UPDATE session_branches SET head_checkpoint_id = ?, updated_at = ? WHERE branch_id = ?`;
export const SELECT_CHECKPOINT = `SELECT c.* FROM session_checkpoints c JOIN sessions s ON s.root_frame_id = c.root_frame_id
WHERE c.checkpoint_id = ? AND c.root_frame_id = ? AND s.tenant_id = ?`;
export const LIST_CHECKPOINTS = `SELECT * FROM session_checkpoints WHERE root_frame_id = ? AND number > ?
ORDER BY number LIMIT ?`;

export const NEWEST_CHECKPOINTS = `SELECT * FROM session_checkpoints WHERE root_frame_id = ?
ORDER BY number DESC LIMIT ?`;

/** What the projection needs of a branch's checkpoints, in their order. One that is no JSON keeps no other from being read. */
export const CHAIN_OF_BRANCH = `SELECT checkpoint_id, branch_id, parent_checkpoint_id,
  action_cursor, message_cursor, cell_cursor, auto_event_cursor, told IS NOT NULL AS is_json,
  told ->> '$.history_projection.base_checkpoint_id' AS base_checkpoint_id,
  told ->> '$.history_projection.resume_cursors.action_cursor' AS resume_action,
  told ->> '$.history_projection.resume_cursors.message_cursor' AS resume_message,
  told ->> '$.history_projection.resume_cursors.cell_cursor' AS resume_cell,
  told ->> '$.history_projection.resume_cursors.auto_event_cursor' AS resume_auto,
  told ->> '$.undo_checkpoint_id' AS undo_checkpoint_id
FROM (SELECT *, CASE WHEN json_valid(metadata) THEN metadata END AS told FROM session_checkpoints WHERE branch_id = ?)
ORDER BY number`;
export const BRANCH_OF_CHECKPOINT = `SELECT branch_id FROM session_checkpoints WHERE checkpoint_id = ? AND root_frame_id = ?`;

export const COUNT_BRANCHES = `SELECT COUNT(*) AS branches FROM session_branches WHERE root_frame_id = ?`;
export const SET_ACTIVE_BRANCH = `UPDATE sessions SET active_branch_id = ?, updated_at = ?
WHERE root_frame_id = ? AND active_branch_id = ?`;

// By the session's own order, in which a branch's lines are not far apart: an index by branch would be written with
// every line.
export const SEGMENT_MESSAGES = `SELECT * FROM messages WHERE root_frame_id = ? AND branch_id = ? AND seq > ? AND seq <= ?
ORDER BY seq LIMIT ?`;
export const SEGMENT_GROUPS = `SELECT ${GROUP_COLUMNS} FROM action_groups g WHERE g.root_frame_id = ?
  AND g.branch_id = ? AND g.position > ? AND g.position <= ? ORDER BY g.position LIMIT ?`;
export const SEGMENT_EVENTS = `SELECT ${EVENT_COLUMNS} FROM action_events e JOIN action_groups g ON g.group_id = e.group_id
WHERE e.root_frame_id = ? AND g.branch_id = ? AND e.position > ? AND e.position <= ? ORDER BY e.position LIMIT ?`;

export const INSERT_OPERATION = `INSERT INTO restore_operations (operation_id, root_frame_id, branch_id, kind,
  source_checkpoint_id, target_checkpoint_id, status, preview, created_at)
VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?)`;
/** Leaves `running`. */
export const END_OPERATION = `UPDATE restore_operations SET status = ?, error = ?, finished_at = ?
WHERE operation_id = ? AND status = 'running'`;
export const RUNNING_OPERATION = `SELECT o.* FROM restore_operations o JOIN sessions s ON s.root_frame_id = o.root_frame_id
WHERE o.root_frame_id = ? AND s.tenant_id = ? AND o.status = 'running'`;
export const COUNT_OPERATIONS = `SELECT COUNT(*) AS begun, COUNT(finished_at) AS ended FROM restore_operations
WHERE root_frame_id = ?`;
export const OPERATION_OF_ID = `SELECT o.* FROM restore_operations o JOIN sessions s ON s.root_frame_id = o.root_frame_id
WHERE o.operation_id = ? AND o.root_frame_id = ? AND s.tenant_id = ?`;
export const LIST_OPERATIONS = `SELECT * FROM restore_operations WHERE root_frame_id = ? AND operation_id > ?
ORDER BY operation_id LIMIT ?`;

/** What started after a place of the ledger and works outside the workspace: session, position, rows. */
export const NOT_UNDONE = `SELECT event_id, group_id, tool_call_id, COALESCE(side_effect_class, 'unknown') AS side_effect_class
FROM action_events WHERE root_frame_id = ? AND position > ? AND type = 'started'
  AND COALESCE(side_effect_class, 'unknown') NOT IN ('none', 'read', 'read_only', 'workspace_write')
ORDER BY position LIMIT ?`;
