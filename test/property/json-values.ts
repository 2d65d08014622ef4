import fc from 'fast-check';
import { JsonNumber, type JsonObject, type JsonValue } from '../../src/core/index.ts';

/** Text of any Unicode characters, without lone surrogates. */
export const anyText = fc.string({ unit: 'binary', maxLength: 12 });

const anyInteger = fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(asInteger));
const anyFloat = fc.double({ noNaN: true, noDefaultInfinity: true }).map(asFloat);

/** The integer as the reader gives it: a JS number where that is exact. */
function asInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The float as the reader gives it: a kept number where a JS number would be spelled as an integer. */
function asFloat(value: number): number | JsonNumber {
  return Number.isInteger(value) ? new JsonNumber(value) : value;
}

const anyKey = fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', '10', '9', '\uffff', '😀', '\ue000'));

function objectOf(entries: readonly (readonly [string, JsonValue])[]): JsonObject {
  const object: JsonObject = {};
  for (const [key, value] of entries)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

/** Any value that the reader can give. */
export const anyJson: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(null, true, false),
    anyInteger,
    anyFloat,
    anyText,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(anyKey, tie('value')), { maxLength: 5 }).map(objectOf),
  ),
})).value;

/** A source of choices for spelling one value in many ways. */
export type Choose = (below: number) => number;

const BLANKS = ['', ' ', '\n', '\t\r\n', '  '];

/** One of the many texts of a value: white space, order of keys, escapes and number spellings as `choose` says. */
export function spellSomehow(value: JsonValue, choose: Choose): string {
  const blank = (): string => BLANKS[choose(BLANKS.length)] ?? '';
  return blank() + spellBare(value, choose) + blank();
}

function spellBare(value: JsonValue, choose: Choose): string {
  if (typeof value === 'string') return spellText(value, choose);
  if (value instanceof JsonNumber) return spellFloatSomehow(value.value, choose);
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : spellFloatSomehow(value, choose);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => spellSomehow(item, choose)).join(',')}]`;
  const members = Object.keys(value).map(
    (key) => ` ${spellText(key, choose)}${choose(2) ? ' ' : ''}:${spellSomehow(value[key] as JsonValue, choose)}`,
  );
  return `{${choose(2) ? members.toReversed().join(',') : members.join(',')}}`;
}

function spellText(text: string, choose: Choose): string {
  let out = '"';
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    const hex = unit.toString(16).padStart(4, '0');
    const surrogate = unit >= 0xd800 && unit <= 0xdfff;
    if (!surrogate && choose(3) === 0) out += `\\u${choose(2) ? hex.toUpperCase() : hex}`;
    else out += surrogate ? `\\u${hex}` : JSON.stringify(text[i]).slice(1, -1);
  }
  return `${out}"`;
}

function spellFloatSomehow(value: number, choose: Choose): string {
  const exponent = value.toExponential();
  const text = Object.is(value, -0) ? '-0e0' : exponent;
  const way = choose(3);
  if (way === 0) return text.replace('e', 'E');
  return way === 1 ? text.replace('e+', 'e+00') : text.replace('e', '000e').replace(/^(-?\d)0{3}e/, '$1.000e');
}
