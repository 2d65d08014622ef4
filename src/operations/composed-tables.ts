import { checkOneOf, type ContextSchema } from '../store/index.ts';
import { LOCAL_RECEIPTS, OPERATIONS, OUTBOX } from './tables.ts';

/**
 * An event's id is made from its payload, which names the operation, so no two rows have one id while no two have one
 * operation; an audit recomputes it. An index over it would put each row of a commit on a page of its own, and those
 * pages were almost a third of all that a dispatch wrote. A ledger of operations alone keeps the contracts' own table.
 */
const COMPOSED_OUTBOX = OUTBOX.replace('event_id TEXT NOT NULL PRIMARY KEY', 'event_id TEXT NOT NULL').replace(
  'operation_pk INTEGER NOT NULL UNIQUE REFERENCES',
  'operation_pk INTEGER PRIMARY KEY REFERENCES',
);

const OUTBOX_BY_OPERATION = `
ALTER TABLE outbox RENAME TO outbox_by_event;
${COMPOSED_OUTBOX}
INSERT INTO outbox SELECT * FROM outbox_by_event ORDER BY operation_pk;
DROP TABLE outbox_by_event;`;

/** As receipts, without what the operation says itself. */
const OTHER_ANSWERS = `
CREATE TABLE operation_other_answers (
  operation_pk INTEGER NOT NULL REFERENCES operations (operation_pk) ON DELETE RESTRICT,
  number INTEGER NOT NULL CHECK (number >= 1),
  receipt_id TEXT NOT NULL,
  downstream_request_id TEXT NOT NULL,
  result_json TEXT NOT NULL,
  producer_revision TEXT NOT NULL,
  resource_revision TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  told_at INTEGER NOT NULL CHECK (told_at >= 0),
  PRIMARY KEY (operation_pk, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER operation_other_answers_never_change BEFORE UPDATE ON operation_other_answers
BEGIN SELECT RAISE(ABORT, 'an answer never changes'); END;
CREATE TRIGGER operation_other_answers_are_kept BEFORE DELETE ON operation_other_answers
BEGIN SELECT RAISE(ABORT, 'an answer is kept'); END;`;

const VERDICTS = `CREATE TABLE operation_verdicts (
  operation_pk INTEGER PRIMARY KEY REFERENCES operations (operation_pk) ON DELETE RESTRICT,
  verdict TEXT NOT NULL CHECK (verdict IN ('done', 'not_done')),
  source TEXT NOT NULL ${checkOneOf('source', 'status_query', 'person', 'tool')},
  decided_by TEXT NOT NULL CHECK (length(decided_by) BETWEEN 1 AND 255),
  reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  decided_at INTEGER NOT NULL CHECK (decided_at >= 0)
) STRICT;
CREATE TRIGGER operation_verdicts_never_change BEFORE UPDATE ON operation_verdicts
BEGIN SELECT RAISE(ABORT, 'a verdict never changes'); END;
CREATE TRIGGER operation_verdicts_are_kept BEFORE DELETE ON operation_verdicts
BEGIN SELECT RAISE(ABORT, 'a verdict is kept'); END;`;

/** A table under another text, with its rows. What its old triggers are called, its new ones are. */
const anew = (table: string, text: string, triggers: readonly string[] = []) => `
ALTER TABLE ${table} RENAME TO ${table}_before;
${triggers.map((trigger) => `DROP TRIGGER ${trigger};`).join('\n')}
${text}
INSERT INTO ${table} SELECT * FROM ${table}_before;
DROP TABLE ${table}_before;`;

/** Long arguments last: whoever looks through status references does not read them. */
const COMPOSED_OPERATIONS = OPERATIONS.replace(
  'status_ref TEXT NOT NULL UNIQUE CHECK',
  'status_ref TEXT NOT NULL CHECK',
)
  .replace('  arguments_json TEXT NOT NULL,\n', '')
  .replace('\n  UNIQUE', '\n  arguments_json TEXT NOT NULL,\n  UNIQUE');
const COLUMNS = [...OPERATIONS.matchAll(/^ {2}(\w+) (?:TEXT|INTEGER)/gm)].map(([, column]) => column).join(', ');

/**
 * A status reference is a digest, so an index over it puts each operation of a commit on a page of its own, and those
 * were almost half of all pages that a dispatch wrote. So the newest operations are looked through for one, and are put
 * in the order of their references a batch at a time. That no two operations have one reference follows from their
 * scopes, which it is made from, and a local receipt's ids are those of a downstream receipt, which are unique: an audit
 * recomputes the one and compares the other. What refers to a table has to be made anew with it.
 */
const REFS_IN_BATCHES = `
ALTER TABLE operations RENAME TO operations_before;
${COMPOSED_OPERATIONS}
INSERT INTO operations (${COLUMNS}) SELECT ${COLUMNS} FROM operations_before ORDER BY operation_pk;
${anew('outbox', COMPOSED_OUTBOX)}
${anew('local_receipts', LOCAL_RECEIPTS.replaceAll('TEXT NOT NULL UNIQUE', 'TEXT NOT NULL'))}
${anew('operation_verdicts', VERDICTS, ['operation_verdicts_never_change', 'operation_verdicts_are_kept'])}
${anew('operation_other_answers', OTHER_ANSWERS, ['operation_other_answers_never_change', 'operation_other_answers_are_kept'])}
DROP TABLE operations_before;
CREATE INDEX operations_unresolved ON operations (tenant_id, subject_id, tool_name, substr(arguments_json, 1, 128))
  WHERE state <> 'succeeded';
CREATE INDEX operations_by_tenant ON operations (tenant_id);
CREATE TABLE operation_status_refs (
  ref BLOB NOT NULL CHECK (length(ref) = 16),
  operation_pk INTEGER NOT NULL,
  PRIMARY KEY (ref, operation_pk)
) STRICT, WITHOUT ROWID;
CREATE TABLE operation_ref_batches (through_pk INTEGER PRIMARY KEY) STRICT;
INSERT INTO operation_status_refs SELECT unhex(substr(status_ref, 8)), operation_pk FROM operations
  WHERE length(unhex(substr(status_ref, 8))) = 16 ORDER BY 1, 2;
INSERT INTO operation_ref_batches SELECT max(operation_pk) FROM operations HAVING max(operation_pk) IS NOT NULL;`;

/**
 * How an unknown outcome was settled without a receipt. Installed where operations are part of the composed system;
 * a database of operations alone has exactly the contracts' tables. One index finds an unresolved twin by its arguments,
 * the other makes a tenant's page of operations independent of how many there are.
 */
export const operationVerdictsSchema: ContextSchema = {
  context: 'operation_verdicts',
  migrations: [
    {
      number: 1,
      name: 'verdicts',
      needs: [{ context: 'operations', number: 1 }],
      sqlite: `
${VERDICTS}
CREATE INDEX operations_unresolved ON operations (tenant_id, subject_id, tool_name, request_sha256)
  WHERE state <> 'succeeded';
CREATE INDEX operations_by_tenant ON operations (tenant_id);`,
    },
    {
      number: 2,
      name: 'unresolved operations by their arguments',
      sqlite: `
DROP INDEX operations_unresolved;
CREATE INDEX operations_unresolved ON operations (tenant_id, subject_id, tool_name, substr(arguments_json, 1, 128))
  WHERE state <> 'succeeded';`,
    },
    {
      number: 3,
      name: 'the outbox in the order of its operations',
      needs: [{ context: 'operations', number: 2 }],
      sqlite: OUTBOX_BY_OPERATION,
      carriesAsFound: true,
    },
    { number: 4, name: 'what other deliveries of one key answered', sqlite: OTHER_ANSWERS },
    { number: 5, name: 'status references put in order in batches', sqlite: REFS_IN_BATCHES, carriesAsFound: true },
  ],
};
