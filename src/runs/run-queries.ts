const COLUMNS = `trace_id, tenant_id, project_id, task, model, agent, context, status, error_code, error_message,
  result_text, total_prompt_tokens, total_completion_tokens, turns_used, root_frame_id, branch_id, turn_id, subject_id,
  roles, parent_trace_id, parent_call, total_cost_usd, owner_instance_id, stop_requested_at, created_at, updated_at,
  finished_at`;

/** trace, tenant, project, task, model, agent, context, root, branch, turn, subject, roles, parent and its call, owner, now, now. */
export const INSERT_RUN = `INSERT INTO traces (trace_id, tenant_id, project_id, mode, task, model, agent, context,
  status, root_frame_id, branch_id, turn_id, subject_id, roles, parent_trace_id, parent_call, owner_instance_id,
  created_at, updated_at)
  VALUES (?, ?, ?, 'agent', ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export const SELECT_RUN = `SELECT ${COLUMNS} FROM traces
  WHERE trace_id = ? AND tenant_id = ? AND root_frame_id IS NOT NULL`;

/** root, branch, turn, tenant. A turn has one run at most. */
export const SELECT_RUN_OF_TURN = `SELECT ${COLUMNS} FROM traces
  WHERE root_frame_id = ? AND branch_id = ? AND turn_id = ? AND tenant_id = ?`;

/** tenant, before, limit. Newest first. */
export const LIST_RUNS = `SELECT ${COLUMNS} FROM traces
  WHERE tenant_id = ? AND trace_id < ? AND root_frame_id IS NOT NULL ORDER BY trace_id DESC LIMIT ?`;

/**
 * status, code, message, text, finished, now, trace, owner, status. Only the owner of a running run moves it; one that was
 * asked to stop neither waits nor completes.
 */
export const MOVE_RUN = `UPDATE traces SET status = ?, error_code = ?, error_message = ?, result_text = ?,
  finished_at = ?, owner_instance_id = NULL, updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?
    AND (stop_requested_at IS NULL OR ? IN ('failed', 'stopped'))`;

/** prompt tokens, completion tokens, cost, now, trace, owner. */
export const COUNT_TURN = `UPDATE traces SET turns_used = turns_used + 1,
  total_prompt_tokens = total_prompt_tokens + ?, total_completion_tokens = total_completion_tokens + ?,
  total_cost_usd = total_cost_usd + ?, updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?`;

/**
 * owner, now, trace, tenant, owner, now. A run is taken by whoever resumes it when it waits, has failed, or belongs to
 * nobody living; a stop that was asked for is over once somebody resumes on purpose.
 */
export const TAKE_RUN = `UPDATE traces SET status = 'running', owner_instance_id = ?, error_code = NULL,
  error_message = NULL, finished_at = NULL, stop_requested_at = NULL, updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND tenant_id = ? AND (status IN ('waiting_confirmation', 'failed')
    OR (status = 'running' AND (owner_instance_id IS NULL OR owner_instance_id = ? OR NOT EXISTS (
      SELECT 1 FROM instances i WHERE i.instance_id = traces.owner_instance_id AND i.ended_at_ms IS NULL
        AND i.lease_until_ms > ?))))`;

/** now, trace, tenant. A run that waits, or that nobody living has, stops at once; a live owner is only asked. */
export const ASK_STOP = `UPDATE traces SET stop_requested_at = ?, updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND tenant_id = ? AND status IN ('running', 'waiting_confirmation')`;
/** now, now, trace, tenant. A run that was stopped without anybody's asking for it: that somebody asks is kept once. */
export const KEEP_STOP = `UPDATE traces SET stop_requested_at = ?, updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND tenant_id = ? AND status = 'stopped' AND stop_requested_at IS NULL`;

/** finished, now, trace, tenant, now. */
export const STOP_UNOWNED = `UPDATE traces SET status = 'stopped', finished_at = ?, owner_instance_id = NULL,
  updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND tenant_id = ? AND (status = 'waiting_confirmation' OR (status = 'running'
    AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = traces.owner_instance_id
      AND i.ended_at_ms IS NULL AND i.lease_until_ms > ?)))`;

export const IS_STOP_ASKED = `SELECT stop_requested_at FROM traces WHERE trace_id = ? AND stop_requested_at IS NOT NULL`;

/** owner, now, trace. How a run stands for a process that has begun it: asked to stop, and held by it, which lives. */
export const STANDING_OF_OWN = `SELECT stop_requested_at IS NOT NULL AS asked,
  status = 'running' AND owner_instance_id = ? AND EXISTS (SELECT 1 FROM instances i
    WHERE i.instance_id = traces.owner_instance_id AND i.ended_at_ms IS NULL AND i.lease_until_ms > ?) AS held
  FROM traces WHERE trace_id = ?`;

/** trace, owner. */
export const STOP_OF_OWN = `SELECT stop_requested_at FROM traces
  WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?`;

const OF_THE_DEAD = `status = 'running' AND root_frame_id IS NOT NULL AND owner_instance_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM instances i WHERE i.instance_id = traces.owner_instance_id
      AND i.ended_at_ms IS NULL AND i.lease_until_ms > ?)`;

/** now, after, limit. Runs whose owner is dead. Reads the unfinished ones only, by their own index. */
export const LIST_ORPHANS = `SELECT ${COLUMNS} FROM traces INDEXED BY traces_unfinished
  WHERE status IN ('running', 'waiting_confirmation') AND ${OF_THE_DEAD} AND trace_id > ?
  ORDER BY trace_id LIMIT ?`;

/** trace, now. Whether the run still belongs to a process that is dead. */
export const IS_ORPHAN = `SELECT 1 FROM traces WHERE trace_id = ? AND ${OF_THE_DEAD}`;

/** tenant, after, limit. Every run of a tenant, oldest first, to be proved. */
export const AUDIT_RUNS = `SELECT ${COLUMNS} FROM traces
  WHERE tenant_id = ? AND trace_id > ? AND root_frame_id IS NOT NULL ORDER BY trace_id LIMIT ?`;

/** status, code, message, now, trace, dead owner. */
export const RELEASE_ORPHAN = `UPDATE traces SET status = ?, error_code = ?, error_message = ?,
  owner_instance_id = NULL, updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?`;

/** finished, now, trace, dead owner. */
export const END_ORPHAN = `UPDATE traces SET status = 'stopped', finished_at = ?, owner_instance_id = NULL,
  updated_at = max(updated_at, ?) WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?`;

/** after, limit. Runs of their own that wait, of every tenant, by the index of unfinished ones. */
export const LIST_WAITING = `SELECT ${COLUMNS} FROM traces INDEXED BY traces_unfinished
  WHERE status IN ('running', 'waiting_confirmation') AND status = 'waiting_confirmation' AND trace_id > ?
  AND (parent_trace_id IS NULL OR parent_call GLOB 'follow-up/*') AND root_frame_id IS NOT NULL
  ORDER BY trace_id LIMIT ?`;

/** trace, now. Whether a living process carries the run out. */
export const IS_CARRIED = `SELECT 1 FROM traces WHERE trace_id = ? AND status = 'running' AND EXISTS (
  SELECT 1 FROM instances i WHERE i.instance_id = traces.owner_instance_id AND i.ended_at_ms IS NULL
    AND i.lease_until_ms > ?)`;

/** now, trace, owner. Changes one row where the run is this process's. */
export const TOUCH_OWNED = `UPDATE traces SET updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?`;

/** now, trace, owner. A run that this process could not carry on belongs to nobody. */
export const LET_GO = `UPDATE traces SET owner_instance_id = NULL, updated_at = max(updated_at, ?)
  WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?`;

/** context, model, trace, owner. What a run of this process goes on under from now. */
export const ADOPT_CONFIG = `UPDATE traces SET context = ?, model = ?
  WHERE trace_id = ? AND status = 'running' AND owner_instance_id = ?`;

/** The run and all below it, each once, also where rows were written as each above the other: trace, tenant. */
const TREE = `WITH RECURSIVE tree (id) AS (
  SELECT trace_id FROM traces WHERE trace_id = ? AND tenant_id = ?
  UNION SELECT c.trace_id FROM traces c JOIN tree ON c.parent_trace_id = tree.id)`;

/** trace, tenant. What the run and all below it have spent. */
export const SPENT_BY_TREE = `${TREE}
SELECT sum(total_prompt_tokens + total_completion_tokens) AS tokens, sum(total_cost_usd) AS cost
FROM traces WHERE trace_id IN (SELECT id FROM tree)`;

/** trace, tenant. */
export const SIZE_OF_TREE = `${TREE} SELECT count(*) AS runs FROM tree`;

/** trace, tenant, limit. The run itself comes first. */
export const LIST_TREE = `${TREE}
SELECT ${COLUMNS} FROM traces WHERE trace_id IN (SELECT id FROM tree) AND root_frame_id IS NOT NULL
ORDER BY trace_id LIMIT ?`;

/** The runs of a session, and all below them: root. */
const TREES_OF_SESSION = `WITH RECURSIVE tree (id) AS (
  SELECT trace_id FROM traces WHERE root_frame_id = ?
  UNION SELECT c.trace_id FROM traces c JOIN tree ON c.parent_trace_id = tree.id)`;

/** root, now. One of them that a living process carries out. */
export const UNDER_WAY_OF_SESSION = `${TREES_OF_SESSION}
SELECT trace_id FROM traces WHERE trace_id IN (SELECT id FROM tree) AND status = 'running'
  AND EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = traces.owner_instance_id
    AND i.ended_at_ms IS NULL AND i.lease_until_ms > ?) LIMIT 1`;

/** root, root. Those that have not ended and stand in other sessions. */
export const UNENDED_BELOW_SESSION = `${TREES_OF_SESSION}
SELECT ${COLUMNS} FROM traces WHERE trace_id IN (SELECT id FROM tree) AND root_frame_id <> ?
  AND status IN ('running', 'waiting_confirmation') ORDER BY trace_id`;

/** parent, call, tenant. */
export const SELECT_CHILD = `SELECT ${COLUMNS} FROM traces
  WHERE parent_trace_id = ? AND parent_call = ? AND tenant_id = ? AND root_frame_id IS NOT NULL`;
