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
  return new OwnDeadline(before, ms);
}

class OwnDeadline implements Deadline {
  readonly #own = new AbortController();
  readonly #before: AbortSignal;
  readonly #follow = (): void => this.#own.abort(this.#before.reason);
  readonly #timer: NodeJS.Timeout;
  #over = false;

  constructor(before: AbortSignal, ms: number) {
    this.#before = before;
    this.#timer = setTimeout(() => this.#end(), ms).unref();
    if (before.aborted) this.#follow();
    else before.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  get over(): boolean {
    return this.#over;
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#before.removeEventListener('abort', this.#follow);
  }

  #end(): void {
    this.#over = !this.#own.signal.aborted;
    this.#own.abort(new DOMException('The time is over.', 'TimeoutError'));
  }
}
