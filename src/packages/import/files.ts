import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import {
  errnoOf,
  fail,
  type FileFacts,
  type FileSystem,
  type Ids,
  makeFolder,
  syncFolder,
  writeAll,
} from '../../core/index.ts';

/**
 * Writes a content under its name so that it is there whole or not at all: a new name beside it, flushed, proved,
 * renamed, the folder flushed, and read back. PACKAGE_HASH_MISMATCH when what is on the disk is not what it must be.
 */
export async function writeSnapshot(
  { files, ids }: { readonly files: FileSystem; readonly ids: Ids },
  path: string,
  sha256: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  makeFolder(files, dirname(path));
  // Not its name with an ending: a stranger may have a file of that name, and there are names that take no ending.
  const temporary = join(dirname(path), `.holdfast-import-${ids.next()}`);
  const hash = createHash('sha256');
  const fd = files.open(temporary, 'wx', 0o600);
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      writeAll(files, fd, chunk);
    }
    files.fsync(fd);
  } finally {
    files.close(fd);
  }
  if (hash.digest('hex') !== sha256) throw fail('PACKAGE_HASH_MISMATCH', 'hash mismatch: artifact data');
  files.rename(temporary, path);
  syncFolder(files, dirname(path));
  if ((await digestOf(files, path)) !== sha256) throw fail('PACKAGE_HASH_MISMATCH', 'hash mismatch: artifact data');
}

const CHUNK_BYTES = 1024 * 1024;

/**
 * A file in chunks, each in memory of its own. With `into`, every chunk is a view of that one buffer, for who is done with
 * a chunk when asking for the next.
 */
export function* fileChunks(files: FileSystem, path: string, into?: Buffer): Generator<Uint8Array> {
  const fd = files.open(path, 'r');
  try {
    for (let position = 0; ; ) {
      const bytes = into ?? Buffer.allocUnsafe(CHUNK_BYTES);
      const read = files.read(fd, bytes, position);
      if (read === 0) return;
      position += read;
      yield bytes.subarray(0, read);
    }
  } finally {
    files.close(fd);
  }
}

/** The SHA-256 of a file. Gives the event loop turns meanwhile. */
export async function digestOf(files: FileSystem, path: string): Promise<string> {
  const hash = createHash('sha256');
  for (const chunk of fileChunks(files, path, Buffer.allocUnsafe(CHUNK_BYTES))) {
    hash.update(chunk);
    if (chunk.length === CHUNK_BYTES) await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest('hex');
}

/**
 * Removes a folder with everything in it, never through a link, the folder itself included; one that is not there, or
 * that somebody else removes meanwhile, is fine. What worked in it may have made folders read-only, as caches of modules
 * do: they are opened first. What cannot be removed keeps nothing beside it; the first error is thrown in the end.
 */
export function removeFolder(files: FileSystem, folder: string): void {
  const facts = factsAt(files, folder);
  if (facts?.kind !== 'folder') return unlinkIfThere(files, folder);
  if ((facts.mode & 0o700) !== 0o700) openUp(files, folder);
  const errors: unknown[] = [];
  for (const name of ifThere(() => files.readdir(folder)) ?? []) {
    try {
      removeFolder(files, join(folder, name));
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  ifThere(() => files.rmdir(folder));
}

function openUp(files: FileSystem, folder: string): void {
  try {
    files.chmod(folder, 0o700);
  } catch {
    // It is another user's: what cannot be removed for it is told by the step that fails.
  }
}

export const factsAt = (files: FileSystem, path: string): FileFacts | undefined => ifThere(() => files.lstat(path));

export function unlinkIfThere(files: FileSystem, path: string): void {
  ifThere(() => files.unlink(path));
}

function ifThere<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
