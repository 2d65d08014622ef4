import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../../core/index.ts';
import type { StoreObserver } from '../observer.ts';
import { isBusy, storeError } from './driver-errors.ts';

/** How long one attempt may block inside SQLite: short, since it blocks the whole process. In milliseconds. */
export const SQLITE_BUSY_TIMEOUT_MS = 2;
const LONGEST_PAUSE_MS = 24;

/** Pauses grow and differ between processes, so that two that wait do not keep meeting. */
function pauseMs(attempt: number): number {
  const span = Math.min(LONGEST_PAUSE_MS, 2 + attempt);
  return 1 + ((process.pid * 7 + attempt * 13) % span);
}

/**
 * Tries a step that needs the database's write lock until it gets it.
 * @throws STORE_BUSY after `timeoutMs` of pauses; any other error of the step at once.
 */
export async function withPatience(
  timeoutMs: number,
  observer: StoreObserver | undefined,
  step: () => void,
): Promise<void> {
  // Counted from the pauses, not read from a clock: that may stand still or run back.
  for (let attempt = 1, waitedMs = 0; ; attempt += 1) {
    try {
      return step();
    } catch (error) {
      if (!isBusy(error)) throw storeError(error);
      observer?.({ kind: 'busy', attempt });
      if (waitedMs >= timeoutMs)
        throw fail('STORE_BUSY', 'Another process held the database for longer than this one waits.', {
          cause: error,
          details: { waited_ms: timeoutMs },
        });
    }
    const pause = pauseMs(attempt);
    await sleep(pause);
    waitedMs += pause + SQLITE_BUSY_TIMEOUT_MS;
  }
}
