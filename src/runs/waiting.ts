import { hasPending, requireRequest } from '../approvals/index.ts';
import { HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { type FeedEntry, feedHead, readFeed, type Store } from '../store/index.ts';
import type { RunListener } from './context.ts';
import type { RunRecord } from './model.ts';
import { runTree } from './run-store.ts';

/** How the watcher carries a run on, and reads how one stands. */
export interface WaitingHost {
  readonly store: Store;
  resume(principal: Principal, runId: string, listener: RunListener): Promise<{ readonly ended: Promise<RunRecord> }>;
  get(principal: Principal, runId: string): Promise<RunRecord>;
}

interface Waiter {
  readonly principal: Principal;
  readonly runId: string;
  readonly listener: RunListener;
  readonly settle: (record: RunRecord) => void;
  readonly refuse: (error: unknown) => void;
  /** Being looked at or carried on; `again` where something happened meanwhile. */
  busy: boolean;
  again: boolean;
}

/** How often the newest number of the feed is read while something waits. Milliseconds. */
const LOOK_MS = 20;

/**
 * Runs that wait in this process for a decision, wherever it is made. One timer looks at the newest number of the feed
 * for all of them, and only while there are any; a run is looked at when an entry names it, or a run below it.
 */
export class WaitingRuns {
  readonly #host: WaitingHost;
  readonly #waiters = new Map<string, Waiter>();
  /** Each run of a waiting tree, with the waiting run. */
  readonly #above = new Map<string, Waiter>();
  readonly #seen = new Map<string, number>();
  #head = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(host: WaitingHost) {
    this.#host = host;
  }

  /** Settles when the run has ended; until then it is carried on each time nothing of it waits any more. */
  wait(principal: Principal, runId: string, listener: RunListener): Promise<RunRecord> {
    return new Promise((settle, refuse) => {
      const waiter: Waiter = { principal, runId, listener, settle, refuse, busy: false, again: false };
      this.#waiters.set(runId, waiter);
      void this.#begin(waiter);
    });
  }

  /** Looks no more; what waits here waits in the store. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #begin(waiter: Waiter): Promise<void> {
    try {
      const { tenant } = waiter.principal;
      // The feed is read from before the first look at the run: nothing falls between them.
      const head = await this.#host.store.read('runs.feed-head', feedHead);
      if (!this.#seen.has(tenant)) this.#seen.set(tenant, head);
      this.#timer ??= this.#next();
      await this.#look(waiter);
    } catch (error) {
      // What closes meanwhile is not told: the run waits on in the store.
      if (!this.#closed) this.#end(waiter, () => waiter.refuse(error));
    }
  }

  #next(): NodeJS.Timeout | undefined {
    if (this.#closed) return undefined;
    return setTimeout(() => void this.#tick(), LOOK_MS).unref();
  }

  async #tick(): Promise<void> {
    try {
      const head = await this.#host.store.read('runs.feed-head', feedHead);
      if (head > this.#head) for (const tenant of this.#seen.keys()) await this.#readNews(tenant);
      this.#head = head;
    } catch {
      // What was missed is read at the next look: the numbers seen were not moved on.
    }
    this.#timer = this.#waiters.size > 0 ? this.#next() : undefined;
    if (this.#waiters.size === 0) this.#seen.clear();
  }

  async #readNews(tenantId: string): Promise<void> {
    for (;;) {
      const after = this.#seen.get(tenantId) ?? 0;
      const { entries, next } = await this.#host.store.read('runs.feed', (tx) => readFeed(tx, { tenantId, after }));
      for (const entry of entries) await this.#hear(entry);
      this.#seen.set(tenantId, next);
      if (entries.length === 0) return;
    }
  }

  async #hear({ tenantId, kind, reference }: FeedEntry): Promise<void> {
    const runId = kind.startsWith('run.') ? reference : await this.#runOfRequest(tenantId, kind, reference);
    const waiter = runId === null ? undefined : this.#above.get(runId);
    if (waiter) void this.#look(waiter);
  }

  async #runOfRequest(tenant: string, kind: string, requestId: string): Promise<string | null> {
    if (kind !== 'approval.resolved' && kind !== 'approval.revoked') return null;
    const reader: Principal = { tenant, subject: 'watcher', roles: [] };
    try {
      const { action } = await this.#host.store.read('runs.request', (tx) => requireRequest(tx, reader, requestId));
      return action.runId;
    } catch (error) {
      if (error instanceof HoldfastError) return null;
      throw error;
    }
  }

  async #look(waiter: Waiter): Promise<void> {
    waiter.again = true;
    if (waiter.busy) return;
    waiter.busy = true;
    try {
      while (waiter.again && this.#waiters.has(waiter.runId)) {
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
    const { ready, tree } = await this.#standing(waiter);
    for (const one of tree) this.#above.set(one.runId, waiter);
    const [self] = tree.filter((one) => one.runId === runId);
    if (self && !isOpen(self)) return self;
    if (!ready || this.#closed) return null;
    try {
      const { ended } = await this.#host.resume(principal, runId, listener);
      const record = await ended;
      if (record.state.status === 'waiting_confirmation') waiter.again = true;
      return isOpen(record) ? null : record;
    } catch (error) {
      if (!(error instanceof HoldfastError) || !ELSEWHERE.has(error.code)) throw error;
      const record = await this.#host.get(principal, runId);
      return isOpen(record) ? null : record;
    }
  }

  #standing({ principal, runId }: Waiter) {
    return this.#host.store.read('runs.waiting', async (tx) => {
      const tree = await runTree(tx, principal, runId);
      let ready = true;
      for (const { runId: id, place, state } of tree) {
        const { rootFrameId } = place;
        const busy = state.status === 'running' && state.ownerInstanceId !== null;
        ready &&= !busy && !(await hasPending(tx, principal, { rootFrameId, runId: id }));
      }
      return { ready, tree };
    });
  }

  #end(waiter: Waiter, tell: () => void): void {
    this.#waiters.delete(waiter.runId);
    for (const [runId, other] of this.#above) if (other === waiter) this.#above.delete(runId);
    tell();
  }
}

/** Somebody else carries it on, or has ended it. */
const ELSEWHERE: ReadonlySet<string> = new Set(['RUN_BUSY', 'RUN_ENDED']);

const isOpen = ({ state: { status } }: RunRecord): boolean => status === 'running' || status === 'waiting_confirmation';
