/**
 * Why a run's turns are broken off when its process closes: nobody asked for a stop of it, so it is let go of, as a kill
 * would leave it, and whoever resumes it goes on.
 */
export const CLOSING = new DOMException('The process closes.', 'AbortError');

/**
 * How a run of this process is asked to end: nothing more of it begins from then on, and what is under way is cancelled
 * with it, or is left to end.
 */
export class RunEnding {
  readonly #begins = new AbortController();
  readonly #underWay = new AbortController();

  /** Aborted from when on nothing more begins. */
  get signal(): AbortSignal {
    return this.#begins.signal;
  }

  /** Aborted when calls that are under way are cancelled; never before the other. */
  get underWay(): AbortSignal {
    return this.#underWay.signal;
  }

  /** Nothing more begins; a call that is under way may still answer. */
  readonly hold = (reason?: unknown): void => this.#begins.abort(reason);

  /** Nothing more begins, and what is under way is cancelled. */
  readonly stop = (reason?: unknown): void => {
    this.hold(reason);
    this.#underWay.abort(reason);
  };
}

export const isClosing = ({ aborted, reason }: AbortSignal): boolean => aborted && reason === CLOSING;
