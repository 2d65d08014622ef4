import { dirname } from 'node:path';
import { fail, HoldfastError } from './errors.ts';
import type { FileSystem } from './file-system.ts';

/** Writes all bytes, going on after short writes. */
export function writeAll(files: FileSystem, fd: number, bytes: Uint8Array): void {
  let done = 0;
  while (done < bytes.byteLength) done += files.write(fd, bytes.subarray(done));
}

/** Makes names made, renamed or removed in a folder durable: a file's own fsync does not promise its name. */
export function syncFolder(files: FileSystem, folder: string): void {
  const fd = files.open(folder, 'r');
  try {
    files.fsync(fd);
  } finally {
    files.close(fd);
  }
}

/**
 * Puts a file in place whole or not at all: a new temporary name beside it (never following a link), written, synced,
 * renamed, and the folder synced. `temporary` must be a fresh name in the same folder. Mode 0600.
 */
export function writeFileDurably(files: FileSystem, path: string, temporary: string, bytes: Uint8Array): void {
  const fd = files.open(temporary, 'wx', 0o600);
  try {
    try {
      writeAll(files, fd, bytes);
      files.fsync(fd);
    } finally {
      files.close(fd);
    }
    files.rename(temporary, path);
  } catch (error) {
    removeQuietly(files, temporary);
    throw error;
  }
  syncFolder(files, dirname(path));
}

function removeQuietly(files: FileSystem, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // The first error is the one to tell; a temporary name that stays is swept by its owner.
  }
}

/** Reads a whole file; undefined, with nothing read, when it has more than `maxBytes`. */
export function readFileWithin(files: FileSystem, path: string, maxBytes: number): Uint8Array | undefined {
  const fd = files.open(path, 'r');
  try {
    const { size } = files.factsOf(fd);
    return size > maxBytes ? undefined : readAll(files, fd, size);
  } finally {
    files.close(fd);
  }
}

function readAll(files: FileSystem, fd: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let done = 0;
  while (done < size) {
    const got = files.read(fd, bytes.subarray(done), done);
    if (got === 0) break;
    done += got;
  }
  return bytes.subarray(0, done);
}

const FILE_CODES = {
  ENOENT: 'FILE_MISSING',
  ENOTDIR: 'FILE_NOT_FOLDER',
  EISDIR: 'FILE_IS_FOLDER',
  EEXIST: 'FILE_EXISTS',
  EACCES: 'FILE_NO_ACCESS',
  EPERM: 'FILE_NO_ACCESS',
  EROFS: 'FILE_NO_ACCESS',
  ENOSPC: 'FILE_DISK_FULL',
  EDQUOT: 'FILE_DISK_FULL',
  EFBIG: 'FILE_DISK_FULL',
} as const;

/** What the operating system found where a person's slip is likelier than a fault: the thing by its role, and its word. */
const FOUND: Readonly<Record<string, (what: string) => string>> = {
  FILE_MISSING: (what) => `There is no such file or folder: ${what}`,
  FILE_NOT_FOLDER: (what) => `A part of the path is a file and no folder: ${what}`,
  FILE_IS_FOLDER: (what) => `A file is needed, and this is a folder: ${what}`,
  FILE_EXISTS: (what) => `It is there already, and is not overwritten: ${what}`,
};

/**
 * Our error for an operating system's, which stays its `cause`. `what` names the file by its role ("the journal"), never
 * by its path. Errors of ours, and errors without an errno (thrown by a test or a user's code), come back as they are.
 */
export function wrapFileError(error: unknown, what: string): unknown {
  const errno = error instanceof Error && 'code' in error ? error.code : undefined;
  if (error instanceof HoldfastError || typeof errno !== 'string' || !('syscall' in (error as object))) return error;
  const code = Object.hasOwn(FILE_CODES, errno) ? FILE_CODES[errno as keyof typeof FILE_CODES] : 'FILE_IO';
  const found = FOUND[code]?.(what) ?? `The operating system refused ${what}`;
  return fail(code, `${found} (${errno}).`, { cause: error, details: { errno } });
}

/** Makes a folder and those above it where they are missing, 0700, each new entry forced to disk. */
export function makeFolder(files: FileSystem, folder: string): void {
  try {
    files.mkdir(folder, 0o700);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'EEXIST' && files.lstat(folder).kind !== 'file') return;
    if (errno !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeFolder(files, dirname(folder));
    files.mkdir(folder, 0o700);
  }
  syncFolder(files, dirname(folder));
}

/** The operating system's word for an error, such as `ENOENT`; undefined for any other error. */
export function errnoOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
