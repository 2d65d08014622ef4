/** A signal with an end in time. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether the time ended it. */
  readonly over: boolean;
  /** Nothing is kept from now on: no timer, and no listener at the signal before it. */
  release(): void;
}

/**
 * A signal that is aborted with another one, or after so many milliseconds. Whoever asks for it lets go of it: the timer
 * of `AbortSignal.timeout` stays until its time is over, for each turn of each run. Keeps no process alive.
 */
export function deadline(before: AbortSignal, ms: number): Deadline {
  const own = new AbortController();
  let over = false;
  const follow = (): void => own.abort(before.reason);
  const end = (): void => {
    over = !own.signal.aborted;
    own.abort(new DOMException('The time is over.', 'TimeoutError'));
  };
  const timer = setTimeout(end, ms).unref();
  if (before.aborted) follow();
  else before.addEventListener('abort', follow, { once: true });
  return {
    signal: own.signal,
    get over() {
      return over;
    },
    release: () => {
      clearTimeout(timer);
      before.removeEventListener('abort', follow);
    },
  };
}
