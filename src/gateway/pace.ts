import { fail, type HoldfastError } from '../core/index.ts';

/** How slow a package may be on its way in or out. Milliseconds. */
export interface Pace {
  /** Between two pieces. */
  readonly idleMs: number;
  /** From its first piece to its last. */
  readonly totalMs: number;
}

/**
 * The time of one package on its way: it runs out when nothing moves for `idleMs`, and `totalMs` after the start. Only
 * the other side's time counts as idle: what is done here between two pieces does not.
 */
export class Stopwatch {
  readonly #pace: Pace;
  readonly #late: (error: HoldfastError) => void;
  readonly #total: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;

  /** `late` is told once, with PACKAGE_TOO_SLOW. */
  constructor(pace: Pace, late: (error: HoldfastError) => void) {
    this.#pace = pace;
    this.#late = late;
    this.#total = this.#timer(pace.totalMs, `It was not there after ${pace.totalMs} milliseconds.`);
  }

  #timer(ms: number, text: string): NodeJS.Timeout {
    const end = (): void => {
      this.stop();
      this.#late(fail('PACKAGE_TOO_SLOW', `The package came too slowly. ${text}`, { details: { limit_ms: ms } }));
    };
    return setTimeout(end, ms).unref();
  }

  /** The other side's turn begins. */
  wait(): void {
    this.#idle = this.#timer(this.#pace.idleMs, `Nothing came for ${this.#pace.idleMs} milliseconds.`);
  }

  /** It did something. */
  moved(): void {
    clearTimeout(this.#idle);
  }

  stop(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
  }
}
