import type { Store, Tx } from '../../store/index.ts';

/** How long a record of a read may lie in memory, and how many may: then all are written in one commit. */
const WAIT_MS = 250;
const MOST = 64;

/**
 * Records that nobody waits for, such as what a read came to: gathered, so that a host that reads much does not wait for
 * the disk. A crash loses what was not yet written; it was a read, and changed nothing.
 */
export class LaterWrites {
  readonly #store: Store;
  readonly #failed: (error: unknown) => void;
  readonly #running = new Set<Promise<void>>();
  #gathered: ((tx: Tx) => Promise<void>)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, failed: (error: unknown) => void) {
    this.#store = store;
    this.#failed = failed;
  }

  add(write: (tx: Tx) => Promise<void>): void {
    this.#gathered.push(write);
    if (this.#gathered.length >= MOST) return this.#flush();
    this.#timer ??= setTimeout(() => this.#flush(), WAIT_MS);
  }

  /** Settles when everything that was added is written, or has failed. */
  async written(): Promise<void> {
    this.#flush();
    await Promise.allSettled(this.#running);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const gathered = this.#gathered;
    if (gathered.length === 0) return;
    this.#gathered = [];
    const done = this.#store
      .write('guard.later', async (tx) => {
        for (const write of gathered) await write(tx);
      })
      .catch(this.#failed);
    this.#running.add(done);
    void done.finally(() => this.#running.delete(done));
  }
}
