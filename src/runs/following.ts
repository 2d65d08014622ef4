import { fail, HoldfastError, LIMITS } from '../core/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { RunListener } from './context.ts';
import type { DamagedRun } from './damage.ts';
import { isFollowUp } from './follow-up.ts';
import type { RunRecord } from './model.ts';
import type { RunNewsItem } from './run-news.ts';
import * as sql from './run-queries.ts';
import { exact, isDamaged, isReady, readRun, requireRun, runTree } from './run-store.ts';
import type { WaitingHost } from './waiting.ts';

/** How a process that carries decided runs on is told of them. */
export interface CarryOnOptions {
  /** Hears of each run that is carried on. */
  readonly listener?: RunListener;
  /**
   * A run could not be carried on; it stands as it is stored. Where the store was only busy it is tried again. Default:
   * nothing is told.
   */
  readonly onError?: (runId: string, error: unknown) => void;
}

/** How long after the store was too busy a decided run is looked at again. Milliseconds. */
const BUSY_PAUSE_MS = 1_000;

/**
 * Carries on whatever run of the agents of this process waits no more, though nobody here awaits it. So many at once as
 * `LIMITS.runsCarriedOnAtOnce` says; the others have their turn in the order in which they were heard of. What is queued
 * here stands as decided in the store, where whoever follows next finds it.
 */
export class Following {
  readonly #host: WaitingHost;
  readonly #options: CarryOnOptions;
  /** Heard of and not yet looked at, the first first; each run once. */
  readonly #queue = new Map<string, RunNewsItem>();
  /** How many are being looked at or carried on. */
  #going = 0;
  /** The runs that are carried on here, and whether one was heard of again meanwhile: each has one place. */
  readonly #carried = new Map<string, { again: boolean }>();
  #closed = false;

  constructor(host: WaitingHost, options: CarryOnOptions) {
    this.#host = host;
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
    this.#queue.clear();
  }

  /** Runs that were decided while nobody was there to carry them on, a page at a time. Settles when all have a place. */
  async takeUpDecided(): Promise<void> {
    for (let after = ''; !this.#closed; ) {
      const page = await this.#host.store.read('runs.waiting', (tx) => waitingAfter(tx, after));
      for (const run of page) {
        if (isDamaged(run)) this.#tell(run.runId, fail('RUN_RECORD_BROKEN', run.why));
        else await this.#hearReady({ tenant: run.principal.tenant, runId: run.runId });
      }
      const last = page.at(-1);
      if (!last || page.length < LIMITS.sessionPageRows) return;
      after = last.runId;
    }
  }

  /** Something was written about a run: the run at the top of its tree is carried on where nothing below it waits. */
  hear(news: RunNewsItem): void {
    if (this.#closed) return;
    const key = `${news.runId} ${news.tenant}`;
    // One that is queued already is looked at after this news; one that goes on has another look afterwards.
    if (!this.#queue.has(key)) this.#queue.set(key, news);
    this.#next();
  }

  /** Most of the runs that wait are not decided: they take no place. */
  async #hearReady(news: RunNewsItem): Promise<void> {
    try {
      if ((await this.#topOf(news)) !== null) this.hear(news);
    } catch (error) {
      this.#tell(news.runId, error);
      this.#hearAgain(news, error);
    }
  }

  /** Nobody writes of a decided run once more: one that a busy store kept from its turn would wait for ever. */
  #hearAgain(news: RunNewsItem, error: unknown): void {
    if (!(error instanceof HoldfastError) || error.code !== 'STORE_BUSY') return;
    setTimeout(() => this.hear(news), BUSY_PAUSE_MS).unref();
  }

  #next(): void {
    for (const [key, news] of this.#queue) {
      if (this.#going >= LIMITS.runsCarriedOnAtOnce) return;
      this.#queue.delete(key);
      this.#going += 1;
      void this.#carryOn(news).finally(() => {
        this.#going -= 1;
        this.#next();
      });
    }
  }

  /** Settles when the run has come to a stand, was none to be carried on, or could not be; throws nothing. */
  async #carryOn(news: RunNewsItem): Promise<void> {
    let { runId } = news;
    try {
      const top = await this.#topOf(news);
      if (top === null || this.#closed) return;
      runId = top.runId;
      // Each run below it that was decided tells of the same one.
      const other = this.#carried.get(runId);
      if (other) other.again = true;
      else await this.#carryOnTop(top, news);
    } catch (error) {
      this.#tell(runId, error);
      this.#hearAgain(news, error);
    }
  }

  async #carryOnTop({ principal, runId }: RunRecord, news: RunNewsItem): Promise<void> {
    const carried = { again: this.#host.isCarried(runId) };
    this.#carried.set(runId, carried);
    try {
      const { ended } = await this.#host.resume(principal, runId, this.#options.listener ?? {});
      const { state } = await ended;
      // One that was on its way to its stand when it was decided has not seen the decision.
      if (carried.again && state.status === 'waiting_confirmation') this.hear(news);
    } finally {
      this.#carried.delete(runId);
    }
  }

  async #topOf({ tenant, runId }: RunNewsItem): Promise<RunRecord | null> {
    const top = await this.#host.store.read('runs.waiting', (tx) => readyTop(tx, tenant, runId));
    return top !== null && this.#host.knows(top.agent) ? top : null;
  }

  #tell(runId: string, error: unknown): void {
    if (!this.#closed && !this.#host.isElsewhere(error)) this.#options.onError?.(runId, error);
  }
}

/** One that cannot be read keeps no other from being carried on. */
async function waitingAfter(tx: ReadTx, after: string): Promise<readonly (RunRecord | DamagedRun)[]> {
  return (await tx.all(exact(sql.LIST_WAITING), [after, LIMITS.sessionPageRows])).map(readRun);
}

/**
 * The run above all others of a run's tree, where it waits, or the follow-up that was heard of does, and nothing of the
 * tree waits for a person any more; else null.
 */
async function readyTop(tx: ReadTx, tenant: string, runId: string): Promise<RunRecord | null> {
  const reader = { tenant, subject: 'watcher', roles: [] };
  const heard = await requireRun(tx, reader, runId);
  let top = heard;
  for (let depth = 0; top.parent !== null && depth <= LIMITS.runDepth; depth += 1)
    top = await requireRun(tx, reader, top.parent.runId);
  const waits = isFollowUp(heard) ? heard : top;
  if (waits.state.status !== 'waiting_confirmation') return null;
  return (await isReady(tx, await runTree(tx, reader, top.runId))) ? top : null;
}
