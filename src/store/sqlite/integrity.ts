import type { DatabaseSync } from 'node:sqlite';
import { HoldfastError } from '../../core/index.ts';
import { orderSteps } from '../migration-digest.ts';
import type { ContextSchema } from '../migration.ts';
import type { Driver } from './driver.ts';
import { BOOKKEEPING, pendingSteps } from './migrations.ts';

/** What a check of the whole database found. Every list is empty in a sound one. */
export interface IntegrityReport {
  readonly ok: boolean;
  /** What SQLite's `integrity_check` found: damaged pages, indexes that do not fit, broken constraints. */
  readonly integrity: readonly string[];
  /** Rows whose reference points nowhere: the tables' names, once a row, at most 100. */
  readonly foreignKeys: readonly string[];
  /** The code of the disagreement between the record of migrations and this build. */
  readonly migrations: readonly string[];
  /** Tables, indexes and triggers that this build made and that are gone or were changed. */
  readonly schema: readonly string[];
}

const MOST_FINDINGS = 100;
const OBJECTS =
  "SELECT type || ' ' || name AS what, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

function findings(database: DatabaseSync, sql: string, column: string): string[] {
  const found: string[] = [];
  for (const row of database.prepare(sql).iterate()) {
    if (found.length >= MOST_FINDINGS) break;
    found.push(String(row[column]));
  }
  return found;
}

function objectsOf(database: DatabaseSync): Map<string, string> {
  const rows = database.prepare(OBJECTS).all();
  return new Map(rows.map((row) => [String(row['what']), String(row['sql'])]));
}

/** The same migrations in an empty database of this process's memory. */
function expectedObjects(driver: Driver, schemas: readonly ContextSchema[]): Map<string, string> {
  const scratch = new driver.DatabaseSync(':memory:');
  try {
    scratch.exec(BOOKKEEPING);
    for (const { migration } of orderSteps(schemas)) scratch.exec(migration.sqlite);
    return objectsOf(scratch);
  } finally {
    scratch.close();
  }
}

function changedObjects(database: DatabaseSync, driver: Driver, schemas: readonly ContextSchema[]): string[] {
  const actual = objectsOf(database);
  return [...expectedObjects(driver, schemas)].flatMap(([what, sql]) => (actual.get(what) === sql ? [] : [what]));
}

function migrationFindings(database: DatabaseSync, schemas: readonly ContextSchema[]): string[] {
  try {
    return pendingSteps(database, schemas).map(({ context, migration }) => `pending ${context} ${migration.number}`);
  } catch (error) {
    if (error instanceof HoldfastError) return [error.code];
    throw error;
  }
}

/** Checks everything that can be checked without knowing what the rows mean, in one snapshot. */
export function checkIntegrity(
  database: DatabaseSync,
  driver: Driver,
  schemas: readonly ContextSchema[],
): IntegrityReport {
  database.exec('BEGIN');
  try {
    const integrity = findings(database, 'PRAGMA integrity_check', 'integrity_check').filter((line) => line !== 'ok');
    const foreignKeys = findings(database, 'PRAGMA foreign_key_check', 'table');
    const migrations = migrationFindings(database, schemas);
    const schema = migrations.length > 0 ? [] : changedObjects(database, driver, schemas);
    const ok = [integrity, foreignKeys, migrations, schema].every((list) => list.length === 0);
    return { ok, integrity, foreignKeys, migrations, schema };
  } finally {
    database.exec('ROLLBACK');
  }
}
