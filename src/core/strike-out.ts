import { canonicalJson, readCanonicalJson } from './canonical-json.ts';
import { JSON_PROFILES } from './json-profiles.ts';
import { isJsonObject, type JsonObject, type JsonValue, setMember } from './json-value.ts';
import { comparableName } from './redact.ts';
import { REDACTED } from './secret-patterns.ts';

/**
 * Fields of a tool's arguments that are shown to nobody but whoever decides about the call, by name: in any case, with
 * `-` as `_`, at any depth.
 */
export class SecretNames {
  readonly #names: ReadonlySet<string>;

  constructor(...lists: readonly (readonly string[])[]) {
    this.#names = new Set(lists.flat().map(comparableName));
  }

  /** Whether there are none, so that nothing is struck out. */
  get none(): boolean {
    return this.#names.size === 0;
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

  #has(key: string): boolean {
    return this.#names.has(comparableName(key));
  }
}
