import { fail } from './errors.ts';
import { JsonNumber, type JsonObject, type JsonValue, setMember } from './json-value.ts';

/** Builds the value of a text that `scanJson` has passed. Only repeated keys are still refused (`JSON_DUPLICATE_KEY`). */
export function buildJson(text: string): JsonValue {
  return new JsonBuild(text).value();
}

// The first push reserves this many slots; a copy of a short array holds only its items.
const SPARE_SLOTS = 17;
const NUMBER_END = /[^-+.0-9eE]|$/g;
const FLOAT = /[.eE]/;
/** So many digits are exact in a JS number. */
const EXACT_DIGITS = 15;

class JsonBuild {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  value(): JsonValue {
    this.skipBlank();
    const first = this.text[this.at];
    if (first === '"') return this.string();
    if (first === '{') return this.object();
    if (first === '[') return this.array();
    if (first === 't') return this.word(4, true);
    if (first === 'f') return this.word(5, false);
    return first === 'n' ? this.word(4, null) : this.number();
  }

  private word<T>(length: number, value: T): T {
    this.at += length;
    return value;
  }

  private array(): JsonValue[] {
    const items: JsonValue[] = [];
    this.at += 1;
    while (!this.ends(']')) items.push(this.value());
    return items.length <= SPARE_SLOTS ? items.slice() : items;
  }

  private object(): JsonObject {
    const object: JsonObject = {};
    this.at += 1;
    while (!this.ends('}')) {
      const offset = this.at;
      const key = this.string();
      if (Object.hasOwn(object, key))
        throw fail('JSON_DUPLICATE_KEY', 'An object has the same key twice.', { details: { offset } });
      this.skipBlank();
      this.at += 1;
      setMember(object, key, this.value());
    }
    return object;
  }

  /** Steps over white space and a comma to the next item, or over the closing bracket (true). */
  private ends(bracket: string): boolean {
    this.skipBlank();
    if (this.text[this.at] === ',') {
      this.at += 1;
      this.skipBlank();
    }
    if (this.text[this.at] !== bracket) return false;
    this.at += 1;
    return true;
  }

  private string(): string {
    const start = this.at + 1;
    let end = this.text.indexOf('"', start);
    const text = this.text.slice(start, end);
    this.at = end + 1;
    if (!text.includes('\\')) return text;
    while (this.isEscaped(end)) end = this.text.indexOf('"', end + 1);
    this.at = end + 1;
    return JSON.parse(this.text.slice(start - 1, this.at)) as string;
  }

  /** Whether an odd number of backslashes stands before this place. */
  private isEscaped(at: number): boolean {
    let from = at;
    while (this.text[from - 1] === '\\') from -= 1;
    return (at - from) % 2 === 1;
  }

  private number(): number | bigint | JsonNumber {
    const start = this.at;
    const short = this.shortInteger();
    if (short !== undefined) return short;
    NUMBER_END.lastIndex = start;
    this.at = NUMBER_END.exec(this.text)?.index ?? this.text.length;
    return readNumber(this.text.slice(start, this.at));
  }

  /** Most numbers are a few digits and nothing else: read without making a text of them. */
  private shortInteger(): number | undefined {
    const { text, at: start } = this;
    let value = 0;
    for (let at = start; at <= start + EXACT_DIGITS; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit >= 0x30 && unit <= 0x39) value = value * 10 + (unit - 0x30);
      else if (at === start || unit === 0x2e || unit === 0x65 || unit === 0x45) return undefined;
      else {
        this.at = at;
        return value;
      }
    }
    return undefined;
  }

  private skipBlank(): void {
    while (this.text.charCodeAt(this.at) <= 0x20) this.at += 1;
  }
}

function readNumber(text: string): number | bigint | JsonNumber {
  const value = Number(text);
  if (!FLOAT.test(text)) {
    if (!Number.isSafeInteger(value)) return BigInt(text);
    return value === 0 ? 0 : value;
  }
  return Number.isInteger(value) ? new JsonNumber(value) : value;
}
