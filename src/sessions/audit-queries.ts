const MESSAGE = `m.message_id, m.role AS m_role, m.content AS m_content, m.metadata AS m_metadata,
  m.created_at AS m_created_at`;

/** Each group with its message: session, position after which, rows. */
export const AUDIT_GROUPS = `SELECT g.*, ${MESSAGE} FROM action_groups g
LEFT JOIN messages m ON m.group_id = g.group_id AND m.event_id IS NULL
WHERE g.root_frame_id = ? AND g.position > ? ORDER BY g.position LIMIT ?`;

/** Each event with its message: session, position after which, rows. */
export const AUDIT_EVENTS = `SELECT e.*, ${MESSAGE} FROM action_events e
LEFT JOIN messages m ON m.event_id = e.event_id
WHERE e.root_frame_id = ? AND e.position > ? ORDER BY e.position LIMIT ?`;

/**
 * Messages that name no line, one that is not there, or one of another session or branch: session, whether messages may
 * have come without lines, rows.
 */
export const AUDIT_ORPHANS = `SELECT m.message_id FROM messages m
LEFT JOIN action_groups g ON g.group_id = m.group_id LEFT JOIN action_events e ON e.event_id = m.event_id
WHERE m.root_frame_id = ? AND CASE WHEN m.group_id IS NULL THEN NOT ?
  ELSE g.group_id IS NULL OR g.root_frame_id <> m.root_frame_id OR g.branch_id <> m.branch_id
    OR (m.event_id IS NOT NULL AND e.group_id IS NOT m.group_id) END
ORDER BY m.seq LIMIT ?`;

/** Messages that stand behind one whose line is later than theirs: session, rows. */
export const AUDIT_DISORDER = `SELECT message_id FROM (
  SELECT m.message_id, m.seq, COALESCE(e.position, g.position) AS at,
    LAG(COALESCE(e.position, g.position)) OVER (ORDER BY m.seq) AS before
  FROM messages m JOIN action_groups g ON g.group_id = m.group_id LEFT JOIN action_events e ON e.event_id = m.event_id
  WHERE m.root_frame_id = ? AND (m.event_id IS NULL OR e.event_id IS NOT NULL))
WHERE at < before ORDER BY seq LIMIT ?`;

/** The ids of a tenant's sessions, newest first: tenant, id before which, rows. */
export const AUDIT_SESSIONS = `SELECT root_frame_id FROM sessions
WHERE tenant_id = ? AND root_frame_id < ? ORDER BY root_frame_id DESC LIMIT ?`;
