const COLUMNS = 'ticket_id, root_frame_id, number, owner, reason, state, queued_at, held_at, lease_until';
export const NEXT_TICKET_NUMBER = `UPDATE sessions SET ticket_counter = ticket_counter + 1
WHERE root_frame_id = ? AND tenant_id = ? AND deleting_at IS NULL RETURNING ticket_counter`;
export const COUNT_TICKETS = `SELECT COUNT(*) AS waiting FROM session_tickets WHERE root_frame_id = ?`;
export const INSERT_TICKET = `INSERT INTO session_tickets (ticket_id, root_frame_id, number, owner, reason, state,
  queued_at, lease_until) VALUES (?, ?, ?, ?, ?, 'queued', ?, ?) RETURNING ${COLUMNS}`;
export const RENEW_TICKET = `UPDATE session_tickets SET lease_until = ? WHERE ticket_id = ? RETURNING ${COLUMNS}`;
export const DROP_DEAD_TICKETS = `DELETE FROM session_tickets
WHERE root_frame_id = ? AND lease_until <= ? AND ticket_id <> ?`;
export const HOLD_TICKET = `UPDATE session_tickets AS mine SET state = 'held', held_at = ?
WHERE ticket_id = ? AND state = 'queued' AND NOT EXISTS (
  SELECT 1 FROM session_tickets other WHERE other.root_frame_id = mine.root_frame_id AND other.number < mine.number)
RETURNING ${COLUMNS}`;
export const HELD_TICKET = `SELECT 1 AS held FROM session_tickets WHERE ticket_id = ? AND state = 'held'`;
export const DROP_TICKET = `DELETE FROM session_tickets WHERE ticket_id = ?`;
export const LIST_TICKETS = `SELECT ${COLUMNS.replaceAll(/\w+/g, 't.$&')} FROM session_tickets t JOIN sessions s ON s.root_frame_id = t.root_frame_id
WHERE t.root_frame_id = ? AND s.tenant_id = ? ORDER BY t.number`;
