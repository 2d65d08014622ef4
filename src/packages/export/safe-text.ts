import {
  canonicalJson,
  jsonMayHoldSecret,
  LIMITS,
  isJsonObject,
  JSON_PROFILES,
  type JsonProfile,
  type JsonValue,
  readStrictJson,
  REDACTED,
  redact,
} from '../../core/index.ts';

/** A stored value is within the bounds of packages; in its record it lies one deeper. */
const RECORD: JsonProfile = { ...JSON_PROFILES.packages, depth: JSON_PROFILES.packages.depth + 1 };

const [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Whether a JSON text may lie deeper than redaction looks, where it leaves nothing. */
function isDeep(text: string, most: number): boolean {
  return opensMoreThan(text, most) && nestsMoreThan(text, most);
}

/** Few brackets in all cannot lie deep: this is quickly seen of most texts. */
function opensMoreThan(text: string, most: number): boolean {
  let opened = 0;
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if ((opened += 1) > most) return true;
  return false;
}

function nestsMoreThan(text: string, most: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfText(text, at);
    else if (unit === OPEN_OBJECT || unit === OPEN_ARRAY) depth += 1;
    else if (unit === CLOSE_OBJECT || unit === CLOSE_ARRAY) depth -= 1;
    if (depth > most) return true;
  }
  return false;
}

/** The quote that ends the text that begins here. */
function endOfText(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at += 1;
  }
  return text.length;
}

/** JSON without secrets: nothing that is shaped like one, and none of the values that this installation keeps. */
export class SafeText {
  readonly #known: readonly string[];
  /** As they stand inside JSON texts. */
  readonly #spelled: readonly string[];

  constructor(known: readonly string[]) {
    this.#known = known;
    this.#spelled = known.map((value) => canonicalJson(value).slice(1, -1));
  }

  /** The canonical text of a value without its secrets. `depth` is how deep it lies in the record it belongs to. */
  of(value: JsonValue, depth = 0): string {
    const asItIs = canonicalJson(value);
    return this.#isClean(asItIs, depth) ? asItIs : this.#cleaned(value, depth);
  }

  /** `of` for a value whose canonical text is there already: it is read only where something may have to go. */
  ofText(text: string, depth = 0): string {
    return this.#isClean(text, depth) ? text : this.#cleaned(readStrictJson(text, RECORD), depth);
  }

  #isClean(text: string, depth: number): boolean {
    return !jsonMayHoldSecret(text) && !isDeep(text, LIMITS.redactionDepth - depth) && !this.#holdsKnown(text);
  }

  #cleaned(value: JsonValue, depth: number): string {
    const shapeless = redact(value, { maxDepth: LIMITS.redactionDepth - depth });
    const text = canonicalJson(shapeless);
    return this.#holdsKnown(text) ? canonicalJson(this.#without(shapeless)) : text;
  }

  /** The value itself without its secrets. */
  value(value: JsonValue): JsonValue {
    return this.#without(redact(value));
  }

  /** Whether something of a value would be replaced. */
  changes(value: JsonValue): boolean {
    return this.of(value) !== canonicalJson(value);
  }

  #without(value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.#without(item));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [this.#text(key), this.#without(member)]));
  }

  #holdsKnown(text: string): boolean {
    return this.#spelled.some((secret) => text.includes(secret));
  }

  #text(text: string): string {
    return this.#known.reduce((left, one) => left.replaceAll(one, REDACTED), text);
  }
}
