import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  errnoOf,
  type FaultPoints,
  type FileSystem,
  nameNewFile,
  nodeFileSystem,
  noFaults,
  syncFolder,
  wrapFileError,
} from '../core/index.ts';

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** What killed commands left beside one name before somebody looks. */
const MOST_LEFT = 100;

/**
 * Makes a new file that is whole or not there: written beside its name, flushed, named, and its name flushed. One that is
 * there already is never overwritten (FILE_EXISTS), whoever made it meanwhile. `what` names it in messages, never its path.
 * FILE_DISK_FULL and the other file errors; what the chunks throw is thrown on. `faults` are named fault points, for test
 * harnesses.
 */
export async function writeWholeFile(
  what: string,
  file: string,
  chunks: Chunks,
  faults: FaultPoints = noFaults,
): Promise<void> {
  const { fd, part } = attempt(what, () => openPart(file, 0));
  try {
    try {
      for await (const chunk of chunks) attempt(what, () => writeAll(fd, chunk));
      attempt(what, () => fsyncSync(fd));
    } finally {
      closeSync(fd);
    }
    await faults.reach('file-temp-written');
    attempt(what, () => nameNewFile(part, file));
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  await faults.reach('package-renamed');
  // The name beside it is free again: from here on it may be another command's.
  attempt(what, () => flushName(nodeFileSystem, file));
}

/** Where somebody may put files but not look, and on shares that flush no folders, a whole file is all there is. */
const NOT_FLUSHED_HERE: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP']);

/** Makes the name of a new file durable, where its folder lets whoever asks do that. Throws what the disk is guilty of. */
export function flushName(files: FileSystem, file: string): void {
  try {
    syncFolder(files, dirname(file));
  } catch (error) {
    if (!NOT_FLUSHED_HERE.has(errnoOf(error))) throw error;
  }
}

/** A name of its own beside the file: what a killed command left there, or one that still writes has, is not touched. */
function openPart(file: string, number: number): { readonly fd: number; readonly part: string } {
  const part = number === 0 ? `${file}.part` : `${file}.${number}.part`;
  try {
    return { fd: openSync(part, 'wx', 0o600), part };
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST' || number === MOST_LEFT) throw error;
    return openPart(file, number + 1);
  }
}

/** A write may take less than it was given: on a disk that fills up it does, before it fails. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

function attempt<T>(what: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw wrapFileError(error, what);
  }
}
