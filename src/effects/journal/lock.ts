import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { fail, type FileSystem, LIMITS } from '../../core/index.ts';

/**
 * The exclusive right to append to one journal, against this and other processes. The kernel holds it (as SQLite's lock
 * on an empty side file), so that it ends with its holder, however that one dies.
 */
export class JournalLock {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #waitMs: number;
  #database: DatabaseSync | undefined;

  constructor(files: FileSystem, path: string, waitMs: number = LIMITS.effectLockWaitMs) {
    this.#files = files;
    this.#path = path;
    this.#waitMs = waitMs;
  }

  /** Runs the body while the lock is held. Throws `EFFECT_JOURNAL_BUSY` when another holder does not leave in time. */
  async hold<T>(body: () => T): Promise<T> {
    const database = await this.#open();
    await this.#acquire(database);
    try {
      return body();
    } finally {
      database.exec('ROLLBACK');
    }
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  async #open(): Promise<DatabaseSync> {
    if (this.#database) return this.#database;
    this.#makeFile();
    const sqlite = await import('node:sqlite');
    this.#database ??= new sqlite.DatabaseSync(this.#path, { timeout: 0 });
    return this.#database;
  }

  /** The file is made here, private, and never opened again by us: closing it would end locks held in this process. */
  #makeFile(): void {
    const facts = this.#entry();
    if (facts === undefined) this.#files.close(this.#files.open(this.#path, 'wx', 0o600));
    else if (facts.kind !== 'file' || facts.links !== 1 || (facts.mode & 0o022) !== 0)
      throw fail('EFFECT_JOURNAL_UNSAFE', 'The lock of the journal is not one private regular file.');
  }

  #entry() {
    try {
      return this.#files.lstat(this.#path);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #acquire(database: DatabaseSync): Promise<void> {
    let waited = 0;
    for (let delay = 1; ; delay = Math.min(2 * delay, 50)) {
      if (begin(database)) return;
      if (waited >= this.#waitMs) throw fail('EFFECT_JOURNAL_BUSY', 'Another process holds the journal of this run.');
      await pause(delay);
      waited += delay;
    }
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
