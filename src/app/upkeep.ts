import { statSync } from 'node:fs';
import { fail, nodeFileSystem } from '../core/index.ts';
import { type FileInspection, inspectSqliteFile, openSqliteStore, restoreSqliteBackup } from '../store/sqlite/index.ts';
import { type DataFolder, locateDataFolder, prepareDataFolder, prepareFolder, standingOf } from './data-folder.ts';
import { pauseRestored } from './pause.ts';
import { HOLDFAST_SCHEMAS } from './schemas.ts';

export type PendingMigration = FileInspection['pending'][number];

/** Looks at the database of a data folder; it must be there. Throws what opening it would throw. */
export function inspectDataFolder(folder: DataFolder): FileInspection {
  return inspectSqliteFile({ file: folder.database, schemas: HOLDFAST_SCHEMAS });
}

export interface MigrationResult {
  /** What was missing, in order: applied, or only found where `apply` is false. */
  readonly pending: readonly PendingMigration[];
  readonly applied: boolean;
}

/**
 * Brings the database of a data folder up to date, all missing migrations in one commit; makes folder and database
 * where there are none. With `apply` false it only looks, and a missing folder is `DATA_FOLDER_MISSING`.
 */
export async function migrateDataFolder(options: { dataDir: string; apply: boolean }): Promise<MigrationResult> {
  const { dataDir, apply } = options;
  const folder = prepareDataFolder({ dataDir, create: apply });
  const { pending } = inspectDataFolder(folder);
  if (!apply) return { pending, applied: false };
  const store = await openSqliteStore({ file: folder.database, schemas: HOLDFAST_SCHEMAS });
  await store.close();
  return { pending, applied: true };
}

export interface CopyResult {
  readonly bytes: number;
}

/**
 * Copies the database into a new file while others use it; the copy is checked before it gets its name. Never migrates:
 * an older database is `DATABASE_BEHIND`. Throws `STORE_TARGET_EXISTS`, `STORE_CORRUPT`, `STORE_FULL`, `STORE_IO`.
 */
export async function backUpDataFolder(options: { dataDir: string; target: string }): Promise<CopyResult> {
  const { dataDir, target } = options;
  const folder = prepareDataFolder({ dataDir, create: false });
  if (inspectDataFolder(folder).state !== 'current')
    throw fail('DATABASE_BEHIND', 'The database is older than this version, and a backup does not migrate it.');
  const store = await openSqliteStore({ file: folder.database, schemas: HOLDFAST_SCHEMAS });
  try {
    await store.backup(target);
    return { bytes: nodeFileSystem.lstat(target).size };
  } finally {
    await store.close();
  }
}

/** A folder where a backup is expected; a file of whatever kind is looked at by whoever restores it. */
function refuseFolder(path: string): void {
  if (path !== '' && statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw fail(
      'FILE_IS_FOLDER',
      'What was given as the backup is a folder; name the file that `holdfast backup` made.',
    );
}

/**
 * Puts a backup in a data folder that has no database, made where it is missing, and checks it there before it gets its
 * name. One of an older version is brought up to date there. No write starts in it until somebody says so (`unpause`).
 * Throws `STORE_TARGET_EXISTS`, `STORE_CORRUPT`, `STORE_FOREIGN`, `STORE_NEWER`, `INVALID_VALUE`, `FILE_IS_FOLDER`, and what
 * opening a store can refuse; then nothing is left behind.
 */
export async function restoreDataFolder(options: { dataDir: string; backup: string }): Promise<CopyResult> {
  const { dataDir, backup } = options;
  refuseFolder(backup);
  const isNew = standingOf(nodeFileSystem, locateDataFolder(dataDir).path, 'folder') === 'missing';
  const folder = prepareFolder({ dataDir, create: true });
  try {
    const file = folder.database;
    await restoreSqliteBackup({ backup, file, schemas: HOLDFAST_SCHEMAS, prepare: pauseRestored });
  } catch (error) {
    if (isNew) nodeFileSystem.rmdir(folder.path);
    throw error;
  }
  return { bytes: nodeFileSystem.lstat(folder.database).size };
}
