/** How long the first answer of a wave waits for the others. Milliseconds; a commit costs more. */
const MOST_MS = 1;

/** A call's place among those that were passed on in the same moment. */
export interface WavePlace {
  /**
   * The call has its answer, or is waited for no more. Settles when the same is true of every other of its wave, and at
   * the latest a millisecond after the first: those that go on together share the commit that writes their outcomes.
   */
  leave(): Promise<void>;
}

/** Writes that began in one commit are passed on together, and their answers mostly come together too. */
export class Waves {
  #open: Wave | null = null;

  join(): WavePlace {
    if (this.#open === null) {
      this.#open = new Wave();
      // What began in one commit is passed on before the event loop turns.
      setImmediate(() => {
        this.#open = null;
      });
    }
    return this.#open.join();
  }
}

class Wave {
  readonly #over = Promise.withResolvers<void>();
  #under = 0;
  #timer: NodeJS.Timeout | undefined;

  join(): WavePlace {
    this.#under += 1;
    let left = false;
    return {
      leave: () => {
        if (!left) this.#leave();
        left = true;
        return this.#over.promise;
      },
    };
  }

  #leave(): void {
    this.#under -= 1;
    if (this.#under === 0) this.#end();
    else this.#timer ??= setTimeout(() => this.#end(), MOST_MS);
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#over.resolve();
  }
}
