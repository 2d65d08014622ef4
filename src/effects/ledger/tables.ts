import { checkOneOf, type ContextSchema } from '../../store/index.ts';

/** Spelled here as they are stored, whatever the code may call them later. */
const EXECUTIONS = ['not_executed', 'reported_success', 'failed', 'timed_out', 'cancelled', 'running', 'interrupted'];

/**
 * One append-only table: a claim, an outcome or an observation a row, in the run's single order. Columns hold what is
 * looked up or must hold between rows; `body` holds the rest of the record's document, so that nothing stands twice.
 */
const RECORDS = `
CREATE TABLE effect_records (
  tenant_id TEXT NOT NULL CHECK (tenant_id <> ''),
  run_id TEXT NOT NULL CHECK (length(run_id) = 32 AND run_id NOT GLOB '*[^0-9a-f]*'),
  sequence INTEGER NOT NULL CHECK (sequence >= 1),
  type TEXT NOT NULL ${checkOneOf('type', 'claim', 'outcome', 'observation')},
  effect_id TEXT,
  observation_id TEXT,
  operation_id TEXT,
  execution TEXT ${checkOneOf('execution', ...EXECUTIONS)},
  impact TEXT ${checkOneOf('impact', 'none', 'possible', 'changed')},
  body TEXT NOT NULL CHECK (json_valid(body)),
  CHECK ((type = 'observation') = (effect_id IS NULL) AND (type = 'observation') = (observation_id IS NOT NULL)),
  CHECK (type = 'claim' OR operation_id IS NULL),
  CHECK ((type = 'outcome') = (execution IS NOT NULL) AND (type = 'outcome') = (impact IS NOT NULL)),
  CHECK ((impact = 'none') = (execution = 'not_executed'))
) STRICT;

CREATE UNIQUE INDEX effect_records_order ON effect_records (tenant_id, run_id, sequence);
CREATE UNIQUE INDEX effect_claims ON effect_records (tenant_id, run_id, effect_id) WHERE type = 'claim';
CREATE UNIQUE INDEX effect_settled ON effect_records (effect_id, run_id, tenant_id)
  WHERE type = 'outcome' AND execution <> 'running';
CREATE INDEX effect_running ON effect_records (tenant_id, run_id, effect_id)
  WHERE type = 'outcome' AND execution = 'running';
CREATE UNIQUE INDEX effect_observations ON effect_records (tenant_id, run_id, observation_id) WHERE type = 'observation';
CREATE INDEX effect_operations ON effect_records (tenant_id, operation_id)
  WHERE type = 'claim' AND operation_id IS NOT NULL;

CREATE TRIGGER effect_records_never_change BEFORE UPDATE ON effect_records
BEGIN SELECT RAISE(ABORT, 'effect records never change'); END;
CREATE TRIGGER effect_records_never_go BEFORE DELETE ON effect_records
BEGIN SELECT RAISE(ABORT, 'effect records are never deleted'); END;
`;

/**
 * Effect ids are mostly made in the order of time. Claims by run put each run's newest on a page of its own, all of
 * which a commit that many runs share would write; by effect they stand together.
 */
const CLAIMS_IN_ORDER_OF_TIME = `
DROP INDEX effect_claims;
CREATE UNIQUE INDEX effect_claims ON effect_records (effect_id, run_id, tenant_id) WHERE type = 'claim';
`;

/** The ledger's tables; they need no other context's. */
export const effectsSchema: ContextSchema = {
  context: 'effects',
  migrations: [
    { number: 1, name: 'effect records', sqlite: RECORDS },
    { number: 2, name: 'claims in the order of their effects', sqlite: CLAIMS_IN_ORDER_OF_TIME },
  ],
};
