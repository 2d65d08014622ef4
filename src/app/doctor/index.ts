import { type FileSystem, nodeFileSystem } from '../../core/index.ts';
import { locateDataFolder, standingOf } from '../data-folder.ts';
import type { HealthCheck } from './check.ts';
import { checkDatabaseFiles, checkFolder } from './folder-checks.ts';
import { checkDisk, checkNode } from './host-checks.ts';

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
  return { state: worstOf(checks), checks };
}

function worstOf(checks: readonly HealthCheck[]): HealthCheck['state'] {
  if (checks.some(({ state }) => state === 'fail')) return 'fail';
  return checks.some(({ state }) => state === 'warn') ? 'warn' : 'ok';
}
