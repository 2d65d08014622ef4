import { closeSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { errnoOf } from './durable-files.ts';

/** What a file system says that has no second names for files: many sticks, cards and shares. */
const NO_LINKS: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Gives a finished file its name, never over another one: EEXIST where the name is taken, and the finished file stays. On
 * a file system without links the name is taken by an empty file first, which a process killed right there leaves behind.
 */
export function nameNewFile(finished: string, path: string, link: (from: string, to: string) => void = linkSync): void {
  try {
    link(finished, path);
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error))) throw error;
    return nameByClaim(finished, path);
  }
  rmSync(finished);
}

function nameByClaim(finished: string, path: string): void {
  closeSync(openSync(path, 'wx', 0o600));
  try {
    renameSync(finished, path);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}
