const LINE_FEED = 0x0a;

/**
 * What one host reads: the server's lines and the guard's own, each on a line of its own. One of the guard's waits until
 * a line of the server's that comes in parts is over, and stands in no line that the server left without an end.
 */
export class HostLines {
  readonly #toHost: (bytes: Uint8Array) => void;
  /** The guard's own, while a line of the server's comes in parts. */
  #waiting: Uint8Array[] = [];
  #inParts = false;
  /** The last byte was no end of a line. */
  #cut = false;

  constructor(toHost: (bytes: Uint8Array) => void) {
    this.#toHost = toHost;
  }

  /** A line of the server's, or a part of one. */
  pass(bytes: Uint8Array, last = true): void {
    this.#write(bytes);
    this.#inParts = !last;
    if (last) for (const line of this.#waiting.splice(0)) this.own(line);
  }

  /** A whole line of the guard's own, or an answer of the server's that was held back. */
  own(line: Uint8Array): void {
    if (this.#inParts) return void this.#waiting.push(line);
    if (this.#cut) this.#write(Buffer.of(LINE_FEED));
    this.#write(line);
  }

  #write(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#cut = bytes.at(-1) !== LINE_FEED;
    this.#toHost(bytes);
  }
}
