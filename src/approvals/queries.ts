export const INSERT_REQUEST = `
INSERT INTO permission_requests (decision_id, tenant_id, root_frame_id, frame_id, project_id, branch_id, turn_id,
  action_group_id, action_id, tool_call_id, run_id, tool, tool_revision, target, side_effect_class, resource_keys,
  payload, dangerous, canonical_arguments, canonical_arguments_sha256, action_digest, request_sha256, policy_revision,
  requested_by, approver, editable, reason, created_at, expires_at, supersedes, state, scope, message,
  resolution_context, resolved_at, resolved_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`;

/** The place of a call in the ledger, for a request about it: group, tenant. */
export const SELECT_PLACE = `SELECT g.root_frame_id, g.branch_id, g.turn_id,
  (SELECT COUNT(*) FROM permission_requests r WHERE r.action_group_id = g.group_id) AS requests
FROM action_groups g JOIN sessions s ON s.root_frame_id = g.root_frame_id WHERE g.group_id = ? AND s.tenant_id = ?`;

/** What a stored request is read from. */
const COLUMNS = `decision_id, tenant_id, root_frame_id, frame_id, project_id, branch_id, turn_id, action_group_id, action_id,
  tool_call_id, run_id, tool, tool_revision, target, side_effect_class, resource_keys, dangerous, canonical_arguments,
  canonical_arguments_sha256, action_digest, request_sha256, policy_revision, requested_by, approver, editable, reason,
  created_at, expires_at, supersedes, state, scope, message, resolved_at, resolved_by, superseded_by, consumed_at,
  consumed_by, revoked_at, revoked_reason`;

export const SELECT_REQUEST = `SELECT ${COLUMNS} FROM permission_requests WHERE decision_id = ? AND tenant_id = ?`;
export const SELECT_EDITED_FROM = `SELECT p.canonical_arguments FROM permission_requests r
JOIN permission_requests p ON p.decision_id = r.supersedes WHERE r.decision_id = ? AND r.tenant_id = ?`;
// The last one that was written, not the one of the highest id: ids tell the clock of whoever made them.
export const SELECT_LATEST = `SELECT ${COLUMNS} FROM permission_requests WHERE action_group_id = ? AND action_id = ? AND tenant_id = ?
ORDER BY rowid DESC LIMIT 1`;
export const LIST_REQUESTS = `SELECT ${COLUMNS} FROM permission_requests WHERE tenant_id = ? AND decision_id < ?
ORDER BY decision_id DESC LIMIT ?`;
export const LIST_PENDING = `SELECT ${COLUMNS} FROM permission_requests WHERE tenant_id = ? AND state = 'pending'
AND decision_id > ? ORDER BY decision_id LIMIT ?`;
export const COUNT_GROUP_REQUESTS = `SELECT count(*) AS requests FROM permission_requests
  WHERE action_group_id = ? AND tenant_id = ?`;
/** In the order in which they were written. */
export const LIST_GROUP_REQUESTS = `SELECT ${COLUMNS} FROM permission_requests WHERE action_group_id = ? AND tenant_id = ?
ORDER BY rowid`;

/** The groups of a run that have a request, newest first: tenant, run, the group before, rows. */
export const LIST_BATCHES_OF_RUN = `SELECT DISTINCT action_group_id FROM permission_requests
WHERE tenant_id = ? AND run_id = ? AND action_group_id < ? ORDER BY action_group_id DESC LIMIT ?`;
export const IS_BATCH_OF_RUN = `SELECT 1 AS is_batch FROM permission_requests
WHERE tenant_id = ? AND run_id = ? AND action_group_id = ? LIMIT 1`;

/** Leaves `pending`. */
export const RESOLVE = `UPDATE permission_requests SET state = ?, scope = ?, message = ?, resolution_context = ?,
  resolved_at = ?, resolved_by = ?, superseded_by = ? WHERE decision_id = ? AND state = 'pending'`;

const UNUSED = `state = 'allowed' AND consumed_at IS NULL AND revoked_at IS NULL`;

/** Leaves `allowed and unused`. */
export const REVOKE = `UPDATE permission_requests SET revoked_at = ?, revoked_reason = ?
WHERE decision_id = ? AND ${UNUSED}`;

/** Leaves `allowed and unused` for exactly the call that was approved, before its expiry. */
export const CONSUME = `UPDATE permission_requests SET consumed_at = ?, consumed_by = ?
WHERE decision_id = ? AND tenant_id = ? AND ${UNUSED} AND (expires_at IS NULL OR expires_at > ?)
  AND run_id IS ? AND action_group_id = ? AND tool_call_id IS ? AND tool = ? AND tool_revision = ?
  AND canonical_arguments_sha256 = ? AND policy_revision = ?
RETURNING ${COLUMNS}`;

/** Its group takes lines. Of a sealed one nothing begins any more: what was allowed there and not used stays as it is. */
const IN_OPEN_GROUP = `NOT EXISTS (SELECT 1 FROM action_groups g
  WHERE g.group_id = permission_requests.action_group_id AND g.sealed_at IS NOT NULL)`;
/** Holds something up, or could still give authority. */
const OPEN = `(state = 'pending' OR (${UNUSED})) AND ${IN_OPEN_GROUP}`;

/** What has passed its expiry and is pending, or allowed and unused: now, rows. */
export const LIST_DUE = `SELECT ${COLUMNS} FROM permission_requests WHERE expires_at IS NOT NULL AND expires_at <= ?
AND ${OPEN} ORDER BY expires_at LIMIT ?`;

/** The requests of a run, or of a group, that still hold or could give authority. */
export const LIST_OPEN_OF_RUN = `SELECT ${COLUMNS} FROM permission_requests
WHERE root_frame_id = ? AND run_id = ? AND tenant_id = ? AND ${OPEN} ORDER BY decision_id`;
export const LIST_PENDING_OF_RUN = `SELECT ${COLUMNS} FROM permission_requests
WHERE root_frame_id = ? AND run_id = ? AND tenant_id = ? AND state = 'pending' ORDER BY decision_id`;
export const IS_RUN_WAITING = `SELECT 1 AS waiting FROM permission_requests
WHERE root_frame_id = ? AND run_id = ? AND tenant_id = ? AND state = 'pending' LIMIT 1`;
export const LIST_OPEN_OF_GROUP = `SELECT ${COLUMNS} FROM permission_requests
WHERE action_group_id = ? AND tenant_id = ? AND ${OPEN} ORDER BY decision_id`;

export const PUT_RULE = `
INSERT INTO permission_rules (rule_id, tenant_id, scope, scope_id, tool, pattern, decision, made_by_kind, made_by,
  created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, scope, scope_id, tool, pattern) DO UPDATE SET decision = excluded.decision,
  made_by_kind = excluded.made_by_kind, made_by = excluded.made_by, updated_at = excluded.updated_at
RETURNING *`;
export const DROP_RULE = `DELETE FROM permission_rules WHERE rule_id = ? AND tenant_id = ? RETURNING *`;
export const PAGE_OF_RULES = `SELECT * FROM permission_rules WHERE tenant_id = ? AND rule_id > ?
ORDER BY rule_id LIMIT ?`;
export const LIST_RULES = `SELECT * FROM permission_rules WHERE tenant_id = ? AND scope = ? AND scope_id = ?
ORDER BY tool, pattern LIMIT ?`;
export const LIST_RULES_FOR = `SELECT * FROM permission_rules WHERE tenant_id = ?
AND (scope = 'global' OR (scope = 'project' AND scope_id = ?) OR (scope = 'conversation' AND scope_id = ?)) LIMIT ?`;
/** How many there are beside the one that is made or replaced. */
export const COUNT_OTHER_RULES = `SELECT COUNT(*) AS rules FROM permission_rules
WHERE tenant_id = ? AND NOT (scope = ? AND scope_id = ? AND tool = ? AND pattern = ?)`;
export const OWNS_PROJECT = `SELECT 1 AS owns FROM projects WHERE project_id = ? AND tenant_id = ?`;
export const OWNS_SESSION = `SELECT 1 AS owns FROM sessions WHERE root_frame_id = ? AND tenant_id = ?`;

/** An allow that was given after a restart and not used may be continued once. */
export const ACTIVATE_CONTINUATION = `UPDATE permission_requests SET continuation_required = 1, continuation_expires_at = ?
WHERE decision_id = ? AND tenant_id = ? AND ${UNUSED} AND resolution_context = 'after_restart'
  AND continuation_consumed_at IS NULL`;
/** Leaves an active continuation of exactly this action: it and the permission are used together. */
export const CONSUME_CONTINUATION = `UPDATE permission_requests
SET continuation_required = 0, continuation_consumed_at = ?, consumed_at = ?, consumed_by = ?
WHERE decision_id = (SELECT decision_id FROM permission_requests
  WHERE root_frame_id = ? AND tenant_id = ? AND tool = ? AND target = ? AND action_digest = ? AND ${UNUSED}
    AND continuation_required = 1 AND continuation_expires_at > ? AND (expires_at IS NULL OR expires_at > ?)
  ORDER BY decision_id LIMIT 1)
RETURNING ${COLUMNS}`;
export const REVOKE_CONTINUATIONS = `UPDATE permission_requests
SET continuation_required = 0, continuation_expires_at = NULL
WHERE action_group_id = ? AND continuation_required = 1`;
export const DROP_REQUESTS_OF_SESSION = `DELETE FROM permission_requests WHERE root_frame_id = ?`;
export const DROP_RULES_OF_SESSION = `DELETE FROM permission_rules WHERE scope = 'conversation' AND scope_id = ?`;
export const PENDING_IN_GROUP = `SELECT decision_id FROM permission_requests
WHERE action_group_id = ? AND state = 'pending' LIMIT 1`;
