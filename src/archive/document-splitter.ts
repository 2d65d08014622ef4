import { fail, type HoldfastError } from '../core/index.ts';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a] as const;
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d] as const;
const NOTHING = Buffer.alloc(0);
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** A piece of a document: a member's whole value, or one item of the list that is taken apart. */
export interface DocumentPiece {
  /** The key as it is spelled in the document, with its quotes. */
  readonly key: Buffer;
  readonly isItem: boolean;
  readonly value: Buffer;
  /** Of a large item: the one that it is a piece of. Once that is whole, the item itself comes, without a value. */
  readonly of?: DocumentSplitter;
}

/** Which items are taken apart themselves: objects of at least about so many bytes, and in them the list with this key. */
export interface LargeItems {
  readonly list: string;
  readonly from: number;
}

type Place =
  | 'document'
  | 'first key'
  | 'key'
  | 'colon'
  | 'value'
  | 'after value'
  | 'first item'
  | 'item'
  | 'after item'
  | 'end';

/**
 * Takes the bytes of one JSON object apart, chunk by chunk: its members, and of the list with the given key its items.
 * It holds one piece at a time, and of a chunk nothing once it asks for the next: pieces are views to be read at once. What stands between the pieces is checked here (JSON_SYNTAX); the pieces themselves are
 * only found, and whoever reads them refuses what is wrong inside.
 */
export class DocumentSplitter {
  readonly #list: Buffer;
  /** How often the list was met, taken apart or not. */
  lists = 0;
  #place: Place = 'document';
  #key: Buffer = Buffer.alloc(0);
  /** What of a piece came with earlier chunks; null between pieces. */
  #parts: Buffer[] | null = null;
  #kind: 'text' | 'container' | 'word' = 'word';
  #depth = 0;
  #inText = false;
  #escaped = false;
  readonly #large: LargeItems | null;
  /** The large item that is being taken apart. */
  #inner: DocumentSplitter | null = null;
  /** Whether what comes after the object is somebody else's. */
  #isInner = false;

  constructor(listKey: string, large: LargeItems | null = null) {
    this.#list = Buffer.from(JSON.stringify(listKey));
    this.#large = large;
  }

  /** The pieces that end in this chunk. */
  *push(chunk: Buffer): Generator<DocumentPiece, number> {
    let at = 0;
    while (at < chunk.length && !(this.#isInner && this.#place === 'end')) {
      if (this.#inner !== null) {
        at += yield* this.#within(this.#inner, chunk.subarray(at));
        continue;
      }
      if (this.#parts === null) {
        at = this.#between(chunk, at);
        continue;
      }
      const end = this.#endOf(chunk, at);
      if (end === undefined) {
        // The chunk's memory is its maker's again when the next one comes.
        this.#parts.push(Buffer.from(chunk.subarray(at)));
        if (this.#isLarge(this.#parts)) yield* this.#takeApart(this.#parts);
        return chunk.length;
      }
      this.#parts.push(chunk.subarray(at, end));
      at = end;
      const piece = this.#finish();
      if (piece) yield piece;
    }
    return at;
  }

  #isLarge(parts: readonly Buffer[]): boolean {
    if (this.#large === null || (this.#place !== 'item' && this.#place !== 'first item')) return false;
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    return bytes >= this.#large.from && parts[0]?.[0] === OPEN_OBJECT;
  }

  /** From here on the item is taken apart; what came of it before goes first. */
  *#takeApart(parts: readonly Buffer[]): Generator<DocumentPiece> {
    this.#parts = null;
    this.#inner = new DocumentSplitter(this.#large?.list ?? '');
    this.#inner.#isInner = true;
    for (const part of parts) {
      const used: number = this.#inner === null ? 0 : yield* this.#within(this.#inner, part);
      if (used < part.length) throw broken();
    }
  }

  /** The pieces of the large item that end in this chunk, and the item once it is whole. Gives how far it reaches. */
  *#within(inner: DocumentSplitter, chunk: Buffer): Generator<DocumentPiece, number> {
    const pieces = inner.push(chunk);
    let step = pieces.next();
    for (; step.done !== true; step = pieces.next()) yield { ...step.value, of: inner };
    if (inner.#place === 'end') {
      this.#inner = null;
      this.#place = 'after item';
      yield { key: this.#key, isItem: true, value: NOTHING, of: inner };
    }
    return step.value;
  }

  /** JSON_SYNTAX unless the document is whole. */
  end(): void {
    if (this.#place !== 'end') throw broken();
  }

  /** Steps over one byte between pieces, or begins a piece, which starts with that byte. */
  #between(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0;
    if (isBlank(byte)) return at + 1;
    const next = this.#afterMark(byte);
    if (next !== undefined) {
      if (this.#place === 'value') this.lists += 1;
      this.#place = next;
      return at + 1;
    }
    if (!this.#mayBegin(byte)) throw broken();
    this.#begin(byte);
    return at;
  }

  #afterMark(byte: number): Place | undefined {
    switch (this.#place) {
      case 'document':
        return byte === OPEN_OBJECT ? 'first key' : undefined;
      case 'first key':
        return byte === CLOSE_OBJECT ? 'end' : undefined;
      case 'colon':
        return byte === COLON ? 'value' : undefined;
      case 'value':
        return byte === OPEN_ARRAY && this.#key.equals(this.#list) ? 'first item' : undefined;
      case 'after value':
        return byte === COMMA ? 'key' : byte === CLOSE_OBJECT ? 'end' : undefined;
      case 'first item':
        return byte === CLOSE_ARRAY ? 'after value' : undefined;
      case 'after item':
        return byte === COMMA ? 'item' : byte === CLOSE_ARRAY ? 'after value' : undefined;
      case 'key':
      case 'item':
      case 'end':
        return undefined;
    }
  }

  #mayBegin(byte: number): boolean {
    if (this.#place === 'first key' || this.#place === 'key') return byte === QUOTE;
    const isValue = this.#place === 'value' || this.#place === 'first item' || this.#place === 'item';
    return isValue && byte !== COMMA && byte !== COLON && byte !== CLOSE_ARRAY && byte !== CLOSE_OBJECT;
  }

  #begin(byte: number): void {
    this.#parts = [];
    this.#kind = byte === QUOTE ? 'text' : byte === OPEN_OBJECT || byte === OPEN_ARRAY ? 'container' : 'word';
    this.#depth = 0;
    this.#inText = false;
    this.#escaped = false;
  }

  /** Where the piece that goes on at `from` ends in this chunk; undefined where it does not. */
  #endOf(chunk: Buffer, from: number): number | undefined {
    return this.#kind === 'word' ? endOfWord(chunk, from) : this.#endOfNested(chunk, from);
  }

  #endOfNested(chunk: Buffer, from: number): number | undefined {
    let at = from;
    while (at < chunk.length) {
      if (this.#inText) {
        at = this.#endOfText(chunk, at);
        if (!this.#inText && this.#depth === 0) return at;
        continue;
      }
      at = this.#nextMark(chunk, at);
      const byte = chunk[at];
      at += 1;
      if (byte === QUOTE) this.#inText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1;
      else if (byte !== undefined) {
        this.#depth -= 1;
        if (this.#depth === 0) return at;
      }
    }
    return undefined;
  }

  /** The next quote or bracket outside of texts; the chunk's end where there is none. */
  #nextMark(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === QUOTE || byte === OPEN_OBJECT || byte === OPEN_ARRAY) return at;
      if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) return at;
    }
    return chunk.length;
  }

  /** Where the text that goes on here ends; the chunk's end where it does not. */
  #endOfText(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) {
        this.#inText = false;
        return at + 1;
      }
    }
    return chunk.length;
  }

  #finish(): DocumentPiece | undefined {
    const [first = Buffer.alloc(0), ...more] = this.#parts ?? [];
    const value = more.length === 0 ? first : Buffer.concat([first, ...more]);
    this.#parts = null;
    if (this.#place === 'first key' || this.#place === 'key') {
      this.#key = Buffer.from(value);
      this.#place = 'colon';
      return undefined;
    }
    const isItem = this.#place !== 'value';
    this.#place = isItem ? 'after item' : 'after value';
    return { key: this.#key, isItem, value };
  }
}

function endOfWord(chunk: Buffer, from: number): number | undefined {
  for (let at = from; at < chunk.length; at += 1) {
    const byte = chunk[at] ?? 0;
    if (isBlank(byte) || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) return at;
  }
  return undefined;
}

const broken = (): HoldfastError => fail('JSON_SYNTAX', 'The document is not one JSON object.');
