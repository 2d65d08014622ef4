const SETTLED = `SELECT 1 FROM effect_records s WHERE s.tenant_id = c.tenant_id AND s.run_id = c.run_id
    AND s.effect_id = c.effect_id AND s.type = 'outcome' AND s.execution <> 'running'`;
const RUNNING = `SELECT 1 FROM effect_records s WHERE s.tenant_id = c.tenant_id AND s.run_id = c.run_id
    AND s.effect_id = c.effect_id AND s.type = 'outcome' AND s.execution = 'running'`;

/** The last position of a run: tenant, run. Within a write transaction nobody else can take the next one. */
export const LAST_POSITION = `SELECT MAX(sequence) AS last FROM effect_records WHERE tenant_id = ? AND run_id = ?`;

// Plain values after a reading: one statement that does both keeps rows aside, and costs twice as much.
/** tenant, run, position, effect, operation, body. Lands on nothing when the effect id is taken. */
export const INSERT_CLAIM = `
INSERT INTO effect_records (tenant_id, run_id, sequence, type, effect_id, operation_id, body)
VALUES (?, ?, ?, 'claim', ?, ?, ?) ON CONFLICT DO NOTHING`;

/**
 * The same at the next position, while the run has room for it: tenant, run, most, tenant, run, effect, operation, body.
 * Lands on nothing where the id is taken or the run is full.
 */
export const CLAIM_NEXT = `
INSERT OR IGNORE INTO effect_records (tenant_id, run_id, sequence, type, effect_id, operation_id, body)
VALUES (?, ?, (SELECT CASE WHEN COALESCE(MAX(sequence), 0) < ? THEN COALESCE(MAX(sequence), 0) + 1 END
  FROM effect_records WHERE tenant_id = ? AND run_id = ?), 'claim', ?, ?, ?)`;

/**
 * How a claimed effect ended, at the next position: tenant, run, tenant, run, effect, effect, execution, impact, body.
 * Lands on nothing where it is settled or nobody has claimed it.
 */
export const SETTLE_NEXT = `
INSERT OR IGNORE INTO effect_records (tenant_id, run_id, sequence, type, effect_id, execution, impact, body)
VALUES (?, ?, (SELECT (SELECT MAX(l.sequence) + 1 FROM effect_records l
    WHERE l.tenant_id = c.tenant_id AND l.run_id = c.run_id)
  FROM effect_records c WHERE c.tenant_id = ? AND c.run_id = ? AND c.effect_id = ? AND c.type = 'claim'),
  'outcome', ?, ?, ?, ?)`;

/** tenant, run, position, effect, execution, impact, body. */
export const INSERT_OUTCOME = `
INSERT INTO effect_records (tenant_id, run_id, sequence, type, effect_id, execution, impact, body)
VALUES (?, ?, ?, 'outcome', ?, ?, ?, ?)`;

/** tenant, run, position, observation, body. Lands on nothing when the observation id is taken. */
export const INSERT_OBSERVATION = `
INSERT INTO effect_records (tenant_id, run_id, sequence, type, observation_id, body)
VALUES (?, ?, ?, 'observation', ?, ?) ON CONFLICT DO NOTHING`;

/** Whether an effect is claimed: tenant, run, effect. */
export const CLAIM_IS_THERE = `SELECT sequence FROM effect_records
WHERE tenant_id = ? AND run_id = ? AND effect_id = ? AND type = 'claim'`;

/** A claimed effect: whether it is settled, and the last position of its run. tenant, run, effect. */
export const CLAIM_STATE = `
SELECT EXISTS (${SETTLED}) AS settled,
  (SELECT MAX(l.sequence) FROM effect_records l WHERE l.tenant_id = c.tenant_id AND l.run_id = c.run_id) AS last
FROM effect_records c WHERE c.tenant_id = ? AND c.run_id = ? AND c.effect_id = ? AND c.type = 'claim'`;

/** tenant, run, observation. */
export const OBSERVATION_IS_THERE = `SELECT sequence FROM effect_records
WHERE tenant_id = ? AND run_id = ? AND observation_id = ? AND type = 'observation'`;

/** The claims of an operation that are not settled yet: tenant, operation. */
export const OPEN_CLAIMS_OF_OPERATION = `
SELECT c.run_id, c.effect_id FROM effect_records c INDEXED BY effect_operations
WHERE c.tenant_id = ? AND c.operation_id = ? AND c.type = 'claim' AND NOT EXISTS (${SETTLED})`;

/** Claims of a run without any outcome, which no operation will settle: tenant, run. */
export const INTERRUPTED_CLAIMS = `
SELECT c.effect_id FROM effect_records c
WHERE c.tenant_id = ? AND c.run_id = ? AND c.type = 'claim' AND c.operation_id IS NULL
  AND NOT EXISTS (${SETTLED}) AND NOT EXISTS (${RUNNING})
ORDER BY c.sequence`;

/** tenant, run, most rows. */
export const RECORDS_OF_RUN = `
SELECT sequence, type, effect_id, observation_id, execution, impact, body FROM effect_records
WHERE tenant_id = ? AND run_id = ? ORDER BY sequence LIMIT ?`;

const CLAIM_WITH_END = `SELECT c.run_id, c.effect_id, c.sequence, c.operation_id, c.body, s.execution, s.impact,
  EXISTS (${RUNNING}) AS running
FROM effect_records c INDEXED BY effect_records_order
LEFT JOIN effect_records s ON s.tenant_id = c.tenant_id AND s.run_id = c.run_id AND s.effect_id = c.effect_id
  AND s.type = 'outcome' AND s.execution <> 'running'`;

/** A page of a tenant's claims with their latest outcome, newest run first: tenant, run, position (before these), limit. */
export const PAGE_OF_CLAIMS = `${CLAIM_WITH_END}
WHERE c.tenant_id = ? AND c.type = 'claim' AND (c.run_id, c.sequence) < (?, ?)
ORDER BY c.run_id DESC, c.sequence DESC LIMIT ?`;

/** As above within one run: tenant, run, position (before this), limit. */
export const PAGE_OF_CLAIMS_OF_RUN = `${CLAIM_WITH_END}
WHERE c.tenant_id = ? AND c.type = 'claim' AND c.run_id = ? AND c.sequence < ?
ORDER BY c.sequence DESC LIMIT ?`;

/** The logs in which an operation was claimed, with their last positions: tenant, operation. */
export const LOOK_STARTS = `
SELECT c.run_id, c.effect_id, (SELECT MAX(l.sequence) FROM effect_records l
  WHERE l.tenant_id = c.tenant_id AND l.run_id = c.run_id) AS last
FROM effect_records c INDEXED BY effect_operations
WHERE c.tenant_id = ? AND c.operation_id = ? AND c.type = 'claim'`;

/** Claims of other effects that were made, or whose effect told something, after a position: tenant, run, tenant, run, position, effect. */
export const CLAIMS_SINCE = `
SELECT c.sequence, c.type, c.effect_id, c.observation_id, c.execution, c.impact, c.body FROM effect_records c
WHERE c.tenant_id = ? AND c.run_id = ? AND c.type = 'claim' AND c.effect_id IN (
  SELECT s.effect_id FROM effect_records s
  WHERE s.tenant_id = ? AND s.run_id = ? AND s.sequence > ? AND s.type <> 'observation' AND s.effect_id <> ?)`;
