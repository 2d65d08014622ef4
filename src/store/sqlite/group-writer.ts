import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type FaultPoints, fail, type HoldfastError, LIMITS } from '../../core/index.ts';
import type { StoreObserver } from '../observer.ts';
import type { Tx } from '../port.ts';
import { Checkpoints } from './checkpoints.ts';
import { announce, CONNECTION_SETTINGS } from './connection.ts';
import { isBusy, isDiskFailure, isSyncFailure, storeError } from './driver-errors.ts';
import { type GroupEnd, GroupRun, type Job } from './group-run.ts';
import { withPatience } from './patience.ts';
import { Statements } from './statements.ts';

/** After a body failed having written, this many groups take savepoints from the start. */
const CAUTIOUS_GROUPS = 16;

export interface WriterOptions {
  readonly database: DatabaseSync;
  /** The database's file, for the thread that copies the WAL back. */
  readonly file: string;
  readonly busyTimeoutMs: number;
  readonly observer: StoreObserver | undefined;
  readonly faults: FaultPoints;
}

type Settled = 'settled' | 'needs_savepoints' | { readonly undoneBy: Job | undefined };

/** Collects write bodies into groups; each group is one transaction, one commit and so one sync. */
export class GroupWriter {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #checkpoints: Checkpoints;
  readonly #options: WriterOptions;
  #queue: Job[] = [];
  #busy = false;
  #cautious = 0;
  #closed = false;
  #idle: (() => void)[] = [];
  /** Why this process writes no more. */
  halted: HoldfastError | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#statements = new Statements(options.database);
    this.#checkpoints = new Checkpoints({
      database: options.database,
      file: options.file,
      settings: CONNECTION_SETTINGS,
      copied: (frames) => options.observer?.({ kind: 'checkpoint', frames }),
      failed: (error) => this.#haltIf(isDiskFailure(error), error),
      threadOpened: () => announce(options.observer, 'tool'),
      threadClosed: () => options.observer?.({ kind: 'connection_closed', role: 'tool' }),
    });
    this.#begin = options.database.prepare('BEGIN IMMEDIATE');
    this.#commit = options.database.prepare('COMMIT');
  }

  write<T>(name: string, body: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const refusal = this.#refusal();
      if (refusal !== undefined) return reject(refusal);
      const tell = resolve as (value: unknown) => void;
      this.#queue.push({ name, body, resolve: tell, reject, state: 'waiting', outcome: undefined });
      if (!this.#busy) this.#schedule();
    });
  }

  /** Refuses new bodies and waits for those that were taken. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
    await this.#checkpoints.close();
  }

  #refusal(): HoldfastError | undefined {
    if (this.halted !== undefined) return this.halted;
    if (this.#closed) return fail('STORE_CLOSED', 'The store is closed.');
    if (this.#queue.length < LIMITS.storeWaitingBodies) return undefined;
    return fail('STORE_OVERLOADED', 'Too many writes are waiting already.', {
      details: { limit: 'storeWaitingBodies' },
    });
  }

  /** The event loop gets a turn before every group: what arrives during it shares the commit. */
  #schedule(): void {
    this.#busy = true;
    setImmediate(() => void this.#turn());
  }

  async #turn(): Promise<void> {
    const jobs = this.#queue.splice(0, LIMITS.storeGroupBodies);
    try {
      await this.#settleTogether(jobs);
    } catch (error) {
      this.#giveUp(jobs, error);
    }
    for (const job of jobs) tell(job);
    // An error here takes nothing back, but a failed sync ends the writing.
    if (this.halted === undefined) this.#checkpoints.afterGroup(this.#statements);
    if (this.#queue.length > 0) return this.#schedule();
    this.#busy = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #settleTogether(jobs: readonly Job[]): Promise<void> {
    const cautious = this.#cautious > 0;
    if (cautious) this.#cautious -= 1;
    let settled = await this.#attempt(jobs, cautious && jobs.length > 1);
    if (settled === 'needs_savepoints') {
      this.#cautious = CAUTIOUS_GROUPS;
      settled = await this.#attempt(again(jobs), true);
    }
    if (typeof settled === 'object') await this.#settleAlone(jobs, settled.undoneBy);
  }

  /** The group is gone: whoever did not undo it is run once more, alone. */
  async #settleAlone(jobs: readonly Job[], culprit: Job | undefined): Promise<void> {
    for (const job of again(jobs)) {
      if (job === culprit) continue;
      try {
        await this.#attempt([job], false);
      } catch (error) {
        this.#giveUp([job], error);
      }
    }
  }

  #giveUp(jobs: readonly Job[], error: unknown): void {
    this.#undo();
    settleAll(jobs, storeError(error));
  }

  async #attempt(jobs: readonly Job[], savepoints: boolean): Promise<Settled> {
    if (jobs.length === 0) return 'settled';
    const { busyTimeoutMs, observer, faults } = this.#options;
    if (!this.#openAtOnce()) await withPatience(busyTimeoutMs, observer, () => this.#open());
    await faults.reach('group-begun');
    const mode = savepoints ? 'write_with_savepoints' : 'write';
    const run = new GroupRun({ database: this.#database, statements: this.#statements, observer, mode }, jobs);
    const end = await run.run();
    if (end.kind === 'all_ended') return this.#commitGroup(jobs, run.wrote);
    return this.#rollBack(jobs, end);
  }

  #openAtOnce(): boolean {
    try {
      this.#open();
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw storeError(error);
    }
  }

  #open(): void {
    if (this.halted !== undefined) throw this.halted;
    this.#begin.run();
  }

  #rollBack(jobs: readonly Job[], end: Exclude<GroupEnd, { kind: 'all_ended' }>): Settled {
    const names = jobs.map((job) => job.name);
    this.#options.observer?.({ kind: 'rolled_back', names, why: end.kind === 'undone' ? 'database' : 'body' });
    this.#undo();
    if (end.kind === 'undone') this.#haltIf(isSyncFailure(end.by.outcome), end.by.outcome);
    if (jobs.length === 1) return 'settled';
    return end.kind === 'undone' ? { undoneBy: end.by } : 'needs_savepoints';
  }

  #undo(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  async #commitGroup(jobs: readonly Job[], wrote: boolean): Promise<Settled> {
    const { observer, faults } = this.#options;
    try {
      await faults.reach('group-about-to-commit');
      this.#commit.run();
    } catch (error) {
      return this.#commitFailed(jobs, error);
    }
    await faults.reach('group-committed');
    if (observer !== undefined) {
      const names = jobs.filter((job) => job.state === 'returned').map((job) => job.name);
      observer({ kind: 'committed', names, wrote });
    }
    return 'settled';
  }

  #commitFailed(jobs: readonly Job[], thrown: unknown): Settled {
    this.#options.observer?.({ kind: 'rolled_back', names: jobs.map((job) => job.name), why: 'commit' });
    this.#undo();
    const error = storeError(thrown);
    this.#haltIf(isDiskFailure(error), error);
    if (this.halted === undefined && jobs.length > 1) return { undoneBy: undefined };
    for (const job of jobs) settleAll([job], this.#afterFailedCommit(job, error));
    return 'settled';
  }

  /** A commit that failed in the disk may still be found there later: whoever wrote is told that it is unknown. */
  #afterFailedCommit(job: Job, error: unknown): unknown {
    if (this.halted === undefined) return error;
    if (job.state !== 'returned') return this.halted;
    const message = `The disk failed while ${job.name} was made durable; whether it is stored is not known.`;
    return fail('STORE_SYNC_FAILED', message, { cause: error });
  }

  #haltIf(condition: boolean, cause: unknown): void {
    if (!condition || this.halted !== undefined) return;
    const message = 'A sync of the database failed in this process, so it writes no more.';
    this.halted = fail('STORE_HALTED', message, { cause });
    this.#options.observer?.({ kind: 'halted' });
  }
}

/** Those whose bodies are run again: all but the ones that were given up on. */
function again(jobs: readonly Job[]): Job[] {
  return jobs.filter((job) => job.state !== 'stuck');
}

function settleAll(jobs: readonly Job[], error: unknown): void {
  for (const job of jobs) {
    if (job.state === 'stuck') continue;
    job.state = 'threw';
    job.outcome = error;
  }
}

function tell(job: Job): void {
  if (job.state === 'returned') job.resolve(job.outcome);
  else job.reject(job.outcome);
}
