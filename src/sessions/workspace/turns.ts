const BYTES_A_TURN = 2 * 1024 * 1024;

/** Gives the event loop its turn. */
export const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Tells when the event loop is due its turn: after so much work, so that readers and other runs go on. */
export class Turns {
  readonly #filesATurn: number;
  #files = 0;
  #bytes = 0;

  constructor(filesATurn: number) {
    this.#filesATurn = filesATurn;
  }

  isDue(bytes: number): boolean {
    this.#files += 1;
    this.#bytes += bytes;
    if (this.#files < this.#filesATurn && this.#bytes < BYTES_A_TURN) return false;
    [this.#files, this.#bytes] = [0, 0];
    return true;
  }
}
