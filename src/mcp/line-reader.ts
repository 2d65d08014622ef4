/**
 * Splits a stream of bytes into lines at LF, holding at most `maxBytes` of an unfinished one. Once a line is too long
 * nothing more is read.
 */
export class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: Buffer) => void;
  readonly #onTooLong: () => void;
  #parts: Buffer[] = [];
  #held = 0;
  #ended = false;

  constructor(maxBytes: number, onLine: (line: Buffer) => void, onTooLong: () => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (!this.#ended && rest.byteLength > 0) {
      const end = rest.indexOf(0x0a);
      const part = end < 0 ? rest : rest.subarray(0, end);
      if (this.#held + part.byteLength > this.#maxBytes) {
        this.#ended = true;
        this.#parts = [];
        this.#onTooLong();
        return;
      }
      this.#parts.push(part);
      this.#held += part.byteLength;
      if (end < 0) return;
      const line = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#held = 0;
      rest = rest.subarray(end + 1);
      this.#onLine(line);
    }
  }
}
