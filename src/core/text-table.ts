import { randomInt } from 'node:crypto';

/** Memory is taken in pieces of this size; a text larger than a quarter of it is kept as it is. */
const PIECE_BYTES = 256 * 1024;
const LARGE_UNITS = PIECE_BYTES / 8;
/** So many places in a row that are taken are no accident: the table is laid out anew. */
const MOST_PROBES = 128;

/** Texts in the order in which they came, as bytes outside the heap: a hundred thousand cost little more than themselves. */
export class TextList {
  readonly #pieces: Buffer[] = [];
  readonly #large = new Map<number, string>();
  /** For each text where it begins, and twice its length in bytes, with 1 for one of two bytes a unit. */
  #places = new Uint32Array(2 * 64);
  #end = PIECE_BYTES;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Gives its number, from 0. */
  push(text: string): number {
    const number = this.#size;
    if (this.#places.length <= 2 * number) this.#places = grown(this.#places);
    this.#size += 1;
    if (text.length > LARGE_UNITS) this.#large.set(number, text);
    else this.#write(number, text);
    return number;
  }

  #write(number: number, text: string): void {
    const isWide = hasWideUnit(text);
    const bytes = isWide ? 2 * text.length : text.length;
    if (this.#end + bytes > PIECE_BYTES) {
      this.#pieces.push(Buffer.allocUnsafe(PIECE_BYTES));
      this.#end = 0;
    }
    const piece = this.#pieces.length - 1;
    this.#pieces[piece]?.write(text, this.#end, isWide ? 'utf16le' : 'latin1');
    this.#places[2 * number] = piece * PIECE_BYTES + this.#end;
    this.#places[2 * number + 1] = 2 * bytes + (isWide ? 1 : 0);
    this.#end += bytes;
  }

  /** The text with this number; an empty one where there is none. */
  at(number: number): string {
    const large = this.#large.get(number);
    if (large !== undefined) return large;
    const [from = 0, length = 0] = [this.#places[2 * number], this.#places[2 * number + 1]];
    const start = from % PIECE_BYTES;
    const piece = this.#pieces[(from - start) / PIECE_BYTES];
    return piece?.toString(length % 2 === 1 ? 'utf16le' : 'latin1', start, start + (length >>> 1)) ?? '';
  }
}

const grown = (from: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
  const to = new Uint32Array(2 * from.length);
  to.set(from);
  return to;
};

function hasWideUnit(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 0xff) return true;
  return false;
}

/**
 * A set of texts that are numbered in the order in which they came, as bytes outside the heap. Which texts meet in it
 * depends on a number that nobody outside knows, so that texts made to meet do not.
 */
export class TextTable {
  readonly #texts = new TextList();
  #hashes = new Uint32Array(64);
  /** Numbers plus one; 0 is a free place. Never more than half full. */
  #slots = new Uint32Array(128);
  #seed = randomInt(0x7fffffff);

  get size(): number {
    return this.#texts.size;
  }

  /** The number of a text, which is its own from now on. */
  add(text: string): number {
    const hash = hashOf(text, this.#seed);
    const { number, slot, probes } = this.#look(text, hash);
    if (number >= 0) return number;
    const added = this.#texts.push(text);
    if (this.#hashes.length <= added) this.#hashes = grown(this.#hashes);
    this.#hashes[added] = hash;
    this.#slots[slot] = added + 1;
    if (probes > MOST_PROBES) this.#seed = randomInt(0x7fffffff);
    if (probes > MOST_PROBES || 2 * this.#texts.size > this.#slots.length) this.#layOut(probes > MOST_PROBES);
    return added;
  }

  /** The number of a text; -1 where it is not here. */
  find(text: string): number {
    return this.#look(text, hashOf(text, this.#seed)).number;
  }

  at(number: number): string {
    return this.#texts.at(number);
  }

  *[Symbol.iterator](): Generator<string> {
    for (let number = 0; number < this.#texts.size; number += 1) yield this.#texts.at(number);
  }

  #look(text: string, hash: number): { readonly number: number; readonly slot: number; readonly probes: number } {
    const mask = this.#slots.length - 1;
    for (let probes = 0, slot = hash & mask; ; probes += 1, slot = (slot + 1) & mask) {
      const number = (this.#slots[slot] as number) - 1;
      if (number < 0) return { number, slot, probes };
      if (this.#hashes[number] === hash && this.#texts.at(number) === text) return { number, slot, probes };
    }
  }

  #layOut(isReseeded: boolean): void {
    this.#slots = new Uint32Array(isReseeded ? this.#slots.length : 2 * this.#slots.length);
    const mask = this.#slots.length - 1;
    for (let number = 0; number < this.#texts.size; number += 1) {
      if (isReseeded) this.#hashes[number] = hashOf(this.#texts.at(number), this.#seed);
      let slot = (this.#hashes[number] as number) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = number + 1;
    }
  }
}

function hashOf(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash, 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
