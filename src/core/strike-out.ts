import { canonicalJson, readCanonicalJson } from './canonical-json.ts';
import { JSON_PROFILES } from './json-profiles.ts';
import { isJsonObject, type JsonObject, type JsonValue, setMember } from './json-value.ts';
import { comparableName } from './redact.ts';
import { REDACTED } from './secret-patterns.ts';

/** Fields of a tool's arguments whose values are shown to nobody, by name: in any case, with `-` as `_`, at any depth. */
export class SecretNames {
  readonly #names: ReadonlySet<string>;

  constructor(...lists: readonly (readonly string[])[]) {
    this.#names = new Set(lists.flat().map(comparableName));
  }

  /** Whether there are none, so that nothing is struck out. */
  get none(): boolean {
    return this.#names.size === 0;
  }

  /** The names, as they are compared, in the order of their code units. */
  list(): readonly string[] {
    return [...this.#names].sort();
  }

  /** A copy in which `[REDACTED]` stands for the value of each such field. Nothing else is changed. */
  strikeOut(value: JsonValue): JsonValue {
    if (this.none || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.strikeOut(item));
    if (!isJsonObject(value)) return value;
    const copy: JsonObject = {};
    for (const key of Object.keys(value))
      setMember(copy, key, this.#has(key) ? REDACTED : this.strikeOut(value[key] as JsonValue));
    return copy;
  }

  /** `strikeOut` for a canonical text; one that cannot be read is struck out whole. */
  strikeOutOf(text: string): string {
    if (this.none) return text;
    try {
      return canonicalJson(this.strikeOut(readCanonicalJson(text, JSON_PROFILES.packages)));
    } catch {
      return REDACTED;
    }
  }

  /** Those of the names that a value has fields of. */
  in(value: JsonValue): readonly string[] {
    const found = new Set<string>();
    if (!this.none) this.#collect(value, found);
    return [...found].sort();
  }

  #collect(value: JsonValue, into: Set<string>): void {
    if (Array.isArray(value)) for (const item of value) this.#collect(item, into);
    else if (isJsonObject(value))
      for (const key of Object.keys(value))
        if (this.#has(key)) into.add(comparableName(key));
        else this.#collect(value[key] as JsonValue, into);
  }

  /**
   * What somebody means who was shown `strikeOut(original)` and changed it: where `[REDACTED]` still stands for such a
   * field, its value in the original at the same place. Undefined where the original has none there.
   */
  putBack(original: JsonValue | undefined, changed: JsonValue): JsonValue | undefined {
    if (this.none || typeof changed !== 'object' || changed === null) return changed;
    if (Array.isArray(changed)) return this.#itemsPutBack(original, changed);
    if (!isJsonObject(changed)) return changed;
    const from = isJsonObject(original) ? original : {};
    const copy: JsonObject = {};
    for (const key of Object.keys(changed)) {
      const [was, given] = [Object.hasOwn(from, key) ? from[key] : undefined, changed[key] as JsonValue];
      const meant = this.#has(key) ? (given === REDACTED ? was : given) : this.putBack(was, given);
      if (meant === undefined) return undefined;
      setMember(copy, key, meant);
    }
    return copy;
  }

  /** The places of a list that became longer or shorter are others. */
  #itemsPutBack(original: JsonValue | undefined, changed: readonly JsonValue[]): JsonValue | undefined {
    const from = Array.isArray(original) && original.length === changed.length ? original : [];
    const items = changed.map((item, at) => this.putBack(from[at], item));
    return items.includes(undefined) ? undefined : (items as JsonValue[]);
  }

  #has(key: string): boolean {
    return this.#names.has(comparableName(key));
  }
}
