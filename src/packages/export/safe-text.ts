import {
  canonicalJson,
  jsonMayHoldSecret,
  LIMITS,
  isJsonObject,
  type JsonValue,
  REDACTED,
  redact,
} from '../../core/index.ts';

/** Whether a JSON text may lie deeper than redaction looks, where it leaves nothing. */
function isDeep(text: string): boolean {
  let opened = 0;
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if ((opened += 1) > LIMITS.redactionDepth) return true;
  return false;
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

  /** The canonical text of a value without its secrets. */
  of(value: JsonValue): string {
    const asItIs = canonicalJson(value);
    if (!jsonMayHoldSecret(asItIs) && !isDeep(asItIs) && !this.#holdsKnown(asItIs)) return asItIs;
    const shapeless = redact(value);
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
