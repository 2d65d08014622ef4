import { fail } from './errors.ts';
import { LIMITS } from './limits.ts';

/** Where time comes from. Every module takes one; none reads the machine's clock itself. */
export interface Clock {
  /** Milliseconds since 1970 UTC, an integer. */
  nowMs(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { nowMs: () => Date.now() };

/** Whole seconds since 1970 UTC, rounded down. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.nowMs() / 1000);
}

/** A second that four-digit years can write: an integer from 0 to 253402300799; else `INVALID_VALUE`. */
export function requireUnixSeconds(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LIMITS.portableUnixSeconds)
    return value;
  throw fail('INVALID_VALUE', `${name} must be whole seconds of a UTC datetime up to the year 9999.`);
}

/** Of the many that ask within one second, the first has its text made. */
let spelled = { seconds: Number.NaN, text: '' };

/** `2026-07-19T00:00:00Z`: a second in UTC without a fraction. */
export function utcText(seconds: number): string {
  if (seconds !== spelled.seconds)
    spelled = {
      seconds,
      text: `${new Date(requireUnixSeconds('the time', seconds) * 1000).toISOString().slice(0, 19)}Z`,
    };
  return spelled.text;
}

/**
 * `2026-07-19T00:00:00.000Z`: a moment as a person is told it. What was stored behind the program's back, or came in a
 * package, need not be a moment that a calendar with years of four digits has: then `at an unknown time`.
 */
export function momentText(ms: number): string {
  const isMoment = ms >= 0 && ms / 1000 < LIMITS.portableUnixSeconds + 1;
  return isMoment ? new Date(ms).toISOString() : 'at an unknown time';
}

export type ClockState =
  | { readonly state: 'steady' }
  | { readonly state: 'went_back'; readonly lastMs: number; readonly byMs: number };

/** A clock that never runs back: within the tolerance it stands still, beyond it refuses with `CLOCK_WENT_BACK`. */
export interface GuardedClock extends Clock {
  /** Looks at the clock without refusing: for health reports. */
  state(): ClockState;
  /** A person has checked the clock: what it shows now is taken as the time, even if it is earlier. */
  accept(): void;
}

/**
 * Guards a clock against steps back. Leases, expiries and the order of records rest on time not running back, so a step
 * beyond `toleranceMs` (2 seconds unless told) is a state of its own: every reading refuses until the clock has passed
 * the last time that was given out, or `accept` was called. `startMs` is the latest time known from before, such as the
 * newest record of a store.
 */
export function guardClock(clock: Clock, options: { toleranceMs?: number; startMs?: number } = {}): GuardedClock {
  const tolerance = options.toleranceMs ?? LIMITS.clockBackwardMs;
  let last = options.startMs ?? Number.NEGATIVE_INFINITY;
  const state = (): ClockState => {
    const byMs = last - clock.nowMs();
    return byMs > tolerance ? { state: 'went_back', lastMs: last, byMs } : { state: 'steady' };
  };
  return {
    nowMs() {
      const now = clock.nowMs();
      if (last - now > tolerance) throw wentBack(last - now);
      last = Math.max(last, now);
      return last;
    },
    state,
    accept() {
      last = clock.nowMs();
    },
  };
}

function wentBack(byMs: number) {
  return fail('CLOCK_WENT_BACK', `The clock of the machine went back by ${byMs} ms.`, { details: { by_ms: byMs } });
}
