const MESSAGE = 'm.message_id, m.role AS m_role, m.content AS m_content, m.metadata AS m_metadata';

/** Each group with its message: session, position after which, rows. */
export const AUDIT_GROUPS = `SELECT g.*, ${MESSAGE} FROM action_groups g
LEFT JOIN messages m ON m.group_id = g.group_id AND m.event_id IS NULL
WHERE g.root_frame_id = ? AND g.position > ? ORDER BY g.position LIMIT ?`;

/** Each event with its message: session, position after which, rows. */
export const AUDIT_EVENTS = `SELECT e.*, ${MESSAGE} FROM action_events e
LEFT JOIN messages m ON m.event_id = e.event_id
WHERE e.root_frame_id = ? AND e.position > ? ORDER BY e.position LIMIT ?`;

/** Messages that name a line of another session. */
export const AUDIT_ORPHANS = `SELECT m.message_id FROM messages m JOIN action_groups g ON g.group_id = m.group_id
WHERE m.root_frame_id = ? AND (g.root_frame_id <> m.root_frame_id OR g.branch_id <> m.branch_id) LIMIT ?`;

/** The ids of a tenant's sessions, newest first: tenant, id before which, rows. */
export const AUDIT_SESSIONS = `SELECT root_frame_id FROM sessions
WHERE tenant_id = ? AND root_frame_id < ? ORDER BY root_frame_id DESC LIMIT ?`;
