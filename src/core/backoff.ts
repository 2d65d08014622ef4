import type { Ids } from './ids.ts';

const LONGEST_PAUSE_MS = 30_000;

/** The longest that `pauseBefore` answers for an attempt. Milliseconds. */
export function longestPauseBefore(firstMs: number, attempt: number): number {
  return Math.min(LONGEST_PAUSE_MS, firstMs * 2 ** (attempt - 1));
}

/**
 * The pause before something is tried again for the n-th time, from 1: it doubles from `firstMs` up to 30 seconds, and
 * is between half of that and all of it, so that many who failed together do not come back together. Milliseconds.
 */
export function pauseBefore(ids: Ids, firstMs: number, attempt: number): number {
  const whole = longestPauseBefore(firstMs, attempt);
  const share = Number.parseInt(ids.next().slice(-4), 16) / 0xffff;
  return Math.round(whole / 2 + (whole / 2) * share);
}
