import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { wrapFileError } from '../core/index.ts';

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Makes a file that is whole or not there: written beside its name, flushed, then renamed. `what` names it in messages,
 * never its path. FILE_DISK_FULL and the other file errors; what the chunks throw is thrown on.
 */
export async function writeWholeFile(what: string, file: string, chunks: Chunks): Promise<void> {
  const part = `${file}.part`;
  const fd = attempt(what, () => openSync(part, 'wx', 0o600));
  try {
    try {
      for await (const chunk of chunks) attempt(what, () => writeAll(fd, chunk));
      attempt(what, () => fsyncSync(fd));
    } finally {
      closeSync(fd);
    }
    attempt(what, () => renameSync(part, file));
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
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
