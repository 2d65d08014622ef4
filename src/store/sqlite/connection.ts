import type { DatabaseSync } from 'node:sqlite';
import { fail } from '../../core/index.ts';
import type { StoreObserver } from '../observer.ts';
import type { Driver } from './driver.ts';
import { storeError } from './driver-errors.ts';
import { SQLITE_BUSY_TIMEOUT_MS } from './patience.ts';

/** STRICT tables and RETURNING need less; this is what Node 22.18, the oldest that is supported, carries. */
export const OLDEST_SQLITE = '3.50.0';

/** How a connection is really set, read back from SQLite. */
export interface ConnectionSettings {
  readonly sqliteVersion: string;
  readonly journalMode: string;
  /** 2 is FULL: a commit is on the disk before it returns. */
  readonly synchronous: number;
  readonly foreignKeys: number;
}

/**
 * `recursive_triggers` lets the triggers that protect rows see what INSERT OR REPLACE deletes. The store makes its own
 * checkpoints, since SQLite's automatic ones hide a failed sync.
 */
export const CONNECTION_SETTINGS = [
  'PRAGMA synchronous = FULL',
  'PRAGMA fullfsync = ON',
  'PRAGMA checkpoint_fullfsync = ON',
  'PRAGMA foreign_keys = ON',
  'PRAGMA recursive_triggers = ON',
  'PRAGMA trusted_schema = OFF',
  'PRAGMA cell_size_check = ON',
  'PRAGMA cache_size = -8192',
  'PRAGMA temp_store = MEMORY',
  'PRAGMA wal_autocheckpoint = 0',
].join(';');

/**
 * Opens the file without changing it. `timeout`: how long each step waits for other processes, and blocks this one, in
 * milliseconds. @throws STORE_CANNOT_OPEN and other coded errors of the driver
 */
export function openConnection(driver: Driver, file: string, timeout: number = SQLITE_BUSY_TIMEOUT_MS): DatabaseSync {
  try {
    return new driver.DatabaseSync(file, { timeout, enableForeignKeyConstraints: true });
  } catch (error) {
    throw storeError(error);
  }
}

/** One value of a one-row, one-column statement. */
export function readValue(database: DatabaseSync, sql: string): unknown {
  const row = database.prepare(sql).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

export function readSettings(database: DatabaseSync): ConnectionSettings {
  return {
    sqliteVersion: String(readValue(database, 'SELECT sqlite_version()')),
    journalMode: String(readValue(database, 'PRAGMA journal_mode')),
    synchronous: Number(readValue(database, 'PRAGMA synchronous')),
    foreignKeys: Number(readValue(database, 'PRAGMA foreign_keys')),
  };
}

function asNumbers(version: string): number {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major * 1_000_000 + minor * 1_000 + patch;
}

/**
 * Sets a connection and reads the settings back after the file has been touched: some builds of SQLite report FULL
 * until the first use of a WAL database and less after it. @throws STORE_NOT_DURABLE
 */
export function makeDurable(database: DatabaseSync): ConnectionSettings {
  database.exec(CONNECTION_SETTINGS);
  database.exec('PRAGMA journal_mode = WAL');
  readValue(database, 'SELECT count(*) FROM sqlite_schema');
  const settings = readSettings(database);
  checkDurable(settings);
  return settings;
}

export function checkDurable(settings: ConnectionSettings): void {
  const { journalMode, synchronous, foreignKeys, sqliteVersion } = settings;
  const durable = journalMode === 'wal' && synchronous === 2 && foreignKeys === 1;
  if (durable && asNumbers(sqliteVersion) >= asNumbers(OLDEST_SQLITE)) return;
  throw fail('STORE_NOT_DURABLE', 'The database connection is not set as durable writing needs it.', {
    details: { journal_mode: journalMode, synchronous, foreign_keys: foreignKeys, sqlite: sqliteVersion },
  });
}

export function announce(observer: StoreObserver | undefined, role: 'writer' | 'reader' | 'tool'): void {
  observer?.({ kind: 'connection_opened', role });
}
