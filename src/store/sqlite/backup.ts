import { closeSync, constants, copyFileSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import {
  type FaultPoints,
  fail,
  HoldfastError,
  KernelLock,
  nameNewFile,
  nodeFileSystem,
  noFaults,
} from '../../core/index.ts';
import { checkSchemas } from '../migration-digest.ts';
import type { ContextSchema } from '../migration.ts';
import { CONNECTION_SETTINGS, openConnection } from './connection.ts';
import { type Driver, loadDriver } from './driver.ts';
import { storeError } from './driver-errors.ts';
import { checkIntegrity, type IntegrityReport } from './integrity.ts';
import { bringUpToDate, pendingSteps } from './migrations.ts';
import { checkLocation, createPrivately, narrowRights, syncFolderOf } from './location.ts';

/** All pages in one step: one snapshot, which writers do not disturb, taken on a thread of the driver. */
const ALL_PAGES = 0x7fffffff;

const COMPANIONS = ['', '-wal', '-shm', '-journal'] as const;

function refuseExisting(path: string): void {
  if (COMPANIONS.some((suffix) => existsSync(path + suffix)))
    throw fail('STORE_TARGET_EXISTS', 'The file that should be made exists already.');
}

function syncFile(path: string): void {
  const file = openSync(path, constants.O_RDWR);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function removeDatabase(path: string): void {
  for (const suffix of COMPANIONS) rmSync(path + suffix, { force: true });
}

function verify(driver: Driver, path: string, schemas: readonly ContextSchema[]): IntegrityReport {
  const database = openConnection(driver, path);
  try {
    const report = checkIntegrity(database, driver, schemas);
    const { integrity, foreignKeys, migrations, schema } = report;
    const details = {
      integrity: integrity.length,
      foreign_keys: foreignKeys.length,
      migrations: migrations[0] ?? '',
      schema: schema[0] ?? '',
    };
    if (details.migrations === 'STORE_NEWER')
      throw fail('STORE_NEWER', 'The copy holds migrations that this build does not know.');
    if (!report.ok) throw fail('STORE_CORRUPT', 'The copy of the database is not sound.', { details });
    return report;
  } catch (error) {
    throw storeError(error);
  } finally {
    database.close();
  }
}

/** Gives the finished file its name, never over another file. */
function publish(partial: string, path: string): void {
  try {
    nameNewFile(partial, path);
  } catch (cause) {
    if (existsSync(path)) throw fail('STORE_TARGET_EXISTS', 'The file that should be made exists already.', { cause });
    throw cause;
  }
  syncFolderOf(path);
}

/** An error of a file call; what a test or a user's code threw stays itself. */
function asStorageError(thrown: unknown): unknown {
  const error = storeError(thrown);
  if (error instanceof HoldfastError || !(error instanceof Error && 'syscall' in error && 'code' in error))
    return error;
  const code = error.code === 'ENOSPC' ? 'STORE_FULL' : 'STORE_IO';
  return fail(code, 'The copy of the database could not be written.', { cause: error });
}

/** Makes `path` by way of a file beside it, so that it is either absent or whole, verified and durable. */
async function makeWhole(
  path: string,
  faults: FaultPoints,
  write: (partial: string) => Promise<void> | void,
  check: (partial: string) => IntegrityReport,
): Promise<IntegrityReport> {
  refuseExisting(path);
  const partial = `${path}.partial`;
  const release = await holdPlace(`${partial}-lock`).catch((error: unknown) => {
    throw asStorageError(error);
  });
  try {
    removeDatabase(partial);
    await write(partial);
    const report = check(partial);
    syncFile(partial);
    await faults.reach('backup-written');
    publish(partial, path);
    return report;
  } catch (error) {
    removeDatabase(partial);
    throw asStorageError(error);
  } finally {
    release();
  }
}

/**
 * The right to make a file there, against this and other processes: what is half-made has one name, and whoever comes
 * second would take it away, or have it published before it is whole. Ends with its holder; STORE_BUSY.
 */
async function holdPlace(path: string): Promise<() => void> {
  const busy = () => fail('STORE_BUSY', 'Another backup or restore to this place is being made.');
  const unsafe = () => fail('STORE_CANNOT_OPEN', 'The lock beside the file that should be made is not a private file.');
  const isMade = createPrivately(path);
  const identity = identityOf(path);
  const lock = new KernelLock({ files: nodeFileSystem, path, busy, unsafe });
  try {
    // Whoever held it before takes it away at the end: then what is held here is no longer the one that others see.
    if (!(await lock.acquire(0)) || identity === undefined || identityOf(path) !== identity) throw busy();
  } catch (error) {
    lock.close();
    if (isMade && !(error instanceof HoldfastError)) rmSync(path, { force: true });
    throw error;
  }
  return () => {
    rmSync(path, { force: true });
    lock.close();
  };
}

function identityOf(path: string): string | undefined {
  return existsSync(path) ? nodeFileSystem.lstat(path).identity : undefined;
}

export interface BackupSource {
  readonly driver: Driver;
  readonly schemas: readonly ContextSchema[];
  readonly faults: FaultPoints;
  /** A connection for the copy alone. */
  readonly open: () => DatabaseSync;
  readonly close: (database: DatabaseSync) => void;
}

/** Copies a living database into one new file while others read and write it. */
export async function backUp(
  { driver, schemas, faults, open, close }: BackupSource,
  target: string,
): Promise<IntegrityReport> {
  const path = checkLocation(target);
  const copy = async (partial: string): Promise<void> => {
    createPrivately(partial);
    const source = open();
    try {
      await driver.backup(source, partial, { rate: ALL_PAGES });
    } finally {
      close(source);
    }
  };
  return makeWhole(path, faults, copy, (partial) => verify(driver, partial, schemas));
}

export interface RestoreOptions {
  /** A file that `backup` made. It is only read. */
  readonly backup: string;
  /** Where the database is to be; nothing may be there yet. */
  readonly file: string;
  readonly schemas: readonly ContextSchema[];
  /** Says something in the restored database, which is up to date, that its backup does not say, before it gets its name. */
  readonly prepare?: (database: DatabaseSync) => void;
  readonly faults?: FaultPoints;
}

function withCopy(driver: Driver, path: string, change: (database: DatabaseSync) => void): void {
  const database = openConnection(driver, path);
  try {
    change(database);
  } finally {
    database.close();
  }
}

/** Whether nothing is wrong with the copy but that it is older than this build. */
function isSoundButBehind(database: DatabaseSync, driver: Driver, schemas: readonly ContextSchema[]): boolean {
  try {
    if (pendingSteps(database, schemas).length === 0) return false;
  } catch (error) {
    // `verify` says what it is.
    if (error instanceof HoldfastError) return false;
    throw error;
  }
  const { integrity, foreignKeys } = checkIntegrity(database, driver, schemas);
  return integrity.length === 0 && foreignKeys.length === 0;
}

/**
 * Puts a backup in an empty place, verified, and prepared where something is to be said in it, there before it gets its
 * name. One of an older version is brought up to date there; the backup itself is only read.
 * @throws STORE_TARGET_EXISTS, STORE_CORRUPT, STORE_FOREIGN, STORE_NEWER, INVALID_VALUE, STORE_BUSY, and what bringing it
 * up to date can throw; then nothing is left behind
 */
export async function restoreSqliteBackup(options: RestoreOptions): Promise<IntegrityReport> {
  const { schemas, prepare, faults = noFaults } = options;
  checkSchemas(schemas);
  const driver = loadDriver();
  const [backup, path] = [checkLocation(options.backup), checkLocation(options.file)];
  if (!existsSync(backup)) throw fail('INVALID_VALUE', 'There is no such backup.');
  if (existsSync(`${backup}-wal`))
    throw fail('INVALID_VALUE', 'The backup is a database in use: back that up instead.');
  const copy = (partial: string): void => {
    copyFileSync(backup, partial);
    narrowRights(partial);
  };
  return makeWhole(path, faults, copy, (partial) => {
    withCopy(driver, partial, (database) => {
      if (!isSoundButBehind(database, driver, schemas)) return;
      database.exec(CONNECTION_SETTINGS);
      bringUpToDate(database, schemas, faults);
    });
    const report = verify(driver, partial, schemas);
    if (prepare) withCopy(driver, partial, prepare);
    return report;
  });
}
