import type { DatabaseSync } from 'node:sqlite';
import { fail, type FaultPoints, type HoldfastError, noFaults } from '../../core/index.ts';
import { checkSchemas } from '../migration-digest.ts';
import type { ContextSchema } from '../migration.ts';
import type { StoreObserver } from '../observer.ts';
import type { ReadTx, Store, Tx } from '../port.ts';
import { backUp } from './backup.ts';
import { announce, type ConnectionSettings, makeDurable, openConnection, readSettings } from './connection.ts';
import { type Driver, loadDriver } from './driver.ts';
import { storeError } from './driver-errors.ts';
import { GroupReader } from './group-reader.ts';
import { GroupWriter } from './group-writer.ts';
import { checkIntegrity, type IntegrityReport } from './integrity.ts';
import { checkLocation, createPrivately, narrowRights, syncFolderOf } from './location.ts';
import { bringUpToDate, pendingSteps } from './migrations.ts';
import { withPatience } from './patience.ts';

export interface SqliteStoreOptions {
  /** The database file. Its folder must exist; the file is made, for its owner alone, where there is none. */
  readonly file: string;
  /** The contexts whose tables the database holds, all of them and no others. */
  readonly schemas: readonly ContextSchema[];
  /** How long a write waits for other processes before STORE_BUSY, in milliseconds: 1 to 600,000, else 5,000. */
  readonly busyTimeoutMs?: number;
  readonly observer?: StoreObserver;
  /** Named fault points, for test harnesses. */
  readonly faults?: FaultPoints;
}

const BUSY_TIMEOUT_MS = 5_000;
const LONGEST_BUSY_TIMEOUT_MS = 600_000;

/** A store in one SQLite file. Several processes may have it open. */
export interface SqliteStore extends Store {
  /** How the writing connection is really set. */
  settings(): ConnectionSettings;
  /** Why this process writes no more, or undefined. */
  halted(): HoldfastError | undefined;
  /** Checks the whole database in one snapshot. It reads every page and blocks the process meanwhile. */
  integrityCheck(): IntegrityReport;
  /**
   * Copies the database into a new file while others read and write it, and verifies the copy before it gets its name.
   * @throws STORE_TARGET_EXISTS, STORE_CORRUPT, STORE_FULL, STORE_IO, INVALID_VALUE
   */
  backup(target: string): Promise<IntegrityReport>;
}

function checkBusyTimeout(ms: number): number {
  if (Number.isSafeInteger(ms) && ms >= 1 && ms <= LONGEST_BUSY_TIMEOUT_MS) return ms;
  throw fail('INVALID_VALUE', `busyTimeoutMs must be a whole number from 1 to ${LONGEST_BUSY_TIMEOUT_MS}.`);
}

interface Opening {
  readonly driver: Driver;
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly options: SqliteStoreOptions;
}

/** Checks before it changes anything, then sets the connection, then migrates under the write lock. */
async function prepareDatabase(database: DatabaseSync, opening: Opening): Promise<void> {
  const { busyTimeoutMs, options } = opening;
  const { schemas, observer, faults } = options;
  await withPatience(busyTimeoutMs, observer, () => void pendingSteps(database, schemas));
  await withPatience(busyTimeoutMs, observer, () => void makeDurable(database));
  await withPatience(busyTimeoutMs, observer, () => bringUpToDate(database, schemas, faults ?? noFaults));
}

/**
 * Half as much again as a reader's: an index over digests is written all over, and of 100,000 operations most of its
 * leaves fit. In KiB.
 */
const WRITER_CACHE = 'PRAGMA cache_size = -12288';

async function openWriter(opening: Opening): Promise<DatabaseSync> {
  const { driver, path, options } = opening;
  const isNew = createPrivately(path);
  const database = openConnection(driver, path);
  try {
    await prepareDatabase(database, opening);
    database.exec(WRITER_CACHE);
    narrowRights(path);
    if (isNew) syncFolderOf(path);
  } catch (error) {
    database.close();
    throw error;
  }
  announce(options.observer, 'writer');
  return database;
}

function openReader(opening: Opening, role: 'reader' | 'tool'): DatabaseSync {
  const { driver, path, options } = opening;
  const database = openConnection(driver, path);
  try {
    makeDurable(database);
    database.exec('PRAGMA query_only = ON');
  } catch (error) {
    database.close();
    throw storeError(error);
  }
  announce(options.observer, role);
  return database;
}

class OpenStore implements SqliteStore {
  readonly #database: DatabaseSync;
  readonly #writer: GroupWriter;
  readonly #reader: GroupReader;
  readonly #opening: Opening;
  #closing: Promise<void> | undefined;

  constructor(database: DatabaseSync, opening: Opening) {
    const { observer, faults } = opening.options;
    this.#database = database;
    this.#opening = opening;
    const { busyTimeoutMs, path: file } = opening;
    this.#writer = new GroupWriter({ database, file, busyTimeoutMs, observer, faults: faults ?? noFaults });
    this.#reader = new GroupReader({ observer, open: () => openReader(opening, 'reader') });
  }

  write<T>(name: string, body: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#writer.write(name, body);
  }

  read<T>(name: string, body: (tx: ReadTx) => Promise<T>): Promise<T> {
    return this.#reader.read(name, body);
  }

  settings(): ConnectionSettings {
    return readSettings(this.#database);
  }

  halted(): HoldfastError | undefined {
    return this.#writer.halted;
  }

  integrityCheck(): IntegrityReport {
    const { driver, options } = this.#opening;
    const database = openReader(this.#opening, 'tool');
    try {
      return checkIntegrity(database, driver, options.schemas);
    } catch (error) {
      throw storeError(error);
    } finally {
      this.#closeTool(database);
    }
  }

  backup(target: string): Promise<IntegrityReport> {
    const { driver, options } = this.#opening;
    const faults = options.faults ?? noFaults;
    const open = () => openReader(this.#opening, 'tool');
    return backUp({ driver, schemas: options.schemas, faults, open, close: (db) => this.#closeTool(db) }, target);
  }

  #closeTool(database: DatabaseSync): void {
    database.close();
    this.#opening.options.observer?.({ kind: 'connection_closed', role: 'tool' });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#reader.close()]);
    this.#database.close();
    this.#opening.options.observer?.({ kind: 'connection_closed', role: 'writer' });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens the database, made where there is none, and brings its tables up to date. A file that is refused is left as it
 * was. @throws INVALID_VALUE (memory, missing folder, timeout), STORE_CANNOT_OPEN, STORE_FOREIGN, STORE_NEWER,
 * STORE_ALTERED, STORE_SCHEMA_VERSION, STORE_NOT_DURABLE, STORE_BUSY, NODE_TOO_OLD
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const busyTimeoutMs = checkBusyTimeout(options.busyTimeoutMs ?? BUSY_TIMEOUT_MS);
  checkSchemas(options.schemas);
  const path = checkLocation(options.file);
  const opening: Opening = { driver: loadDriver(), path, busyTimeoutMs, options };
  return new OpenStore(await openWriter(opening), opening);
}
