import type { DatabaseSync } from 'node:sqlite';
import { fail, LIMITS } from '../../core/index.ts';
import type { StoreObserver } from '../observer.ts';
import type { ReadTx } from '../port.ts';
import { storeError } from './driver-errors.ts';
import { GroupRun, type Job } from './group-run.ts';
import { Statements } from './statements.ts';

export interface ReaderOptions {
  /** Opened at the first read. */
  readonly open: () => DatabaseSync;
  readonly observer: StoreObserver | undefined;
}

/** Runs read bodies on a connection of their own. Those that arrive together share one snapshot of committed data. */
export class GroupReader {
  readonly #options: ReaderOptions;
  #connection: { readonly database: DatabaseSync; readonly statements: Statements } | undefined;
  #queue: Job[] = [];
  #busy = false;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  read<T>(name: string, body: (tx: ReadTx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(fail('STORE_CLOSED', 'The store is closed.'));
      if (this.#queue.length >= LIMITS.storeWaitingBodies)
        return reject(
          fail('STORE_OVERLOADED', 'Too many reads are waiting.', { details: { limit: 'storeWaitingBodies' } }),
        );
      const tell = resolve as (value: unknown) => void;
      this.#queue.push({ name, body, resolve: tell, reject, state: 'waiting', outcome: undefined });
      if (!this.#busy) this.#schedule();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#connection?.database.close();
    if (this.#connection !== undefined) this.#options.observer?.({ kind: 'connection_closed', role: 'reader' });
    this.#connection = undefined;
  }

  #schedule(): void {
    this.#busy = true;
    setImmediate(() => void this.#turn());
  }

  async #turn(): Promise<void> {
    const jobs = this.#queue.splice(0, LIMITS.storeGroupBodies);
    try {
      // A disk error under one body ends the snapshot: the rest is read in another.
      for (let left = jobs; left.length > 0; left = left.filter((job) => job.state === 'waiting'))
        await this.#snapshot(left);
    } catch (error) {
      for (const job of jobs) if (job.state === 'waiting') Object.assign(job, failed(error));
    }
    for (const job of jobs) (job.state === 'returned' ? job.resolve : job.reject)(job.outcome);
    if (this.#queue.length > 0) return this.#schedule();
    this.#busy = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #snapshot(jobs: readonly Job[]): Promise<void> {
    const { database, statements } = this.#connect();
    const { observer } = this.#options;
    database.exec('BEGIN');
    try {
      await new GroupRun({ database, statements, observer, mode: 'read' }, jobs).run();
    } finally {
      if (database.isTransaction) database.exec('ROLLBACK');
    }
    observer?.({ kind: 'snapshot', names: jobs.map((job) => job.name) });
  }

  #connect(): { readonly database: DatabaseSync; readonly statements: Statements } {
    if (this.#connection === undefined) {
      const database = this.#options.open();
      this.#connection = { database, statements: new Statements(database) };
    }
    return this.#connection;
  }
}

function failed(error: unknown): Pick<Job, 'state' | 'outcome'> {
  return { state: 'threw', outcome: storeError(error) };
}
