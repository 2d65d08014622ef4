const FIRST_COLUMNS = 'trace_id, mode';
const CHANGING_COLUMNS = `task, model, uid, context, status, error_message, head_sequence, last_sequence, last_event_id,
  total_messages, total_prompt_tokens`;
const TRACE_COLUMNS = `${FIRST_COLUMNS}, ${CHANGING_COLUMNS}, created_at AS created_at_ms, updated_at AS updated_at_ms`;

/** A trace of the trace store: runs of the composed system, which stand in a session, are not its to read or change. */
const OWN = 'tenant_id = ? AND project_id = ? AND root_frame_id IS NULL';

/**
 * tenant, project, trace, mode, the changing columns, created and updated, when it finished or null. Lands on nothing
 * where the id is taken.
 */
export const INSERT_TRACE = `
INSERT INTO traces (tenant_id, project_id, ${FIRST_COLUMNS}, ${CHANGING_COLUMNS}, created_at, updated_at, finished_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (trace_id) DO NOTHING`;

/** tenant, project, trace. */
export const TRACE = `SELECT ${TRACE_COLUMNS} FROM traces WHERE ${OWN} AND trace_id = ?`;

/** tenant, project, after, limit. */
export const PAGE_OF_TRACES = `SELECT ${TRACE_COLUMNS} FROM traces
WHERE ${OWN} AND trace_id > ? ORDER BY trace_id LIMIT ?`;

/** tenant, project, after, statuses as a JSON list, limit. */
export const PAGE_OF_TRACES_IN = `SELECT ${TRACE_COLUMNS} FROM traces
WHERE ${OWN} AND trace_id > ? AND status IN (SELECT value FROM json_each(?)) ORDER BY trace_id LIMIT ?`;

/** As the page of traces; reads the unfinished ones only, by their own index. */
export const PAGE_OF_UNFINISHED = `SELECT ${TRACE_COLUMNS} FROM traces INDEXED BY traces_unfinished
WHERE ${OWN} AND trace_id > ? AND status IN ('running', 'waiting_confirmation') ORDER BY trace_id LIMIT ?`;

/** The changing columns, updated, when it finished or null; then tenant, project, trace. */
export const UPDATE_TRACE = `
UPDATE traces SET (${CHANGING_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), updated_at = ?, finished_at = ?
WHERE ${OWN} AND trace_id = ?`;

/** How many events a trace has, whatever its counter says: a counter may have been set lower. */
const EVENTS = `max(last_event_id,
  (SELECT coalesce(max(e.event_id), 0) FROM trace_events e WHERE e.trace_id = traces.trace_id))`;

/** sequence, prompt tokens, now, tenant, project, trace, most messages. Answers the event's number. */
export const COUNT_MESSAGE = `
UPDATE traces SET total_messages = total_messages + 1, last_sequence = max(last_sequence, ?),
  total_prompt_tokens = total_prompt_tokens + ?, last_event_id = ${EVENTS} + 1, updated_at = max(updated_at, ?)
WHERE ${OWN} AND trace_id = ? AND total_messages < ?
RETURNING last_event_id`;

/** now, tenant, project, trace, most events. Answers the event's number. */
export const COUNT_EVENT = `
UPDATE traces SET last_event_id = ${EVENTS} + 1, updated_at = max(updated_at, ?)
WHERE ${OWN} AND trace_id = ? AND ${EVENTS} < ?
RETURNING last_event_id`;

const MESSAGE_COLUMNS = `trace_id, sequence, role, content, parent_sequence, branch_type, branch_id, prompt_tokens,
  completion_tokens, created_at_ms`;

/** The columns of a message. Lands on nothing where the place is taken. */
export const INSERT_MESSAGE = `
INSERT INTO trace_messages (${MESSAGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (trace_id, sequence) DO NOTHING`;

/** trace, sequence. */
export const MESSAGE = `SELECT ${MESSAGE_COLUMNS} FROM trace_messages WHERE trace_id = ? AND sequence = ?`;

/** trace, after, limit. */
export const PAGE_OF_MESSAGES = `SELECT ${MESSAGE_COLUMNS} FROM trace_messages
WHERE trace_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`;

/** trace, number, type, data, now. */
export const INSERT_EVENT = `
INSERT INTO trace_events (trace_id, event_id, type, data, created_at_ms) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (trace_id, event_id) DO NOTHING`;

/** trace, after, limit. */
export const PAGE_OF_EVENTS = `SELECT event_id, type, data, created_at_ms FROM trace_events
WHERE trace_id = ? AND event_id > ? ORDER BY event_id LIMIT ?`;

/** trace. */
export const GOALS = 'SELECT tree FROM trace_goals WHERE trace_id = ?';

/** trace, tree, now. */
export const PUT_GOALS = `
INSERT INTO trace_goals (trace_id, tree, updated_at_ms) VALUES (?, ?, ?)
ON CONFLICT (trace_id) DO UPDATE SET tree = excluded.tree, updated_at_ms = excluded.updated_at_ms`;

/** trace, name, bytes, digest, now. Lands on nothing where the name is taken. */
export const INSERT_ATTACHMENT = `
INSERT INTO trace_attachments (trace_id, name, bytes, sha256, created_at_ms) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (trace_id, name) DO NOTHING`;

/** trace, name. */
export const ATTACHMENT = 'SELECT bytes, sha256 FROM trace_attachments WHERE trace_id = ? AND name = ?';

/** What is counted: trace, twice. */
export const COUNTED = `
SELECT count(*) AS messages, coalesce(max(sequence), 0) AS last_sequence, coalesce(sum(prompt_tokens), 0) AS tokens,
  (SELECT coalesce(max(event_id), 0) FROM trace_events e WHERE e.trace_id = ?) AS last_event_id
FROM trace_messages m WHERE m.trace_id = ?`;
