import { type Clock, fail } from '../core/index.ts';

/** What bounds one reading in time. */
export interface TimeBudget {
  /** Fails with ARCHIVE_TOO_SLOW once the time is used up, or with the signal's reason once it is aborted. */
  check(): void;
}

/** Starts the time of one reading: `ms` milliseconds of the given clock. */
export function timeBudget(clock: Clock, ms: number, signal?: AbortSignal): TimeBudget {
  const end = clock.nowMs() + ms;
  return {
    check() {
      signal?.throwIfAborted();
      if (clock.nowMs() > end)
        throw fail('ARCHIVE_TOO_SLOW', `Reading the archive took longer than ${ms} milliseconds.`);
    },
  };
}
