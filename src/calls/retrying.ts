import { setTimeout as sleep } from 'node:timers/promises';
import { copyInput, type Ids, pauseBefore } from '../core/index.ts';
import type { Tool } from '../tools/index.ts';
import { type Attempt, attemptExecute, type Invocation } from './attempt.ts';
import type { Finding } from './classify.ts';

/** What repeating a call needs of whoever makes it. */
export interface RetryTerms {
  readonly ids: Ids;
  /** Aborted from when on nothing is sent again, though what was sent may still answer. Default: that of the invocation. */
  readonly signal?: AbortSignal;
  /** Asked after each pause; false where the call may not be sent once more. A throw counts as false. */
  readonly mayRepeat: () => Promise<boolean>;
  /** Told before each pause. `retry` counts from 1. */
  readonly onRetry?: (retry: number, pauseMs: number) => void;
}

/** How a call's invocations ended together. */
export interface Tried {
  /** The newest. */
  readonly attempt: Attempt;
  /** How often the call was repeated after its first invocation. */
  readonly retries: number;
  /** Whether one before the newest may have taken effect. */
  readonly mayHaveHappened: boolean;
}

/**
 * Invokes `execute`, and again while it throws or gives no answer in time, as often as the tool declares: only tools
 * whose repetition is safe can declare it. Every invocation has the same key. A stop, `NotDone` and any answer end it.
 * Never throws.
 */
export async function attemptUntilAnswered(
  tool: Tool,
  input: unknown,
  of: Invocation,
  terms: RetryTerms,
): Promise<Tried> {
  const { most = 0, pauseMs = 0 } = tool.retry ?? {};
  const { signal = of.signal } = terms;
  let mayHaveHappened = false;
  for (let retries = 0; ; retries += 1) {
    // What one invocation does to its input is not what the next is given.
    const attempt = await attemptExecute(tool, most === 0 ? input : copyInput(input), of);
    const again = (attempt.ended === 'threw' || attempt.ended === 'timed_out') && retries < most && !signal.aborted;
    if (!again) return { attempt, retries, mayHaveHappened };
    const pause = pauseBefore(terms.ids, pauseMs, retries + 1);
    terms.onRetry?.(retries + 1, pause);
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || !(await allows(terms))) return { attempt, retries, mayHaveHappened };
    mayHaveHappened ||= tool.onError !== 'not_done' || attempt.ended === 'timed_out';
  }
}

async function allows({ mayRepeat }: RetryTerms): Promise<boolean> {
  try {
    return await mayRepeat();
  } catch {
    return false;
  }
}

/**
 * What the newest invocation of a writing call says about all of them: that it did nothing itself says nothing about
 * those before it, which may have.
 */
export function ofAllAttempts(finding: Finding, { retries, mayHaveHappened }: Tried): Finding {
  if (retries === 0 || finding.found === 'done') return finding;
  const times = `It was tried ${retries + 1} times.`;
  if (finding.found === 'unknown' || !mayHaveHappened) return { ...finding, reason: `${finding.reason} ${times}` };
  const reason = `The last attempt did nothing (${finding.reason}); one before it may have. ${times}`;
  return { found: 'unknown', code: 'OUTCOME_UNKNOWN', reason };
}
