import { LIMITS } from '../../core/index.ts';

/**
 * What a byte stream of lines holds, in order and without a byte added, lost or changed. `line` is whole, its line feed
 * included (the last one of a stream may lack it). A line beyond the bound comes in `part`s as it arrives, so that it
 * never lies in memory; `last` closes it.
 */
export type Framed =
  | { readonly kind: 'line'; readonly bytes: Uint8Array }
  | { readonly kind: 'part'; readonly bytes: Uint8Array; readonly last: boolean };

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Cuts a byte stream into lines, as MCP over stdio sends its messages. */
export class LineFramer {
  readonly #most: number;
  #held: Uint8Array[] = [];
  #size = 0;
  #spilling = false;

  /** `maxBytes`: the longest line that is held whole, its line feed not counted. */
  constructor(maxBytes: number = LIMITS.guardLineBytes) {
    this.#most = maxBytes;
  }

  push(chunk: Uint8Array): readonly Framed[] {
    const found: Framed[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#take(chunk.subarray(start, end + 1), true, found);
      start = end + 1;
    }
    if (start < chunk.byteLength) this.#take(chunk.subarray(start), false, found);
    return found;
  }

  /** What came after the last line feed; nothing for a stream that ended with one. */
  end(): readonly Framed[] {
    const bytes = this.#drain();
    if (this.#spilling) {
      this.#spilling = false;
      return [{ kind: 'part', bytes, last: true }];
    }
    return bytes.byteLength === 0 ? [] : [{ kind: 'line', bytes }];
  }

  #take(bytes: Uint8Array, ends: boolean, found: Framed[]): void {
    this.#held.push(bytes);
    this.#size += bytes.byteLength;
    if (this.#spilling || this.#size - (ends ? 1 : 0) > this.#most) {
      this.#spilling = !ends;
      found.push({ kind: 'part', bytes: this.#drain(), last: ends });
    } else if (ends) found.push({ kind: 'line', bytes: this.#drain() });
  }

  #drain(): Uint8Array {
    const [only] = this.#held;
    const bytes = this.#held.length === 1 && only ? only : Buffer.concat(this.#held);
    this.#held = [];
    this.#size = 0;
    return bytes;
  }
}

/** Whether a carriage return stands inside a line: whoever ends lines there as well reads several messages in it. */
export function isDivided(line: Uint8Array): boolean {
  const at = line.indexOf(CARRIAGE_RETURN);
  return at >= 0 && line.subarray(at).some((byte) => byte !== CARRIAGE_RETURN && byte !== LINE_FEED);
}

/** What is read in such a line by whoever ends lines at carriage returns as well. */
export function partsOf(line: Uint8Array): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  let start = 0;
  for (let end = line.indexOf(CARRIAGE_RETURN); end >= 0; end = line.indexOf(CARRIAGE_RETURN, start)) {
    parts.push(line.subarray(start, end));
    start = end + 1;
  }
  return [...parts, line.subarray(start)];
}
