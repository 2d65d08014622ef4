import { HoldfastError } from '../../core/index.ts';
import { openSqliteStore, type SqliteStore } from '../../store/sqlite/index.ts';
import type { DataFolder } from '../data-folder.ts';
import { HOLDFAST_SCHEMAS } from '../schemas.ts';
import { inspectDataFolder } from '../upkeep.ts';
import { failed, type HealthCheck, ok, warn } from './check.ts';
import { checkRemovedFiles } from './removed-files-check.ts';
import { checkRuns } from './run-checks.ts';

const FROM_A_BACKUP = 'Stop every process, keep the folder as it is, and restore a backup into another one.';

/** A refusal of the store as a check that failed: its message and its own way out. */
function refusal(name: string, error: unknown): HealthCheck {
  if (error instanceof HoldfastError) return failed(name, `${error.code}: ${error.message}`, error.resolve);
  return failed(name, 'the database did not answer', 'Look at the disk and at the system log.');
}

function versionOf(folder: DataFolder): HealthCheck {
  const { state, pending } = inspectDataFolder(folder);
  return state === 'current'
    ? ok('store_version', 'the database has the tables of this version')
    : warn('store_version', `${pending.length} migrations are missing`, 'Back up, then run `holdfast migrate`.');
}

function settingsOf(store: SqliteStore): HealthCheck {
  const { sqliteVersion, journalMode, synchronous, foreignKeys } = store.settings();
  // The store refuses to open on anything less, so what is read here is what it runs with.
  return ok(
    'sqlite',
    `SQLite ${sqliteVersion}, journal ${journalMode}, synchronous ${synchronous}, foreign keys ${foreignKeys}`,
  );
}

function integrityOf(store: SqliteStore): HealthCheck {
  const { ok: sound, integrity, foreignKeys, migrations, schema } = store.integrityCheck();
  if (sound) return ok('integrity', 'every page, index, reference and table is as it should be');
  const counts = [
    `${integrity.length} of pages and indexes`,
    `${foreignKeys.length} of references`,
    `${migrations.length + schema.length} of tables and migrations`,
  ];
  return failed('integrity', `findings: ${counts.join(', ')}`, FROM_A_BACKUP);
}

/** Asked last: where the database itself cannot be read, that is what has to be said. */
async function rowsOf(
  name: string,
  store: SqliteStore,
  check: (store: SqliteStore) => Promise<HealthCheck>,
): Promise<HealthCheck> {
  try {
    return await check(store);
  } catch (error) {
    return refusal(name, error);
  }
}

/** The database of a folder whose rights are as they must be. An older one is only looked at, never migrated. */
export async function checkStore(folder: DataFolder): Promise<HealthCheck[]> {
  try {
    const version = versionOf(folder);
    return version.state === 'ok' ? [version, ...(await checkOpened(folder))] : [version];
  } catch (error) {
    return [refusal('store_version', error)];
  }
}

async function checkOpened(folder: DataFolder): Promise<HealthCheck[]> {
  try {
    const store = await openSqliteStore({ file: folder.database, schemas: HOLDFAST_SCHEMAS });
    try {
      const rows = [await rowsOf('runs', store, checkRuns), await rowsOf('removed_files', store, checkRemovedFiles)];
      return [settingsOf(store), integrityOf(store), ...rows];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [refusal('sqlite', error)];
  }
}
