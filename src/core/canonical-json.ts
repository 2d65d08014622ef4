import { fail } from './errors.ts';
import { badEncoding, badNumber, tooDeep, tooLarge, unsupported } from './json-errors.ts';
import { copyJson, JsonNumber, type JsonObject, type JsonValue } from './json-value.ts';
import { LIMITS } from './limits.ts';
import { spellNumber } from './number-spelling.ts';
import { type JsonProfile, readStrictJson } from './strict-json.ts';

/**
 * The one text of a value: keys sorted by code point, no spaces, non-ASCII as is, numbers in the contracts' layout.
 * Equal values have equal texts, so its UTF-8 bytes are what every digest of Holdfast is taken over.
 * Refuses what is not JSON (`JSON_UNSUPPORTED_VALUE`: undefined, functions, class instances, holes), NaN and
 * infinities (`JSON_NUMBER`), lone surrogates (`JSON_ENCODING`), cycles and nesting beyond 256 (`JSON_TOO_DEEP`).
 */
export function canonicalJson(value: JsonValue): string {
  const known = typeof value === 'object' && value !== null ? texts.get(value) : undefined;
  return known ?? spell(value, 0);
}

/** The texts of sealed values: frozen through and through, so a text that was theirs once is theirs for good. */
const texts = new WeakMap<object, string>();

/**
 * Freezes a value that many are going to read, with everything in it, and keeps its canonical text, so that each of
 * them need not make it again. `text`: that text, where the caller has just made it or read the value from it.
 */
export function sealJson<T extends JsonObject>(value: T, text: string = canonicalJson(value)): T {
  freeze(value);
  texts.set(value, text);
  return value;
}

/** A value that stays as it is now, whoever holds the given one: a sealed value itself, of any other a copy. */
export function keptJson(value: JsonValue): JsonValue {
  return typeof value === 'object' && value !== null && texts.has(value) ? value : copyJson(value);
}

/** What `canonicalJson` has spelled holds nothing but lists, objects and kept numbers, in no circle. */
function freeze(value: object): void {
  Object.freeze(value);
  for (const part of Object.values(value) as unknown[]) if (typeof part === 'object' && part !== null) freeze(part);
}

function spell(value: unknown, depth: number): string {
  if (depth > LIMITS.jsonNestingDepth) throw tooDeep(LIMITS.jsonNestingDepth);
  switch (typeof value) {
    case 'string':
      return spellString(value);
    case 'number':
      if (!Number.isFinite(value)) throw badNumber('not_finite');
      return spellNumber(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return spellBigint(value);
    case 'object':
      return value === null ? 'null' : spellObject(value, depth);
    case 'undefined':
    case 'function':
    case 'symbol':
      throw unsupported(typeof value);
  }
}

const LARGEST_INTEGER = 10n ** BigInt(LIMITS.jsonIntegerDigits);

function spellBigint(value: bigint): string {
  if (value >= LARGEST_INTEGER || value <= -LARGEST_INTEGER) throw tooLarge('digits', LIMITS.jsonIntegerDigits);
  return value.toString();
}

const SHORT = 64;

// Most strings are short and need no more than two quotes around them. JSON.stringify escapes as the contracts do, but
// lone surrogates too, so these are looked for where anything was escaped.
function spellString(text: string): string {
  if (text.length <= SHORT && isPlain(text)) return `"${text}"`;
  const spelled = JSON.stringify(text);
  if (spelled.length !== text.length + 2 && !text.isWellFormed()) throw badEncoding('lone_surrogate');
  return spelled;
}

function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || unit >= 0xd800) return false;
  }
  return true;
}

function spellObject(value: object, depth: number): string {
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return spellArray(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw unsupported('an instance of a class');
  return spellMembers(value as Record<string, unknown>, depth);
}

function spellArray(items: readonly unknown[], depth: number): string {
  let text = '[';
  for (let i = 0; i < items.length; i += 1) {
    if (i > 0) text += ',';
    text += spell(items[i], depth + 1);
  }
  return `${text}]`;
}

function spellMembers(object: Record<string, unknown>, depth: number): string {
  const keys = sortKeys(Object.keys(object));
  let text = '{';
  for (let i = 0; i < keys.length; i += 1) {
    const key = keys[i] as string;
    const { first, next } = spelledKey(key);
    text += i === 0 ? first : next;
    text += spell(object[key], depth + 1);
  }
  return `${text}}`;
}

/** A key as it stands before its value: as the first one of an object, and as one that follows. */
interface SpelledKey {
  readonly first: string;
  readonly next: string;
}

/** Keys mostly come again, and a text that is put together of few parts leaves little behind: the first ones are kept. */
const KEPT_KEYS = 1_024;
const spelledKeys = new Map<string, SpelledKey>();

function spelledKey(key: string): SpelledKey {
  const known = spelledKeys.get(key);
  if (known !== undefined) return known;
  const first = `${spellString(key)}:`;
  const spelled = { first, next: `,${first}` };
  if (spelledKeys.size < KEPT_KEYS && key.length <= SHORT) spelledKeys.set(key, spelled);
  return spelled;
}

// UTF-16 order and code point order differ only where a surrogate meets U+E000 to U+FFFF.
function sortKeys(keys: string[]): string[] {
  let sorted = true;
  let high = false;
  for (let i = 0; i < keys.length; i += 1) {
    const key = keys[i] as string;
    sorted &&= i === 0 || (keys[i - 1] as string) < key;
    high ||= hasHighUnit(key);
  }
  if (high) return keys.sort(compareCodePoints);
  if (sorted) return keys;
  return keys.length <= FEW_KEYS ? insertInOrder(keys) : keys.sort();
}

const FEW_KEYS = 32;

/** In place, where `sort` would make lists of its own. */
function insertInOrder(keys: string[]): string[] {
  for (let i = 1; i < keys.length; i += 1) {
    const key = keys[i] as string;
    let at = i;
    for (; at > 0 && (keys[at - 1] as string) > key; at -= 1) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}

function hasHighUnit(key: string): boolean {
  for (let i = 0; i < key.length; i += 1) if (key.charCodeAt(i) >= 0xd800) return true;
  return false;
}

/** Orders two texts by Unicode code point, as the contracts sort keys and names. */
export function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

// Surrogates stand for code points above every other unit.
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * Reads a stored text that must be in canonical form, byte for byte. Whatever is wrong with it is `JSON_NOT_CANONICAL`
 * (corruption): the text was written by something else. `details.reason` is `form` or the code of the reader.
 */
export function readCanonicalJson(text: string, profile: JsonProfile): JsonValue {
  const value = readStored(text, profile);
  if (canonicalJson(value) !== text) throw notCanonical('form');
  return value;
}

function readStored(text: string, profile: JsonProfile): JsonValue {
  try {
    return readStrictJson(text, profile);
  } catch (cause) {
    throw notCanonical((cause as { code?: string }).code ?? 'unreadable', cause);
  }
}

function notCanonical(reason: string, cause?: unknown) {
  return fail('JSON_NOT_CANONICAL', 'A stored JSON text is not in canonical form.', { details: { reason }, cause });
}

/** Whether the text is JSON within the profile and already in canonical form. */
export function isCanonicalJson(text: string, profile: JsonProfile): boolean {
  try {
    return canonicalJson(readStrictJson(text, profile)) === text;
  } catch {
    return false;
  }
}
