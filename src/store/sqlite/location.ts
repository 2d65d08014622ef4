import { chmodSync, closeSync, constants, fsyncSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fail } from '../../core/index.ts';

function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
}

/** The full path of a database file that may be opened. @throws INVALID_VALUE; no folder is ever created */
export function checkLocation(file: string): string {
  if (file === '' || file.includes('\0')) throw fail('INVALID_VALUE', 'The database needs a file name.');
  if (file === ':memory:' || file.startsWith('file:'))
    throw fail('INVALID_VALUE', 'The database must be a file: several connections use it, which memory cannot serve.');
  const path = resolve(file);
  if (isMissing(dirname(path)))
    throw fail('INVALID_VALUE', 'The folder of the database file does not exist; it is not created here.');
  return path;
}

/** Makes the file, empty and for its owner alone, where there is none. Whether it could is left to SQLite to say. */
export function createPrivately(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600));
    return true;
  } catch {
    return false;
  }
}

/** Takes away what others may do with a database that was made with wider rights, and with the log that lies beside it. */
export function narrowRights(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const facts = statSync(file, { throwIfNoEntry: file === path });
    if (facts !== undefined && (facts.mode & 0o077) !== 0) chmodSync(file, 0o600);
  }
}

/** Makes the name of a new or renamed file durable; a folder that cannot be synced is left to its file system. */
export function syncFolderOf(path: string): void {
  const folder = openSync(dirname(path), constants.O_RDONLY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
