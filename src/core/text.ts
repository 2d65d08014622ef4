import { fail } from './errors.ts';
import { LIMITS } from './limits.ts';

// What Python's trimming removes. Unlike the JavaScript trim it takes U+001C to U+001F and U+0085, and leaves U+FEFF.
const SPACE = '\\t-\\r\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const NOT_BLANK = new RegExp(`[^${SPACE}]`);
const LEADING_SPACE = new RegExp(`^[${SPACE}]+`);
const SPACE_UNIT = new RegExp(`[${SPACE}]`);

/** Whether nothing is left after trimming as the contracts trim: U+001C to U+001F and U+0085 go, U+FEFF stays. */
export function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  // Nearly every text begins with a letter or a digit.
  return !(first > 0x20 && first < 0x7f) && !NOT_BLANK.test(text);
}

/** The text without white space at both ends, as the contracts trim. */
export function trimText(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE_UNIT.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end).replace(LEADING_SPACE, '');
}

/** Length in Unicode code points: what every length bound of a text counts. */
export function codePointLength(text: string): number {
  let pairs = 0;
  for (let i = 0; i < text.length - 1; i += 1) {
    if (isHigh(text.charCodeAt(i)) && isLow(text.charCodeAt(i + 1))) {
      pairs += 1;
      i += 1;
    }
  }
  return text.length - pairs;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Whether the text has at most `max` code points; cheap for texts far below or above it. */
export function codePointsWithin(text: string, max: number): boolean {
  if (text.length <= max) return true;
  return text.length <= 2 * max && codePointLength(text) <= max;
}

/**
 * A text that can be stored and digested: a string, not blank, at most `max` code points (255 unless told), without
 * NUL (a database measures text up to it) and without lone surrogates. Else `INVALID_VALUE`, naming the field.
 */
export function requireText(name: string, value: unknown, max: number = LIMITS.identifierCodePoints): string {
  if (typeof value !== 'string') throw fail('INVALID_VALUE', `${name} must be text.`);
  if (!codePointsWithin(value, max)) throw fail('INVALID_VALUE', `${name} must have at most ${max} code points.`);
  if (isBlank(value)) throw fail('INVALID_VALUE', `${name} must not be blank.`);
  if (value.includes('\0') || !value.isWellFormed())
    throw fail('INVALID_VALUE', `${name} must be valid text without NUL or lone surrogates.`);
  return value;
}

/** The text of a stranger as it can be stored: NUL and lone surrogates become U+FFFD. */
export function storableText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\u{fffd}') : text).toWellFormed();
}
