import type { FaultPoints } from '../core/index.ts';
import type { StoreObserver } from '../store/index.ts';
import { openSqliteStore, type SqliteStore } from '../store/sqlite/index.ts';
import { type DataFolder, prepareDataFolder } from './data-folder.ts';
import { HOLDFAST_SCHEMAS } from './schemas.ts';

export interface OpenHoldfastStoreOptions {
  /** The data folder; see `readConfiguration`. */
  readonly dataDir: string;
  /** Make the data folder and the database where they are missing; else that is `DATA_FOLDER_MISSING`. */
  readonly create: boolean;
  readonly busyTimeoutMs?: number;
  readonly observer?: StoreObserver;
  /** Named fault points, for test harnesses. */
  readonly faults?: FaultPoints;
}

export interface OpenedStore {
  readonly store: SqliteStore;
  readonly folder: DataFolder;
}

/**
 * Opens the one database of a data folder with the tables of every context, brought up to date. The folder is made
 * sure of first: `DATA_FOLDER_MISSING`, `DATA_FOLDER_UNSAFE`; then whatever opening a store can refuse.
 */
export async function openHoldfastStore(options: OpenHoldfastStoreOptions): Promise<OpenedStore> {
  const { dataDir, create, ...settings } = options;
  const folder = prepareDataFolder({ dataDir, create });
  const store = await openSqliteStore({ ...settings, file: folder.database, schemas: HOLDFAST_SCHEMAS });
  return { store, folder };
}
