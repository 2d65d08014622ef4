import type { Clock, Ids } from '../../src/core/index.ts';

/** A clock that stands where it is put. */
export interface ManualClock extends Clock {
  set(ms: number): void;
  advance(ms: number): void;
}

export function manualClock(startMs = 1_784_419_200_000): ManualClock {
  let now = startMs;
  return {
    nowMs: () => now,
    set(ms) {
      now = ms;
    },
    advance(ms) {
      now += ms;
    },
  };
}

/** The machine's clock, put forward where a test would have to wait: everything else goes on at its own pace. */
export interface MovedClock extends Clock {
  advance(ms: number): void;
}

export function movedClock(): MovedClock {
  let ahead = 0;
  return {
    nowMs: () => Date.now() + ahead,
    advance(ms) {
      ahead += ms;
    },
  };
}

/** Identifiers that count: `00…01`, `00…02`. */
export function countingIds(): Ids {
  let count = 0;
  return {
    next() {
      count += 1;
      return count.toString(16).padStart(32, '0');
    },
  };
}
