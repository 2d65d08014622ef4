import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { errnoOf } from './durable-files.ts';
import type { FileSystem } from './file-system.ts';

export interface KernelLockOptions {
  readonly files: FileSystem;
  /** The side file; made empty and private where it is missing. */
  readonly path: string;
  /** The error for a lock that another holder did not leave in time. */
  readonly busy: () => Error;
  /** The error for a side file that is not one private regular file. */
  readonly unsafe: () => Error;
}

/**
 * An exclusive right that the kernel holds (as SQLite's lock on an empty side file), against this and other processes:
 * it ends with its holder, however that one dies. One object is used by one caller at a time.
 */
export class KernelLock {
  readonly #options: KernelLockOptions;
  #database: DatabaseSync | undefined;

  constructor(options: KernelLockOptions) {
    this.#options = options;
  }

  /** Takes the lock, waiting up to `waitMs` for another holder; false where that one stayed. */
  async acquire(waitMs: number): Promise<boolean> {
    const database = await this.#open();
    let waited = 0;
    for (let delay = 1; ; delay = Math.min(2 * delay, 50)) {
      if (begin(database)) return true;
      if (waited >= waitMs) return false;
      await pause(delay);
      waited += delay;
    }
  }

  release(): void {
    if (this.#database?.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** Runs the body while the lock is held. Throws the `busy` error when another holder does not leave in time. */
  async hold<T>(waitMs: number, body: () => T): Promise<T> {
    if (!(await this.acquire(waitMs))) throw this.#options.busy();
    try {
      return body();
    } finally {
      this.release();
    }
  }

  /** Ends the lock if it is held. The object can be used again. */
  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  async #open(): Promise<DatabaseSync> {
    if (this.#database) return this.#database;
    this.#makeFile();
    const sqlite = await import('node:sqlite');
    this.#database ??= new sqlite.DatabaseSync(this.#options.path, { timeout: 0 });
    return this.#database;
  }

  /** The file is made here and never opened again by us: closing it would end locks held in this process. */
  #makeFile(): void {
    const facts = this.#entry() ?? this.#made();
    if (facts?.kind !== 'file' || facts.links !== 1 || (facts.mode & 0o022) !== 0) throw this.#options.unsafe();
  }

  #entry() {
    try {
      return this.#options.files.lstat(this.#options.path);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  #made() {
    const { files, path } = this.#options;
    try {
      files.close(files.open(path, 'wx', 0o600));
    } catch (error) {
      // Another process made it at the same moment.
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
    return this.#entry();
  }
}

const BUSY = 5;

function begin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && ((error.errcode as number) & 0xff) === BUSY) return false;
    throw error;
  }
}
