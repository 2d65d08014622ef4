import {
  canonicalJson,
  codePointsWithin,
  fail,
  isJsonObject,
  isSha256Hex,
  type JsonObject,
  type JsonValue,
  LIMITS,
  requireText,
  requireWithin,
} from '../core/index.ts';

/** An id or a word of a caller. */
export const textField = (name: string, value: unknown): string => requireText(name, value, LIMITS.autoTextCodePoints);

/** A key or a reason. */
export const keyField = (name: string, value: unknown): string => requireText(name, value, LIMITS.autoKeyCodePoints);

export function digestField(name: string, value: unknown): string {
  if (isSha256Hex(value)) return value;
  throw fail('INVALID_VALUE', `${name} must be a SHA-256 in lower-case hex.`);
}

export function countField(name: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw fail('INVALID_VALUE', `${name} must be a whole number from ${least}.`);
}

/** A list of texts: each once, in the order in which they came. */
export function listField(name: string, values: readonly string[] | undefined): string[] {
  const list = values ?? [];
  if (!Array.isArray(list)) throw fail('INVALID_VALUE', `${name} must be a list.`);
  requireWithin('autoListItems', list.length);
  return [...new Set((list as readonly unknown[]).map((value) => keyField(name, value)))];
}

export function wordField<W extends string>(name: string, value: unknown, words: readonly W[]): W {
  const word = words.find((known) => known === value);
  if (word !== undefined) return word;
  throw fail('INVALID_VALUE', `${name} must be one of ${words.join(', ')}.`);
}

export function objectField(name: string, value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw fail('INVALID_VALUE', `${name} must be an object.`);
  checkSize(value);
  return value;
}

/** The size bound of one stored value. */
export function checkSize(value: JsonValue): void {
  requireWithin('autoValueBytes', Buffer.byteLength(canonicalJson(value), 'utf8'));
}

/** What of an assessment people may be shown: its summary, if it is text, and not more than they would read. */
export function summaryOf(assessment: JsonObject, names: readonly string[]): string | null {
  const found = names.map((name) => assessment[name]).find((value) => value !== undefined && value !== null);
  if (typeof found !== 'string') return null;
  if (codePointsWithin(found, LIMITS.autoClaimCodePoints)) return found;
  return Array.from(found).slice(0, LIMITS.autoClaimCodePoints).join('');
}
