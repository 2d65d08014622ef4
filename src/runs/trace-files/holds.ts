import { join } from 'node:path';
import { type FileSystem, wrapFileError } from '../../core/index.ts';
import type { RunHold, RunHolds } from '../trace/run-holds.ts';
import { checkTraceId } from '../trace/ids.ts';
import { traceLock } from './locks.ts';

/** Who carries a run out holds a lock on `.running` in the folder of its trace; the kernel ends it with its process. */
export class FileRunHolds implements RunHolds {
  readonly #folder: string;
  readonly #files: FileSystem;

  constructor(folder: string, files: FileSystem) {
    this.#folder = folder;
    this.#files = files;
  }

  async acquire(traceId: string, waitMs: number): Promise<RunHold | null> {
    const lock = traceLock(this.#files, join(this.#folder, checkTraceId(traceId), '.running'));
    try {
      if (await lock.acquire(waitMs)) return { release: () => lock.close() };
    } catch (error) {
      throw wrapFileError(error, 'the hold on the run');
    }
    lock.close();
    return null;
  }
}
