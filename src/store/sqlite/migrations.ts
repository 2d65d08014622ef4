import type { DatabaseSync } from 'node:sqlite';
import { type FaultPoints, fail, HoldfastError } from '../../core/index.ts';
import { migrationDigest, orderSteps, type Step, stepKey } from '../migration-digest.ts';
import type { ContextSchema } from '../migration.ts';
import { resultCode, storeError } from './driver-errors.ts';

/** The store's one table of bookkeeping: `schema_version` for the context that fixes it, else `migration:` keys. */
export const BOOKKEEPING = `CREATE TABLE runtime_metadata (
  metadata_key TEXT PRIMARY KEY,
  metadata_value TEXT NOT NULL
) STRICT`;

const PREFIX = 'migration:';
const VERSION_KEY = 'schema_version';

type Records = ReadonlyMap<string, string>;

function tableNames(database: DatabaseSync): string[] {
  const rows = database.prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'").all();
  return rows.map((row) => String(row['name']));
}

function foreign(cause?: unknown): HoldfastError {
  return fail('STORE_FOREIGN', 'The file is not a database of Holdfast.', { cause });
}

/** What the database says about itself; undefined where it is new and empty. Changes nothing. */
function readRecords(database: DatabaseSync): Records | undefined {
  const tables = tableNames(database);
  if (tables.length === 0) return undefined;
  if (!tables.includes('runtime_metadata')) throw foreign();
  try {
    const rows = database.prepare('SELECT metadata_key AS k, metadata_value AS v FROM runtime_metadata').all();
    return new Map(rows.map((row) => [String(row['k']), String(row['v'])]));
  } catch (error) {
    throw resultCode(error) === 1 ? foreign(error) : error;
  }
}

function checkVersion(records: Records, schemas: readonly ContextSchema[]): void {
  const fixing = schemas.find((schema) => schema.schemaVersion !== undefined);
  const stored = records.get(VERSION_KEY);
  const isMissing = stored === undefined && fixing !== undefined && records.has(stepKey(fixing.context, 1));
  if (!isMissing && (stored === undefined || stored === fixing?.schemaVersion)) return;
  throw fail('STORE_SCHEMA_VERSION', 'The database has another schema version than this build knows.');
}

function recordOf(step: Step): string {
  return `${migrationDigest(step.migration)} ${step.migration.name}`;
}

function checkApplied(records: Records, steps: readonly Step[]): void {
  const keys = [...records.keys()].filter((key) => key.startsWith(PREFIX));
  if (keys.length === 0) throw foreign();
  const known = new Map(steps.map((step) => [stepKey(step.context, step.migration.number), step]));
  if (keys.some((key) => !known.has(key)))
    throw fail('STORE_NEWER', 'The database holds migrations that this build does not know.');
  for (const [key, step] of known) {
    const { context, migration } = step;
    const record = records.get(key);
    const lacks = record === undefined && records.has(stepKey(context, migration.number + 1));
    if (!lacks && (record === undefined || record === recordOf(step))) continue;
    const details = { context, migration: migration.number };
    throw fail('STORE_ALTERED', `Migration ${migration.number} of ${context} is not the one this build knows.`, {
      details,
    });
  }
}

/**
 * The steps that the database still lacks. Reads only, so that a refused file stays as it is.
 * @throws STORE_FOREIGN, STORE_SCHEMA_VERSION, STORE_NEWER, STORE_ALTERED
 */
export function pendingSteps(database: DatabaseSync, schemas: readonly ContextSchema[]): Step[] {
  const steps = orderSteps(schemas);
  const records = readRecords(database);
  if (records === undefined) return steps;
  checkVersion(records, schemas);
  checkApplied(records, steps);
  return steps.filter((step) => !records.has(stepKey(step.context, step.migration.number)));
}

function applyStep(database: DatabaseSync, step: Step): void {
  const { context, migration } = step;
  const { sqlite, carriesAsFound = false } = migration;
  try {
    if (carriesAsFound) database.exec('PRAGMA ignore_check_constraints = ON');
    database.exec(sqlite);
  } catch (cause) {
    throw notApplied(step, cause);
  } finally {
    if (carriesAsFound) database.exec('PRAGMA ignore_check_constraints = OFF');
  }
  if (!database.isTransaction)
    throw fail('INVALID_VALUE', `Migration ${migration.number} of ${context} ended its transaction.`);
  database
    .prepare('INSERT INTO runtime_metadata (metadata_key, metadata_value) VALUES (?, ?)')
    .run(stepKey(context, migration.number), recordOf(step));
}

/** A full disk, damage or a row that a constraint refuses is no fault of the statement, and is told as what it is. */
function notApplied({ context, migration: { number } }: Step, cause: unknown): HoldfastError {
  const error = storeError(cause);
  const [code, why] =
    error instanceof HoldfastError ? [error.code, ` ${error.message}`] : (['STORE_SQL_FAILED', ''] as const);
  const message = `Migration ${number} of ${context} could not be applied.${why}`;
  return fail(code, message, { cause, details: { context, migration: number } });
}

function recordVersion(database: DatabaseSync, schemas: readonly ContextSchema[]): void {
  const version = schemas.find((schema) => schema.schemaVersion !== undefined)?.schemaVersion;
  if (version === undefined) return;
  database.prepare('INSERT OR IGNORE INTO runtime_metadata VALUES (?, ?)').run(VERSION_KEY, version);
}

/**
 * Brings the database to what the contexts know, in one commit, where it lacks anything of it. In a table that is made
 * anew, a reference that points nowhere is carried over as it was found, for the checks to name it; one more undoes all.
 * @throws as `pendingSteps`; STORE_CONSTRAINT, STORE_FULL, STORE_IO, STORE_CORRUPT, STORE_BUSY, STORE_SQL_FAILED
 */
export function bringUpToDate(database: DatabaseSync, schemas: readonly ContextSchema[], faults: FaultPoints): void {
  if (pendingSteps(database, schemas).length === 0) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Until the commit: then as many must be gone with the old table as came with the new one.
    database.exec('PRAGMA defer_foreign_keys = ON');
    migrate(database, schemas, faults);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw storeError(error);
  }
}

/** Checks again, since another process may have been first, then applies each missing step with its record. */
function migrate(database: DatabaseSync, schemas: readonly ContextSchema[], faults: FaultPoints): void {
  const steps = pendingSteps(database, schemas);
  if (readRecords(database) === undefined) database.exec(BOOKKEEPING);
  for (const step of steps) {
    void faults.reach('migration-step', step.migration.number);
    applyStep(database, step);
  }
  recordVersion(database, schemas);
}
