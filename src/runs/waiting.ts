import { HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { Store } from '../store/index.ts';
import type { RunListener } from './context.ts';
import { type CarryOnOptions, Following } from './following.ts';
import type { RunRecord } from './model.ts';
import { RunNews, type RunNewsItem } from './run-news.ts';
import { isReady, runTree } from './run-store.ts';

/** How runs are carried on, and how one stands. */
export interface WaitingHost {
  readonly store: Store;
  resume(principal: Principal, runId: string, listener: RunListener): Promise<{ readonly ended: Promise<RunRecord> }>;
  get(principal: Principal, runId: string): Promise<RunRecord>;
  /** Whether the agent of that name is defined in this process. */
  knows(agent: string): boolean;
  /** Whether this process carries the run out now. */
  isCarried(runId: string): boolean;
  /** Whether an error says that somebody else carries the run on, or has ended it. */
  isElsewhere(error: unknown): boolean;
  /** Whether a run that has ended is still supervised. */
  isSupervised(run: RunRecord): Promise<boolean>;
}

/**
 * How long after a supervised run came to a stand it is looked at again: the first time, and at most. What stands for a
 * lease to end writes as often as it is looked at. Milliseconds.
 */
const FOLLOW_UP_LOOK_MS = 200;
const LONGEST_REST_MS = 5000;

const RESTED = { rests: 0, resting: false } as const;

interface Waiter {
  readonly principal: Principal;
  readonly runId: string;
  readonly listener: RunListener;
  readonly ended: Promise<RunRecord>;
  readonly settle: (record: RunRecord) => void;
  readonly refuse: (error: unknown) => void;
  /** Being looked at or carried on; `again` where something happened meanwhile. */
  busy: boolean;
  again: boolean;
  /** How often in a row its supervision stood still without waiting for a person. */
  rests: number;
  /** Not looked at until its time is over, whatever is heard. */
  resting: boolean;
}

/**
 * Runs that wait in this process for a decision, wherever it is made: those that somebody awaits, and with `follow` all
 * of its agents. A run is looked at when something was written about it, or about a run below it.
 */
export class WaitingRuns {
  readonly #host: WaitingHost;
  readonly #news: RunNews;
  readonly #waiters = new Map<string, Waiter>();
  /** Each run of an awaited tree, with the one who awaits it. */
  readonly #above = new Map<string, Waiter>();
  #following: Following | undefined;
  #closed = false;

  constructor(host: WaitingHost) {
    this.#host = host;
    this.#news = new RunNews(host.store, (news) => this.#hear(news));
  }

  /**
   * Settles when the run has ended; until then it is carried on each time nothing of it waits any more. The process
   * stays while somebody awaits a run. Two that await one run are told together, and the first one's listener hears.
   */
  wait(principal: Principal, runId: string, listener: RunListener): Promise<RunRecord> {
    const known = this.#waiters.get(runId);
    if (known) return known.ended;
    const { promise: ended, resolve: settle, reject: refuse } = Promise.withResolvers<RunRecord>();
    const waiter: Waiter = { principal, runId, listener, ended, settle, refuse, busy: false, again: false, ...RESTED };
    // Closed already: nothing is looked at any more, or the look would keep the process for ever.
    if (this.#closed) return ended;
    this.#waiters.set(runId, waiter);
    this.#news.keepProcess(true);
    void this.#begin(waiter);
    return ended;
  }

  /**
   * From now on every run of the agents of this process is carried on when it is decided; once more changes nothing.
   * Where it throws, nothing is followed, and it can be asked for again.
   */
  async follow(options: CarryOnOptions): Promise<void> {
    if (this.#following || this.#closed) return;
    const following = new Following(this.#host, options);
    this.#following = following;
    try {
      await this.#news.begin();
      await following.takeUpDecided();
    } catch (error) {
      following.close();
      this.#following = undefined;
      if (this.#waiters.size === 0) this.#news.end();
      throw error;
    }
  }

  get isFollowing(): boolean {
    return this.#following !== undefined && !this.#closed;
  }

  /** Looks no more; what waits here waits in the store. */
  close(): void {
    this.#closed = true;
    this.#following?.close();
    this.#news.end();
  }

  async #begin(waiter: Waiter): Promise<void> {
    try {
      // News are heard from before the first look at the run: nothing falls between them.
      await this.#news.begin();
      await this.#look(waiter);
    } catch (error) {
      // What closes meanwhile is not told: the run waits on in the store.
      if (!this.#closed) this.#end(waiter, () => waiter.refuse(error));
    }
  }

  #hear(news: RunNewsItem): void {
    const waiter = this.#above.get(news.runId);
    if (waiter) void this.#look(waiter);
    else this.#following?.hear(news);
  }

  async #look(waiter: Waiter): Promise<void> {
    waiter.again = true;
    if (waiter.busy || waiter.resting) return;
    waiter.busy = true;
    try {
      while (waiter.again && !waiter.resting && this.#waiters.has(waiter.runId)) {
        waiter.again = false;
        const ended = await this.#carryOn(waiter);
        if (ended) this.#end(waiter, () => waiter.settle(ended));
      }
    } catch (error) {
      // What closes meanwhile is not told: the run waits on in the store.
      if (!this.#closed) this.#end(waiter, () => waiter.refuse(error));
    } finally {
      waiter.busy = false;
    }
  }

  /** Carries the run on if it can go on; the record of a run that has ended, else null. */
  async #carryOn(waiter: Waiter): Promise<RunRecord | null> {
    const { principal, runId, listener } = waiter;
    const { ready, tree } = await this.#host.store.read('runs.waiting', async (tx) => {
      const runs = await runTree(tx, principal, runId);
      return { tree: runs, ready: await isReady(tx, runs) };
    });
    // First by the text that it is awaited by: a map keeps its first key, and not a second text of the same.
    this.#above.set(runId, waiter);
    for (const one of tree) this.#above.set(one.runId, waiter);
    const [self] = tree.filter((one) => one.runId === runId);
    if (self && !(await this.#isOpen(self))) return self;
    if (!ready || this.#closed) {
      waiter.rests = 0;
      return null;
    }
    try {
      const { ended } = await this.#host.resume(principal, runId, listener);
      const record = await ended;
      if (record.state.status === 'waiting_confirmation') waiter.again = true;
      const open = await this.#isOpen(record);
      // A follow-up that was begun meanwhile may wait: its runs are seen at the next look.
      if (open && !isOpen(record)) this.#rest(waiter);
      return open ? null : record;
    } catch (error) {
      if (!this.#host.isElsewhere(error) && !wasTaken(error)) throw error;
      const record = await this.#host.get(principal, runId);
      return (await this.#isOpen(record)) ? null : record;
    }
  }

  #rest(waiter: Waiter): void {
    const restMs = Math.min(FOLLOW_UP_LOOK_MS * 2 ** waiter.rests, LONGEST_REST_MS);
    waiter.rests += 1;
    waiter.resting = true;
    const rested = (): void => {
      waiter.resting = false;
      void this.#look(waiter);
    };
    setTimeout(rested, restMs).unref();
  }

  async #isOpen(record: RunRecord): Promise<boolean> {
    return isOpen(record) || this.#host.isSupervised(record);
  }

  #end(waiter: Waiter, tell: () => void): void {
    this.#waiters.delete(waiter.runId);
    for (const [runId, other] of this.#above) if (other === waiter) this.#above.delete(runId);
    if (this.#waiters.size === 0) {
      this.#news.keepProcess(false);
      if (!this.#following) this.#news.end();
    }
    tell();
  }
}

const ELSEWHERE: ReadonlySet<string> = new Set(['RUN_BUSY', 'RUN_ENDED']);

/** Another process has let go of the run while this one slept: whoever did, or carries it on, writes of it. */
const wasTaken = (error: unknown): boolean => error instanceof HoldfastError && error.code === 'RUN_NOT_OWNED';

/** Somebody else carries the run on, or has ended it. */
export function isElsewhere(error: unknown): boolean {
  return error instanceof HoldfastError && ELSEWHERE.has(error.code);
}

const isOpen = ({ state: { status } }: RunRecord): boolean => status === 'running' || status === 'waiting_confirmation';
