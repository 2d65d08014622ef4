import { requireRequest } from '../approvals/index.ts';
import { HoldfastError, LIMITS } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { type FeedEntry, feedHead, readWholeFeed, type ReadTx, type Store } from '../store/index.ts';

/** A run of which something was written: a decision about one of its calls, or how it stands. */
export interface RunNewsItem {
  readonly tenant: string;
  readonly runId: string;
}

/** How often the feed is looked at while something waits. Milliseconds. */
const LOOK_MS = 20;

/**
 * Hears what any process writes about runs: one timer and one small read a look, for everything of this process that
 * waits, and none while nothing waits. The feed is read and not listened to, since other processes write it too.
 */
export class RunNews {
  readonly #store: Store;
  readonly #hear: (news: RunNewsItem) => void;
  #begun: Promise<void> | undefined;
  /** Rises with each beginning and end, so that a look that is under way then is the last of its line. */
  #line = 0;
  #head = 0;
  #timer: NodeJS.Timeout | undefined;
  #keepsProcess = false;

  constructor(store: Store, hear: (news: RunNewsItem) => void) {
    this.#store = store;
    this.#hear = hear;
  }

  /** Everything that is written after this settled will be heard. Throws what the store throws. */
  begin(): Promise<void> {
    this.#begun ??= this.#start((this.#line += 1));
    return this.#begun;
  }

  /** Looks no more. */
  end(): void {
    this.#line += 1;
    this.#begun = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Whether the process stays for what may be heard: it does while somebody awaits a run. */
  keepProcess(keeps: boolean): void {
    this.#keepsProcess = keeps;
    if (keeps) this.#timer?.ref();
    else this.#timer?.unref();
  }

  async #start(line: number): Promise<void> {
    try {
      const head = await this.#store.read('runs.news', feedHead);
      if (line !== this.#line) return;
      this.#head = head;
      this.#next(line);
    } catch (error) {
      if (line === this.#line) this.end();
      throw error;
    }
  }

  #next(line: number): void {
    if (line !== this.#line) return;
    this.#timer = setTimeout(() => void this.#look(line), LOOK_MS);
    if (!this.#keepsProcess) this.#timer.unref();
  }

  async #look(line: number): Promise<void> {
    try {
      for (let full = true; full && line === this.#line; ) {
        const news = await this.#store.read('runs.news', (tx) => newsAfter(tx, this.#head));
        if (line !== this.#line) return;
        this.#head = news.upTo;
        for (const item of news.items) this.#hear(item);
        full = news.full;
      }
    } catch {
      // What was missed is read at the next look: the number was not moved on.
    }
    this.#next(line);
  }
}

/** What was written about runs after a number, each run once; `full` where there is more. */
async function newsAfter(tx: ReadTx, after: number) {
  const entries = await readWholeFeed(tx, after);
  const runs = new Map<string, RunNewsItem>();
  for (const entry of entries) {
    const runId = await runOf(tx, entry);
    if (runId !== null) runs.set(runId, { tenant: entry.tenantId, runId });
  }
  const full = entries.length === LIMITS.feedPageEntries;
  return { items: [...runs.values()], upTo: entries.at(-1)?.seq ?? after, full };
}

async function runOf(tx: ReadTx, { tenantId, kind, reference }: FeedEntry): Promise<string | null> {
  if (kind.startsWith('run.')) return reference;
  if (kind !== 'approval.resolved' && kind !== 'approval.revoked') return null;
  const reader: Principal = { tenant: tenantId, subject: 'watcher', roles: [] };
  try {
    return (await requireRequest(tx, reader, reference)).action.runId;
  } catch (error) {
    // A request that is gone with its session, or whose row cannot be trusted, carries nothing on.
    if (error instanceof HoldfastError) return null;
    throw error;
  }
}
