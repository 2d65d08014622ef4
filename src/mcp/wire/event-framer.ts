import { LIMITS } from '../../core/index.ts';

/**
 * What a stream of server-sent events holds, in order and without a byte added, lost or changed. A `block` ends with
 * its empty line; `data` is the message in it, null where it has none. What is longer than the bound comes in `part`s,
 * of which `last` closes it.
 */
export type FramedEvent =
  | {
      readonly kind: 'block';
      readonly bytes: Uint8Array;
      readonly data: Uint8Array | null;
      /** Where the stream can be taken up again after it. */
      readonly id: string | null;
      /** What it says that it is; null and empty: a message. */
      readonly type: string | null;
    }
  | { readonly kind: 'part'; readonly bytes: Uint8Array; readonly last: boolean };

const [LINE_FEED, RETURN, COLON] = [0x0a, 0x0d, 0x3a];

/** Cuts a byte stream into server-sent events. */
export class EventFramer {
  readonly #most: number;
  #held: Uint8Array[] = [];
  #size = 0;
  /** Bytes of the line that is being read, as far as they have come. */
  #lineLength = 0;
  #onlyComments = true;
  #afterReturn = false;
  /** The byte just read is the second of an end of a line. */
  #isPair = false;
  #spilling = false;
  /** Lines of this stream end in two bytes: a block that ends at the first of them waits for the second. */
  #usesPairs = false;
  #closing = false;

  /** `maxBytes`: the longest event that is held whole. */
  constructor(maxBytes: number = LIMITS.guardLineBytes) {
    this.#most = maxBytes;
  }

  push(chunk: Uint8Array): readonly FramedEvent[] {
    const found: FramedEvent[] = [];
    let start = this.#closeLate(chunk, found);
    for (let at = start; at < chunk.byteLength; at += 1) {
      if (!this.#endsBlock(chunk[at] as number) && !this.#isLateFeed(at, start)) continue;
      const end = this.#endOfPair(chunk, at);
      this.#closing = end === null;
      if (end === null) break;
      this.#hold(chunk.subarray(start, end));
      start = end;
      at = end - 1;
      this.#close(found);
    }
    if (start < chunk.byteLength) this.#hold(chunk.subarray(start));
    if (this.#size > this.#most || this.#spilling) {
      this.#spilling = true;
      found.push({ kind: 'part', bytes: this.#drain(), last: false });
    }
    return found;
  }

  /** What came after the last empty line: no event, since it was not ended. */
  end(): Uint8Array {
    return this.#drain();
  }

  /** Closes the block of which only the second byte of its end was missing; answers where the next one begins. */
  #closeLate(chunk: Uint8Array, found: FramedEvent[]): number {
    if (!this.#closing || chunk.byteLength === 0) return 0;
    this.#closing = false;
    const next = chunk[0] === LINE_FEED ? 1 : 0;
    if (next === 1) this.#hold(chunk.subarray(0, 1));
    this.#afterReturn = false;
    this.#close(found);
    return next;
  }

  /** Where the end of a block ends; null where its second byte is still to come. */
  #endOfPair(chunk: Uint8Array, at: number): number | null {
    if (chunk[at] !== RETURN) return at + 1;
    if (at + 1 === chunk.byteLength) return this.#usesPairs ? null : at + 1;
    if (chunk[at + 1] !== LINE_FEED) return at + 1;
    this.#usesPairs = true;
    this.#afterReturn = false;
    return at + 2;
  }

  /** The second byte of the end of a block that was closed without it: nobody has to wait for it. */
  #isLateFeed(at: number, start: number): boolean {
    return this.#isPair && at === start && this.#size === 0 && !this.#spilling;
  }

  /** Whether this byte ends a block: an event, or a comment between events. */
  #endsBlock(byte: number): boolean {
    this.#isPair = byte === LINE_FEED && this.#afterReturn;
    this.#afterReturn = byte === RETURN;
    this.#usesPairs ||= this.#isPair;
    if (this.#isPair) return false;
    if (byte !== LINE_FEED && byte !== RETURN) {
      if (this.#lineLength === 0 && byte !== COLON) this.#onlyComments = false;
      this.#lineLength += 1;
      return false;
    }
    const empty = this.#lineLength === 0;
    this.#lineLength = 0;
    return empty || this.#onlyComments;
  }

  #close(found: FramedEvent[]): void {
    const whole = !this.#spilling && this.#size <= this.#most;
    this.#spilling = false;
    this.#onlyComments = true;
    const bytes = this.#drain();
    found.push(whole ? blockOf(bytes) : { kind: 'part', bytes, last: true });
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#size += bytes.byteLength;
  }

  #drain(): Uint8Array {
    const [only] = this.#held;
    const bytes = this.#held.length === 1 && only ? only : Buffer.concat(this.#held);
    this.#held = [];
    this.#size = 0;
    return bytes;
  }
}

/** Bytes are kept as they are (Latin-1 has one character for each), so that the strict reader judges their encoding. */
function blockOf(bytes: Uint8Array): FramedEvent {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const data: string[] = [];
  let id: string | null = null;
  let type: string | null = null;
  for (const line of text.replace(/^\u00EF\u00BB\u00BF/, '').split(/\r\n|\n|\r/)) {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'data') data.push(value);
    else if (field === 'id') id = value;
    else if (field === 'event') type = value;
  }
  const joined = data.length === 0 ? null : Buffer.from(data.join('\n'), 'latin1');
  return { kind: 'block', bytes, data: joined, id, type };
}

/** A message of one line as an event; `id` as the event that it stands for had it. */
export function eventOf(line: Uint8Array, id: string | null): Uint8Array {
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8').trimEnd();
  const data = text.split(/\r\n|\n|\r/).map((part) => `data: ${part}\n`);
  return Buffer.from(
    `${id === null ? '' : `id: ${Buffer.from(id, 'latin1').toString('utf8')}\n`}event: message\n${data.join('')}\n`,
  );
}
