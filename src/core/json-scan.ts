import { fail, type HoldfastError } from './errors.ts';
import { badEncoding, badNumber, tooDeep, tooLarge } from './json-errors.ts';
import type { JsonProfile } from './json-profiles.ts';
import { LIMITS } from './limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const ESCAPES = '"\\/bfnrt';
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_E = 0x65;
const HEX4 = /[0-9A-Fa-f]{4}/y;
const NOT_FINITE = /-?(?:NaN|Infinity)/y;
const WORDS = ['null', 'true', 'false'];
/** An integer of at most so many units is within every bound. */
const SHORT_INTEGER = 15;

const isDigit = (unit: number): boolean => unit >= ZERO && unit <= NINE;

/**
 * Goes over a JSON text once, from left to right, without recursion and without building anything, and refuses whatever
 * the grammar or the profile refuses. Repeated keys are left to the builder. The text must be well-formed Unicode.
 */
export function scanJson(text: string, profile: JsonProfile): void {
  new JsonScan(text, profile).run();
}

class JsonScan {
  private readonly text: string;
  private readonly profile: JsonProfile;
  private readonly depth: number;
  private at = 0;
  private values = 0;
  /** How many items or members each open container has so far; negative for an object: -1 is an empty one. */
  private readonly open: number[] = [];

  constructor(text: string, profile: JsonProfile) {
    this.text = text;
    this.profile = profile;
    this.depth = Math.min(profile.depth, LIMITS.jsonNestingDepth);
  }

  run(): void {
    do {
      while (this.beginValue());
    } while (this.afterValue());
    if (this.at < this.text.length) throw this.syntax('text after the value');
  }

  /** Reads a scalar or an empty container (false), or opens a container whose first value comes next (true). */
  private beginValue(): boolean {
    const unit = this.next();
    this.countValue();
    if (unit === OPEN_ARRAY) return this.openArray();
    if (unit === OPEN_OBJECT) return this.openObject();
    if (unit === QUOTE) this.string();
    else this.scalar();
    return false;
  }

  private countValue(): void {
    this.values += 1;
    if (this.values > this.profile.values) throw tooLarge('values', this.profile.values);
    if (this.open.length > this.depth) throw tooDeep(this.depth);
  }

  private openArray(): boolean {
    this.at += 1;
    if (this.next() === CLOSE_ARRAY) return this.emptyContainer();
    if (this.profile.items < 1) throw tooLarge('items', this.profile.items);
    this.open.push(1);
    return true;
  }

  private openObject(): boolean {
    this.at += 1;
    if (this.next() === CLOSE_OBJECT) return this.emptyContainer();
    this.open.push(-1);
    this.key();
    return true;
  }

  private emptyContainer(): false {
    this.at += 1;
    return false;
  }

  /** After a value: closes what closes; true when another value comes next, false at the end of the root. */
  private afterValue(): boolean {
    for (;;) {
      const unit = this.next();
      const count = this.open[this.open.length - 1];
      if (count === undefined) return false;
      if (unit === COMMA) return this.comma(count);
      if (unit !== (count < 0 ? CLOSE_OBJECT : CLOSE_ARRAY))
        throw this.syntax('a comma or a closing bracket is missing');
      this.at += 1;
      this.open.pop();
    }
  }

  private comma(count: number): true {
    this.at += 1;
    this.next();
    if (count < 0) this.key();
    else if (count >= this.profile.items) throw tooLarge('items', this.profile.items);
    else this.open[this.open.length - 1] = count + 1;
    return true;
  }

  private key(): void {
    const members = -(this.open[this.open.length - 1] ?? -1);
    if (members > this.profile.members) throw tooLarge('members', this.profile.members);
    this.open[this.open.length - 1] = -members - 1;
    if (this.text.charCodeAt(this.at) !== QUOTE) throw this.syntax('a key in double quotes is missing');
    this.string();
    if (this.next() !== COLON) throw this.syntax('a colon is missing');
    this.at += 1;
  }

  private string(): void {
    const { text, profile } = this;
    const end = this.endOfPlain(this.at + 1);
    let codePoints = end - this.at - 1;
    if (codePoints > profile.stringCodePoints) throw tooLarge('string', profile.stringCodePoints);
    for (this.at = end; ; ) {
      const unit = text.charCodeAt(this.at);
      if (unit === QUOTE) break;
      if (unit === BACKSLASH) this.escape();
      else if (unit >= 0x20) this.at += unit >= 0xd800 && unit <= 0xdbff ? 2 : 1;
      else throw this.syntax(Number.isNaN(unit) ? 'a string does not end' : 'a control character in a string');
      codePoints += 1;
      if (codePoints > profile.stringCodePoints) throw tooLarge('string', profile.stringCodePoints);
    }
    this.at += 1;
  }

  /** Most strings are plain from end to end: one code point a unit, none of them escaped. */
  private endOfPlain(from: number): number {
    const { text } = this;
    for (let at = from; ; at += 1) {
      const unit = text.charCodeAt(at);
      const isPlain = unit >= 0x20 && unit < 0xd800 && unit !== QUOTE && unit !== BACKSLASH;
      if (!isPlain) return at;
    }
  }

  private escape(): void {
    const letter = this.text[this.at + 1] ?? '';
    if (letter === 'u') return this.unicodeEscape();
    if (letter === '' || !ESCAPES.includes(letter)) throw this.syntax('an unknown escape');
    this.at += 2;
  }

  private unicodeEscape(): void {
    const first = this.hex4();
    if (first < 0xd800 || first > 0xdfff) return;
    if (first > 0xdbff || !this.text.startsWith('\\u', this.at)) throw badEncoding('lone_surrogate');
    const second = this.hex4();
    if (second < 0xdc00 || second > 0xdfff) throw badEncoding('lone_surrogate');
  }

  private hex4(): number {
    HEX4.lastIndex = this.at + 2;
    const digits = HEX4.exec(this.text)?.[0];
    if (digits === undefined) throw this.syntax('a unicode escape without four hexadecimal digits');
    this.at += 6;
    return Number.parseInt(digits, 16);
  }

  private scalar(): void {
    const integerEnd = this.endOfInteger(this.at);
    if (integerEnd > this.at) return this.number(integerEnd);
    const word = WORDS.find((one) => this.text.startsWith(one, this.at));
    if (word === undefined) throw this.isNotFinite() ? badNumber('not_finite') : this.syntax('a value is missing');
    this.at += word.length;
  }

  /** Where the whole part of the number that begins here ends; `from` where none does. */
  private endOfInteger(from: number): number {
    const { text } = this;
    const first = text.charCodeAt(from) === MINUS ? from + 1 : from;
    const unit = text.charCodeAt(first);
    if (unit === ZERO) return first + 1;
    return isDigit(unit) ? this.endOfDigits(first) : from;
  }

  private endOfDigits(from: number): number {
    let at = from;
    while (isDigit(this.text.charCodeAt(at))) at += 1;
    return at;
  }

  private number(integerEnd: number): void {
    const { text, at: start } = this;
    const pointEnd = text.charCodeAt(integerEnd) === POINT ? this.endOfDigits(integerEnd + 1) : integerEnd;
    const fractionEnd = pointEnd > integerEnd + 1 ? pointEnd : integerEnd;
    const end = this.endOfExponent(fractionEnd);
    const isInteger = end === integerEnd;
    if (!isInteger || end - start > SHORT_INTEGER) this.checkNumber(text.slice(start, end), isInteger);
    this.at = end;
  }

  /** Where the exponent that begins here ends; `from` where none does. */
  private endOfExponent(from: number): number {
    const { text } = this;
    if ((text.charCodeAt(from) | 0x20) !== SMALL_E) return from;
    const sign = text.charCodeAt(from + 1);
    const digits = sign === PLUS || sign === MINUS ? from + 2 : from + 1;
    const end = this.endOfDigits(digits);
    return end > digits ? end : from;
  }

  private checkNumber(text: string, integer: boolean): void {
    const digits = text.startsWith('-') ? text.length - 1 : text.length;
    if (digits > LIMITS.jsonIntegerDigits) throw tooLarge('digits', LIMITS.jsonIntegerDigits);
    if (!integer && !Number.isFinite(Number(text))) throw badNumber('overflow');
    if (integer && this.profile.integers === 'safe' && !Number.isSafeInteger(Number(text)))
      throw badNumber('integer_range');
  }

  private isNotFinite(): boolean {
    NOT_FINITE.lastIndex = this.at;
    return NOT_FINITE.test(this.text);
  }

  /** The next unit that is not white space, NaN at the end. */
  private next(): number {
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return unit;
      this.at += 1;
    }
  }

  private syntax(reason: string): HoldfastError {
    return fail('JSON_SYNTAX', `The text is not JSON: ${reason}.`, { details: { reason, offset: this.at } });
  }
}
