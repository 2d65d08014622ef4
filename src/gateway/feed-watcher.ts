import { fail, LIMITS, type Log } from '../core/index.ts';
import { type FeedEntry, feedHead, readFeed, type ReadTx, type Store } from '../store/index.ts';

/** The newest entries of one tenant, shared by its streams. `entries` holds all numbers after `from`, up to `last`. */
export interface FeedTail {
  readonly tenantId: string;
  readonly entries: FeedEntry[];
  from: number;
  /** The newest number that is known; where no entry was seen yet, where watching began. */
  last: number;
  /** The head of the whole feed when it was last looked at for this tenant. */
  looked: number;
  streams: number;
  readonly waiting: Set<() => void>;
}

/** Some entries in order, and the number up to which they are all there are. */
export interface TailPage {
  readonly entries: readonly FeedEntry[];
  readonly upTo: number;
}

const LOOK_MS = 100;

/**
 * Looks at the feed for all streams of a process: one read for however many there are, and none while there are none.
 * The feed is read and not listened to, since other processes write it too.
 */
export class FeedWatcher {
  readonly #store: Store;
  readonly #log: Log;
  readonly #tails = new Map<string, FeedTail>();
  #streams = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Takes a place for a stream of a tenant, to be given back with `leave`. TOO_MANY_STREAMS. */
  async join(tenantId: string): Promise<{ readonly tail: FeedTail; readonly head: number }> {
    const head = await this.#store.read('gateway.feed-head', feedHead);
    const tail = this.#tails.get(tenantId) ?? newTail(tenantId, head);
    if (tail.streams >= LIMITS.eventStreamsPerTenant || this.#streams >= LIMITS.eventStreams)
      throw fail('TOO_MANY_STREAMS', 'There are as many event streams open as there may be.');
    tail.streams += 1;
    this.#streams += 1;
    this.#tails.set(tenantId, tail);
    this.#timer ??= this.#nextLook();
    return { tail, head };
  }

  leave(tail: FeedTail): void {
    tail.streams -= 1;
    this.#streams -= 1;
    if (tail.streams === 0) this.#tails.delete(tail.tenantId);
    if (this.#streams > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** What comes after a number, oldest first, a bounded page; empty when nothing has come yet. */
  async page(tail: FeedTail, after: number): Promise<TailPage> {
    const { last } = tail;
    if (after >= last) return { entries: [], upTo: after };
    const limit = LIMITS.eventsPerFrame;
    const ask = { tenantId: tail.tenantId, after, limit };
    const entries =
      after >= tail.from
        ? tail.entries.filter(({ seq }) => seq > after).slice(0, limit)
        : (await this.#store.read('gateway.feed-page', (tx) => readFeed(tx, ask))).entries;
    return { entries, upTo: entries.at(-1)?.seq ?? last };
  }

  /** Whether there is something after the number within so many milliseconds; false also when the signal aborts. */
  async wait(tail: FeedTail, after: number, ms: number, signal: AbortSignal): Promise<boolean> {
    if (tail.last > after || signal.aborted) return tail.last > after;
    await new Promise<void>((settle) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        tail.waiting.delete(wake);
        settle();
      };
      const timer = setTimeout(wake, ms);
      timer.unref();
      signal.addEventListener('abort', wake, { once: true });
      tail.waiting.add(wake);
    });
    return tail.last > after;
  }

  /** Streams that come and go while it looks leave one next look, not one each. */
  #nextLook(): NodeJS.Timeout {
    clearTimeout(this.#timer);
    return setTimeout(() => void this.#look(), LOOK_MS).unref();
  }

  async #look(): Promise<void> {
    try {
      const extended = await this.#store.read('gateway.feed', (tx) => this.#readNews(tx));
      for (const tail of extended) for (const wake of tail.waiting) wake();
    } catch (error) {
      // The streams stay open: what was missed is read at the next look.
      this.#log.warn('gateway.feed_unread', { error: error instanceof Error ? error : undefined });
    }
    if (this.#streams > 0) this.#timer = this.#nextLook();
  }

  /** Reads what is new for every tenant that has streams; answers those for whom there was something. */
  async #readNews(tx: ReadTx): Promise<readonly FeedTail[]> {
    const head = await feedHead(tx);
    const extended: FeedTail[] = [];
    for (const tail of this.#tails.values()) {
      const { last } = tail;
      if (head > tail.looked) await this.#extend(tx, tail);
      tail.looked = head;
      if (tail.last > last) extended.push(tail);
    }
    return extended;
  }

  async #extend(tx: ReadTx, tail: FeedTail): Promise<void> {
    for (;;) {
      const { entries, next } = await readFeed(tx, { tenantId: tail.tenantId, after: tail.last });
      tail.entries.push(...entries);
      tail.last = next;
      const gone = tail.entries.splice(0, Math.max(0, tail.entries.length - LIMITS.eventTailEntries));
      tail.from = gone.at(-1)?.seq ?? tail.from;
      if (entries.length < LIMITS.feedPageEntries) return;
    }
  }
}

function newTail(tenantId: string, head: number): FeedTail {
  return { tenantId, entries: [], from: head, last: head, looked: head, streams: 0, waiting: new Set() };
}
