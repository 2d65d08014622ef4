import { quarantined, reverting } from './queries.ts';

/** Parameters: the columns of `p`, then group and tenant. */
export const INSERT_ATTEMPT = `
WITH p (id, cell, generation, owner, replayed, at) AS (VALUES (?, ?, ?, ?, ?, ?))
INSERT INTO execution_attempts (attempt_id, group_id, root_frame_id, producing_cell_id, attempt_ordinal, state_revision,
  generation_id, owner_instance_id, allocated_at, replayed_from_cell_id)
SELECT p.id, g.group_id, g.root_frame_id, p.cell,
  (SELECT COALESCE(MAX(attempt_ordinal) + 1, 0) FROM execution_attempts WHERE producing_cell_id = p.cell), 1,
  p.generation, p.owner, p.at, p.replayed
FROM p JOIN action_groups g ON g.group_id = ? JOIN sessions s ON s.root_frame_id = g.root_frame_id AND s.tenant_id = ?
WHERE NOT ${quarantined('g.root_frame_id')} AND NOT ${reverting('g.root_frame_id')}
RETURNING *`;

/** Each leaves the milestone before it. */
const mark = (column: string, before: string): string => `UPDATE execution_attempts
SET ${column} = ?, state_revision = state_revision + 1
WHERE attempt_id = ? AND finished_at IS NULL AND ${column} IS NULL AND ${before} IS NOT NULL RETURNING *`;
export const MARK = {
  started: mark('started_at', 'allocated_at'),
  response: mark('response_at', 'started_at'),
  capture: mark('capture_at', 'response_at'),
} as const;

/** Leaves any state but finished. */
export const FINISH_ATTEMPT = `UPDATE execution_attempts
SET finished_at = ?, terminal_state = ?, error = ?, state_revision = state_revision + 1
WHERE attempt_id = ? AND finished_at IS NULL RETURNING *`;
export const SELECT_ATTEMPT = `SELECT a.* FROM execution_attempts a JOIN sessions s ON s.root_frame_id = a.root_frame_id
WHERE a.attempt_id = ? AND s.tenant_id = ?`;
export const LIST_ATTEMPTS = `SELECT * FROM execution_attempts WHERE group_id = ? ORDER BY attempt_ordinal, attempt_id`;
export const ABANDON_ATTEMPTS = `UPDATE execution_attempts
SET finished_at = ?, terminal_state = 'abandoned', state_revision = state_revision + 1
WHERE finished_at IS NULL AND owner_instance_id IS NOT ?
  AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = execution_attempts.owner_instance_id
    AND i.ended_at_ms IS NULL AND i.lease_until_ms > ?)
  AND (SELECT sealed_at FROM action_groups g WHERE g.group_id = execution_attempts.group_id) IS NULL`;
