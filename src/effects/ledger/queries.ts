/** The next position of a run; within a write transaction nobody else can take it. */
const NEXT = `COALESCE((SELECT MAX(r.sequence) FROM effect_records r
    WHERE r.tenant_id = new.tenant_id AND r.run_id = new.run_id), 0) + 1`;

const SETTLED = `SELECT 1 FROM effect_records s WHERE s.tenant_id = c.tenant_id AND s.run_id = c.run_id
    AND s.effect_id = c.effect_id AND s.type = 'outcome' AND s.execution <> 'running'`;
const RUNNING = `SELECT 1 FROM effect_records s WHERE s.tenant_id = c.tenant_id AND s.run_id = c.run_id
    AND s.effect_id = c.effect_id AND s.type = 'outcome' AND s.execution = 'running'`;

/**
 * tenant, run, effect, operation, body, most records. Answers the position; lands on nothing when the effect id is
 * taken or the run is full.
 */
export const INSERT_CLAIM = `
WITH new (tenant_id, run_id, effect_id, operation_id, body, most) AS (VALUES (?, ?, ?, ?, ?, ?))
INSERT INTO effect_records (tenant_id, run_id, sequence, type, effect_id, operation_id, body)
SELECT new.tenant_id, new.run_id, ${NEXT}, 'claim', new.effect_id, new.operation_id, new.body FROM new
WHERE ${NEXT} <= new.most AND NOT EXISTS (SELECT 1 FROM effect_records c WHERE c.tenant_id = new.tenant_id
  AND c.run_id = new.run_id AND c.effect_id = new.effect_id AND c.type = 'claim')
RETURNING sequence`;

/**
 * tenant, run, effect, execution, impact, body, most records. Lands when the claim is there and not settled; progress
 * (`running`) also needs room, an ending always finds some.
 */
export const INSERT_OUTCOME = `
WITH new (tenant_id, run_id, effect_id, execution, impact, body, most) AS (VALUES (?, ?, ?, ?, ?, ?, ?))
INSERT INTO effect_records (tenant_id, run_id, sequence, type, effect_id, execution, impact, body)
SELECT new.tenant_id, new.run_id, ${NEXT}, 'outcome', new.effect_id, new.execution, new.impact, new.body
FROM new JOIN effect_records c ON c.tenant_id = new.tenant_id AND c.run_id = new.run_id
  AND c.effect_id = new.effect_id AND c.type = 'claim'
WHERE NOT EXISTS (${SETTLED}) AND (new.execution <> 'running' OR ${NEXT} <= new.most)
RETURNING sequence`;

/** tenant, run, observation, body, most records. */
export const INSERT_OBSERVATION = `
WITH new (tenant_id, run_id, observation_id, body, most) AS (VALUES (?, ?, ?, ?, ?))
INSERT INTO effect_records (tenant_id, run_id, sequence, type, observation_id, body)
SELECT new.tenant_id, new.run_id, ${NEXT}, 'observation', new.observation_id, new.body FROM new
WHERE ${NEXT} <= new.most AND NOT EXISTS (SELECT 1 FROM effect_records o WHERE o.tenant_id = new.tenant_id
  AND o.run_id = new.run_id AND o.observation_id = new.observation_id AND o.type = 'observation')
RETURNING sequence`;

/** Whether an effect is claimed, and whether it is settled: tenant, run, effect. */
export const CLAIM_STATE = `
SELECT EXISTS (${SETTLED}) AS settled FROM effect_records c
WHERE c.tenant_id = ? AND c.run_id = ? AND c.effect_id = ? AND c.type = 'claim'`;

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

/** A page of a tenant's claims with their latest outcome, newest first: tenant, run, effect (before these), limit. */
export const PAGE_OF_CLAIMS = `
SELECT c.run_id, c.effect_id, c.sequence, c.operation_id, c.body, s.execution, s.impact,
  EXISTS (${RUNNING}) AS running
FROM effect_records c
LEFT JOIN effect_records s ON s.tenant_id = c.tenant_id AND s.run_id = c.run_id AND s.effect_id = c.effect_id
  AND s.type = 'outcome' AND s.execution <> 'running'
WHERE c.tenant_id = ? AND c.type = 'claim' AND (c.run_id, c.effect_id) < (?, ?)
ORDER BY c.run_id DESC, c.effect_id DESC LIMIT ?`;

/** As above within one run: tenant, run, effect (before this), limit. */
export const PAGE_OF_CLAIMS_OF_RUN = `
SELECT c.run_id, c.effect_id, c.sequence, c.operation_id, c.body, s.execution, s.impact,
  EXISTS (${RUNNING}) AS running
FROM effect_records c
LEFT JOIN effect_records s ON s.tenant_id = c.tenant_id AND s.run_id = c.run_id AND s.effect_id = c.effect_id
  AND s.type = 'outcome' AND s.execution <> 'running'
WHERE c.tenant_id = ? AND c.type = 'claim' AND c.run_id = ? AND c.effect_id < ?
ORDER BY c.effect_id DESC LIMIT ?`;
