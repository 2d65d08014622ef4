import { fail, type FileSystem, KernelLock, LIMITS } from '../../core/index.ts';

/** The exclusive right to append to one journal, against this and other processes; it ends with its holder. */
export class JournalLock {
  readonly #lock: KernelLock;
  readonly #waitMs: number;

  constructor(files: FileSystem, path: string, waitMs: number = LIMITS.effectLockWaitMs) {
    this.#waitMs = waitMs;
    this.#lock = new KernelLock({
      files,
      path,
      busy: () => fail('EFFECT_JOURNAL_BUSY', 'Another process holds the journal of this run.'),
      unsafe: () => fail('EFFECT_JOURNAL_UNSAFE', 'The lock of the journal is not one private regular file.'),
    });
  }

  /** Runs the body while the lock is held. Throws `EFFECT_JOURNAL_BUSY` when another holder does not leave in time. */
  hold<T>(body: () => T): Promise<T> {
    return this.#lock.hold(this.#waitMs, body);
  }

  close(): void {
    this.#lock.close();
  }
}
