import type { DatabaseSync } from 'node:sqlite';
import { fail } from '../../core/index.ts';
import type { StoreObserver } from '../observer.ts';
import type { Tx } from '../port.ts';
import { BodyTx, type Ground } from './body-tx.ts';
import { storeError } from './driver-errors.ts';
import type { Statements } from './statements.ts';

/** `queueMicrotask` makes an async resource each time; this does not. */
const SETTLED = Promise.resolve();

/** One body that waits to be run and told. */
export interface Job {
  readonly name: string;
  readonly body: (tx: Tx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  state: 'waiting' | 'returned' | 'threw' | 'stuck';
  /** What it returned or threw: told only when the group is settled. */
  outcome: unknown;
}

/**
 * How a group's bodies ended: all of them, with the transaction open; or one threw after writing and there was no
 * savepoint to go back to; or SQLite undid the whole transaction under one of them.
 */
export type GroupEnd =
  | { readonly kind: 'all_ended' }
  | { readonly kind: 'needs_savepoints' }
  | { readonly kind: 'undone'; readonly by: Job };

export interface GroupPlace {
  readonly database: DatabaseSync;
  readonly statements: Statements;
  readonly observer: StoreObserver | undefined;
  readonly mode: 'read' | 'write' | 'write_with_savepoints';
}

/**
 * Runs the bodies of one group one after another inside an open transaction. A body's awaits are settled promises, so
 * the whole group fits into one drain of the microtask queue; a body that is still running when the queue is empty
 * waits for something else and is given up on.
 */
export class GroupRun {
  readonly #place: GroupPlace;
  readonly #jobs: readonly Job[];
  readonly #ground: Ground;
  #index = 0;
  #current: BodyTx | undefined;
  /** Rises when a body is given up on, so that its late return reaches nobody. */
  #generation = 0;
  #finish: ((end: GroupEnd) => void) | undefined;
  wrote = false;

  constructor(place: GroupPlace, jobs: readonly Job[]) {
    this.#place = place;
    this.#jobs = jobs;
    const { database, statements, observer } = place;
    const isOpen = () => database.isTransaction;
    const beforeWriting = () => this.#beforeWriting();
    this.#ground = { statements, observer, mayWrite: place.mode !== 'read', isOpen, beforeWriting };
  }

  run(): Promise<GroupEnd> {
    return new Promise((resolve) => {
      this.#finish = resolve;
      this.#start();
    });
  }

  /** From a microtask, so that the watchdog's tick comes before any tick that a body may ask for. */
  #start(): void {
    void SETTLED.then(() => {
      process.nextTick(() => this.#watch());
      void this.#loop(this.#generation);
    });
  }

  async #loop(generation: number): Promise<void> {
    const jobs = this.#jobs;
    for (let i = this.#index; i < jobs.length; i += 1) {
      const job = jobs[i] as Job;
      const tx = new BodyTx(job.name, this.#ground);
      this.#index = i;
      this.#current = tx;
      try {
        const value = await job.body(tx);
        if (generation !== this.#generation) return;
        job.state = 'returned';
        job.outcome = value;
      } catch (error) {
        if (generation !== this.#generation) return;
        job.state = 'threw';
        job.outcome = error;
      }
      tx.ended = true;
      if (job.state === 'returned' && tx.failure === undefined && this.#place.mode === 'write') continue;
      const end = this.#leave(job, tx);
      if (end !== undefined) return this.#end(end);
    }
    this.#end({ kind: 'all_ended' });
  }

  #beforeWriting(): void {
    this.wrote = true;
    if (this.#place.mode === 'write_with_savepoints') this.#place.database.exec('SAVEPOINT body');
  }

  /** What a body's end means for its group: undefined where the group goes on. */
  #leave(job: Job, tx: BodyTx): GroupEnd | undefined {
    tx.ended = true;
    if (tx.failure !== undefined && !this.#place.database.isTransaction) return undoneBy(job, tx.failure);
    if (!tx.wrote) return undefined;
    if (this.#place.mode === 'write_with_savepoints') return this.#closeSavepoint(job);
    return job.state === 'returned' ? undefined : { kind: 'needs_savepoints' };
  }

  #closeSavepoint(job: Job): GroupEnd | undefined {
    try {
      if (job.state !== 'returned') this.#place.database.exec('ROLLBACK TO body');
      this.#place.database.exec('RELEASE body');
      return undefined;
    } catch (error) {
      return undoneBy(job, storeError(error));
    }
  }

  #end(end: GroupEnd): void {
    this.#generation += 1;
    this.#current = undefined;
    const finish = this.#finish;
    this.#finish = undefined;
    finish?.(end);
  }

  /** The microtask queue is empty: whoever still runs awaits something that is not its transaction. */
  #watch(): void {
    const tx = this.#current;
    const job = this.#jobs[this.#index];
    if (tx === undefined || job === undefined) return;
    this.#generation += 1;
    job.state = 'stuck';
    job.outcome = fail('STORE_BODY_WAITED', `The body ${job.name} awaited something other than its transaction.`, {
      details: { body: job.name },
    });
    const end = this.#leave(job, tx);
    if (end !== undefined) return this.#end(end);
    this.#index += 1;
    this.#start();
  }
}

/** A body that caught the error which undid its group did not succeed for that. */
function undoneBy(job: Job, error: unknown): GroupEnd {
  if (job.state === 'returned') Object.assign(job, { state: 'threw', outcome: error });
  return { kind: 'undone', by: job };
}
