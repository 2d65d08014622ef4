import { type FileSystem, nodeFileSystem } from '../../core/index.ts';
import { type DataFolder, locateDataFolder, standingOf } from '../data-folder.ts';
import { type HealthCheck, warn } from './check.ts';
import { checkDatabaseFiles, checkFolder } from './folder-checks.ts';
import { checkDisk, checkNode } from './host-checks.ts';
import { checkStore } from './store-checks.ts';

export type { HealthCheck } from './check.ts';

export interface HealthReport {
  /** The worst state among the checks. */
  readonly state: HealthCheck['state'];
  readonly checks: readonly HealthCheck[];
}

export interface ExamineOptions {
  readonly dataDir: string;
  readonly nodeVersion: string;
  readonly files?: FileSystem;
}

/**
 * Looks at everything Holdfast stands on: Node.js, the disk, the data folder's rights, the database. It changes nothing:
 * no folder is made, no right narrowed, no migration run. What it cannot look at is a check that failed, never an error.
 */
export async function examine({ dataDir, nodeVersion, files = nodeFileSystem }: ExamineOptions): Promise<HealthReport> {
  const folder = locateDataFolder(dataDir);
  const checks = [checkNode(nodeVersion), checkFolder(files, folder)];
  if (standingOf(files, folder.path, 'folder') !== 'missing')
    checks.push(...checkDisk(folder.path), checkDatabaseFiles(files, folder));
  if (standingOf(files, folder.database, 'file') !== 'missing') checks.push(...(await checkDatabase(folder, checks)));
  return { state: worstOf(checks), checks };
}

/** What others could have written, or what opening would change, is not opened by a look. */
async function checkDatabase(folder: DataFolder, checks: readonly HealthCheck[]): Promise<HealthCheck[]> {
  const rights = checks.filter(({ name }) => name === 'data_folder' || name === 'database_files');
  if (rights.every(({ state }) => state === 'ok')) return checkStore(folder);
  return [warn('store_version', 'the database was not opened', 'Set the rights right first, then look again.')];
}

function worstOf(checks: readonly HealthCheck[]): HealthCheck['state'] {
  if (checks.some(({ state }) => state === 'fail')) return 'fail';
  return checks.some(({ state }) => state === 'warn') ? 'warn' : 'ok';
}
