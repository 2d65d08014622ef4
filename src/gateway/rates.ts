import { type Clock, fail, LIMITS } from '../core/index.ts';

interface Bucket {
  left: number;
  at: number;
}

export interface RateRule {
  /** Requests a second that are always let through. */
  readonly perSecond: number;
  /** How many may come at once. */
  readonly burst: number;
}

/** How often each caller may ask: a bucket of requests that fills evenly. Remembers at most `httpRatesKept` callers. */
export class Rates {
  readonly #clock: Clock;
  readonly #rule: RateRule;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, rule: RateRule) {
    this.#clock = clock;
    this.#rule = rule;
  }

  /** Counts one request of this caller; TOO_MANY_REQUESTS, with the seconds to wait, when its bucket is empty. */
  take(caller: string): void {
    const bucket = this.#filled(caller);
    if (bucket.left < 1) {
      const seconds = Math.ceil((1 - bucket.left) / this.#rule.perSecond);
      throw fail('TOO_MANY_REQUESTS', 'Too many requests from this caller.', { details: { retry_after: seconds } });
    }
    bucket.left -= 1;
  }

  #filled(caller: string): Bucket {
    const now = this.#clock.nowMs();
    const { perSecond, burst } = this.#rule;
    const known = this.#buckets.get(caller) ?? { left: burst, at: now };
    // A clock that went back adds nothing.
    known.left = Math.min(burst, known.left + (Math.max(0, now - known.at) * perSecond) / 1000);
    known.at = now;
    // The caller moves to the end, so that those idle longest stand first.
    this.#buckets.delete(caller);
    this.#buckets.set(caller, known);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > LIMITS.httpRatesKept && oldest !== undefined) this.#buckets.delete(oldest);
    return known;
  }
}
