import { randomFillSync } from 'node:crypto';
import { type Clock, systemClock } from './clock.ts';

/** Where identifiers come from. */
export interface Ids {
  /** A fresh identifier: 32 lower-case hexadecimal digits, in one process each greater than the one before. */
  next(): string;
}

const POOL_BYTES = 4096;
const RANDOM_BYTES = 10;
const COUNTER_LIMIT = 0x1000;

/**
 * Identifiers in the layout of UUID version 7 (RFC 9562) without dashes: 48 bits of milliseconds, a 12-bit counter that
 * starts at random in its lower half each millisecond, 62 random bits. Time-ordered, so that indexes grow at one end. A
 * clock that stands still or runs back does not break the order: the last millisecond is kept and the counter rises.
 */
export function createIds(clock: Clock, fill: (bytes: Uint8Array) => void = randomFillSync): Ids {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let lastMs = -1;
  let counter = 0;
  /** The milliseconds as digits: many ids are made in one. */
  let time = '';

  /** Where the next random bytes stand in the pool. */
  const random = (): number => {
    if (used + RANDOM_BYTES > POOL_BYTES) {
      fill(pool);
      used = 0;
    }
    used += RANDOM_BYTES;
    return used - RANDOM_BYTES;
  };

  const begin = (ms: number, seed: number): void => {
    lastMs = ms;
    counter = seed;
    time = ms.toString(16).padStart(12, '0');
  };

  const tick = (nowMs: number, seed: number): void => {
    counter += 1;
    if (nowMs > lastMs) begin(nowMs, seed);
    else if (counter === COUNTER_LIMIT) begin(lastMs + 1, seed);
  };

  return {
    next() {
      const at = random();
      tick(clock.nowMs(), pool.readUInt16BE(at) & 0x7ff);
      const tail = ((pool[at + 2] as number) & 0x3f) | 0x80;
      return (
        time + (0x7000 | counter).toString(16) + tail.toString(16) + pool.toString('hex', at + 3, at + RANDOM_BYTES)
      );
    },
  };
}

/** Identifiers from the machine's clock and randomness. */
export const systemIds: Ids = createIds(systemClock);

const ID = /^[0-9a-f]{32}$/;

/** Whether the value has the form of an identifier that we make. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length === 32 && ID.test(value);
}
