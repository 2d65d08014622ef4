/** Rows of `session_settings` whose presence alone stops new work, whatever their value. */
export const QUARANTINE_PREFIX = 'session:import-quarantine:';
export const REVERT_MARKER_PREFIX = 'session:revert-recovery:';

const present = (prefix: string, root: string): string =>
  `EXISTS (SELECT 1 FROM session_settings WHERE root_frame_id = ${root}
   AND key >= '${prefix}' AND key < '${prefix.slice(0, -1)};')`;

/** True while the session named by the SQL expression `root` is quarantined. */
export const quarantined = (root: string): string => present(QUARANTINE_PREFIX, root);
/** True while a revert of that session waits to be finished. */
export const reverting = (root: string): string => present(REVERT_MARKER_PREFIX, root);

const nextPosition = (root: string): string => `1 + MAX(
  COALESCE((SELECT MAX(position) FROM action_events WHERE root_frame_id = ${root}), 0),
  COALESCE((SELECT MAX(position) FROM action_groups WHERE root_frame_id = ${root}), 0))`;

/** The next `number` of a table's rows within one session. */
export const nextNumber = (table: string, root: string): string =>
  `(SELECT COALESCE(MAX(number) + 1, 1) FROM ${table} WHERE root_frame_id = ${root})`;

/** The pen: no ticket asked for, or a ticket that is held and whose lease has not ended. Parameters: ticket, ticket, now. */
const holdsPen = (root: string): string => `(? IS NULL OR EXISTS (SELECT 1 FROM session_tickets
  WHERE ticket_id = ? AND root_frame_id = ${root} AND state = 'held' AND lease_until > ?))`;

const placeIn = (root: string): string => `${nextPosition(root)} AS position, ${holdsPen(root)} AS has_pen,
  ${quarantined(root)} AS quarantined, ${reverting(root)} AS reverting`;

/**
 * Where the next group of a branch stands. Parameters: ticket, ticket, now, branch, root, tenant. Reading it first and
 * inserting plain values costs a third of one statement that does both: SQLite keeps no table aside for it.
 */
export const GROUP_PLACE = `SELECT b.root_frame_id, b.branch_id, ${placeIn('b.root_frame_id')},
  (SELECT COALESCE(MAX(ordinal) + 1, 0) FROM action_groups WHERE branch_id = b.branch_id) AS number
FROM session_branches b JOIN sessions s ON s.root_frame_id = b.root_frame_id
WHERE b.branch_id = ? AND b.root_frame_id = ? AND s.tenant_id = ?`;
const nextMessage = (root: string): string =>
  `(SELECT COALESCE(MAX(seq) + 1, 1) FROM messages WHERE root_frame_id = ${root})`;
const eventPlace = (
  more: string,
): string => `SELECT g.root_frame_id, g.branch_id, ${placeIn('g.root_frame_id')}, ${more}
  (SELECT COALESCE(MAX(sequence) + 1, 0) FROM action_events WHERE group_id = g.group_id) AS number
FROM action_groups g JOIN sessions s ON s.root_frame_id = g.root_frame_id
WHERE g.group_id = ? AND s.tenant_id = ?`;
/** Where the next event of a group stands. Parameters: ticket, ticket, now, group, tenant. */
export const EVENT_PLACE = eventPlace('');
/** The same for an event that shows, with the number of its message. */
export const SHOWN_EVENT_PLACE = eventPlace(`${nextMessage('g.root_frame_id')} AS message_seq,`);

export const INSERT_GROUP = `
INSERT INTO action_groups (group_id, root_frame_id, branch_id, turn_id, ordinal, position, kind, provider, model,
  wire_state, assistant_content, assistant_message, usage, cost_usd, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const INSERT_EVENT = `
INSERT INTO action_events (event_id, group_id, root_frame_id, sequence, position, type, action_id, tool_call_id,
  wire_id, canonical_arguments, raw_arguments, result, side_effect_class, resource_keys, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Why an insert into the ledger found no place: branch or null, group or null, tenant. */
export const WHY_REFUSED = `
SELECT b.branch_id, ${quarantined('b.root_frame_id')} AS quarantined, ${reverting('b.root_frame_id')} AS reverting
FROM session_branches b JOIN sessions s ON s.root_frame_id = b.root_frame_id
WHERE b.branch_id = COALESCE(?, (SELECT branch_id FROM action_groups WHERE group_id = ?)) AND s.tenant_id = ?`;

export const NEXT_MESSAGE = `SELECT ${nextMessage('?')} AS seq`;
export const INSERT_MESSAGE = `
INSERT INTO messages (message_id, root_frame_id, branch_id, seq, role, content, metadata, group_id, event_id, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export const SEAL_GROUP = `UPDATE action_groups SET sealed_at = ? WHERE group_id = ? AND sealed_at IS NULL`;

const SESSION_COLUMNS = `s.root_frame_id, s.tenant_id, s.project_id, s.kind, s.origin, s.name, s.task_summary,
  s.attributes, s.active_branch_id, s.created_at, s.updated_at, ${quarantined('s.root_frame_id')} AS quarantined`;

/** A session is only made in a project of the asker's tenant. */
export const INSERT_SESSION = `
WITH p (id, kind, origin, name, summary, attributes, at) AS (VALUES (?, ?, ?, ?, ?, ?, ?))
INSERT INTO sessions (root_frame_id, tenant_id, project_id, kind, origin, name, task_summary, attributes,
  active_branch_id, created_at, updated_at)
SELECT p.id, j.tenant_id, j.project_id, p.kind, p.origin, p.name, p.summary, p.attributes, p.id, p.at, p.at
FROM p JOIN projects j ON j.project_id = ? AND j.tenant_id = ?`;
export const ID_TAKEN = `SELECT 1 AS taken FROM session_branches WHERE branch_id = ?`;
export const INSERT_BRANCH = `
INSERT INTO session_branches (branch_id, root_frame_id, parent_branch_id, base_checkpoint_id, head_checkpoint_id, name,
  created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
export const SELECT_SESSION = `SELECT ${SESSION_COLUMNS} FROM sessions s WHERE s.root_frame_id = ? AND s.tenant_id = ?`;
export const HAS_SESSION = `SELECT 1 AS found FROM sessions WHERE root_frame_id = ? AND tenant_id = ?`;
export const LIST_SESSIONS = `SELECT ${SESSION_COLUMNS} FROM sessions s
WHERE s.tenant_id = ? AND s.root_frame_id < ? ORDER BY s.root_frame_id DESC LIMIT ?`;
const BRANCH_COLUMNS = `b.branch_id, b.root_frame_id, b.parent_branch_id, b.base_checkpoint_id, b.head_checkpoint_id,
  b.name, b.created_at, b.updated_at`;
export const SELECT_BRANCH = `SELECT ${BRANCH_COLUMNS} FROM session_branches b JOIN sessions s ON s.root_frame_id = b.root_frame_id
WHERE b.branch_id = ? AND b.root_frame_id = ? AND s.tenant_id = ?`;
export const LIST_BRANCHES = `SELECT * FROM session_branches WHERE root_frame_id = ? AND branch_id > ?
ORDER BY branch_id LIMIT ?`;

export const GROUP_COLUMNS = `g.group_id, g.root_frame_id, g.branch_id, g.turn_id, g.ordinal, g.position, g.kind,
  g.provider, g.model, g.wire_state, g.assistant_content, g.assistant_message, g.usage, g.cost_usd, g.sealed_at,
  g.created_at`;
export const SELECT_GROUP = `SELECT ${GROUP_COLUMNS} FROM action_groups g JOIN sessions s ON s.root_frame_id = g.root_frame_id
WHERE g.group_id = ? AND s.tenant_id = ?`;
export const HAS_GROUP = `SELECT 1 AS found FROM action_groups g JOIN sessions s ON s.root_frame_id = g.root_frame_id
WHERE g.group_id = ? AND s.tenant_id = ?`;
export const LIST_GROUPS = `SELECT ${GROUP_COLUMNS} FROM action_groups g
WHERE g.root_frame_id = ? AND g.position > ? ORDER BY g.position LIMIT ?`;
export const EVENT_COLUMNS = `e.event_id, e.group_id, e.root_frame_id, e.sequence, e.position, e.type, e.action_id,
  e.tool_call_id, e.wire_id, e.canonical_arguments, e.raw_arguments, e.result, e.side_effect_class, e.resource_keys,
  e.created_at`;
export const LIST_GROUP_EVENTS = `SELECT ${EVENT_COLUMNS} FROM action_events e WHERE e.group_id = ? AND e.sequence > ?
ORDER BY e.sequence LIMIT ?`;
export const LIST_EVENTS = `SELECT ${EVENT_COLUMNS} FROM action_events e WHERE e.root_frame_id = ? AND e.position > ?
ORDER BY e.position LIMIT ?`;
export const LIST_MESSAGES = `SELECT * FROM messages WHERE root_frame_id = ? AND seq > ? ORDER BY seq LIMIT ?`;
export const LIST_TURNS = `SELECT turn_id, MIN(branch_id) AS branch_id, COUNT(*) AS groups,
  MIN(position) AS first_position, MAX(position) AS last_position, MIN(created_at) AS started_at
FROM action_groups WHERE root_frame_id = ? GROUP BY turn_id HAVING MIN(position) > ?
ORDER BY first_position LIMIT ?`;

export const GET_SETTING = `SELECT value, updated_at FROM session_settings WHERE root_frame_id = ? AND key = ?`;
export const PUT_SETTING = `INSERT INTO session_settings (root_frame_id, key, value, updated_at) VALUES (?, ?, ?, ?)
ON CONFLICT (root_frame_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`;
export const DROP_SETTING = `DELETE FROM session_settings WHERE root_frame_id = ? AND key = ?`;
export const IS_REVERTING = `SELECT ${reverting('s.root_frame_id')} AS reverting FROM sessions s WHERE s.root_frame_id = ?`;
