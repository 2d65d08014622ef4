import { fail, type FileSystem, KernelLock } from '../../core/index.ts';

interface Turns {
  readonly lock: KernelLock;
  last: Promise<unknown>;
  waiting: number;
}

/** Writers of one trace take turns inside the process, and hold a lock that the kernel releases between processes. */
export class TraceLocks {
  readonly #files: FileSystem;
  readonly #waitMs: number;
  readonly #turns = new Map<string, Turns>();

  constructor(files: FileSystem, waitMs: number) {
    this.#files = files;
    this.#waitMs = waitMs;
  }

  /** Runs the body alone among all writers of the trace in this folder. Throws `TRACE_STORE_BUSY`. */
  async hold<T>(folder: string, body: () => T): Promise<T> {
    const turns = this.#turnsOf(folder);
    turns.waiting += 1;
    const done = turns.last.then(() => turns.lock.hold(this.#waitMs, body));
    turns.last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      turns.waiting -= 1;
      if (turns.waiting === 0) this.#forget(folder, turns);
    }
  }

  #turnsOf(folder: string): Turns {
    const known = this.#turns.get(folder);
    if (known !== undefined) return known;
    const made = { lock: traceLock(this.#files, `${folder}/.lock`), last: Promise.resolve(), waiting: 0 };
    this.#turns.set(folder, made);
    return made;
  }

  #forget(folder: string, turns: Turns): void {
    turns.lock.close();
    this.#turns.delete(folder);
  }
}

export function traceLock(files: FileSystem, path: string): KernelLock {
  return new KernelLock({
    files,
    path,
    busy: () => fail('TRACE_STORE_BUSY', 'Another process is writing to this trace.'),
    unsafe: () => fail('TRACE_CORRUPT', 'The lock of the trace is not one private regular file.'),
  });
}
