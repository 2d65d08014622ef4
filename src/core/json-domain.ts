import { badEncoding, badNumber, tooDeep, tooLarge, unsupported } from './json-errors.ts';
import type { JsonProfile } from './json-profiles.ts';
import { JsonNumber, type JsonValue } from './json-value.ts';
import { LIMITS } from './limits.ts';
import { codePointsWithin } from './text.ts';

/**
 * Takes a value that a user's code made as JSON within the profile's bounds (all but `bytes`), or refuses it with the
 * reader's codes, and `JSON_UNSUPPORTED_VALUE` for what JSON cannot say: undefined, functions, class instances, holes,
 * symbol keys. A whole JS number beyond 2^53 - 1 is refused where integers are `safe`: nobody can know which integer
 * was meant. The value itself is returned, not copied.
 */
export function asJsonValue(value: unknown, profile: JsonProfile): JsonValue {
  new DomainCheck(profile).check(value, 0);
  return value as JsonValue;
}

class DomainCheck {
  private readonly profile: JsonProfile;
  private readonly depth: number;
  private values = 0;

  constructor(profile: JsonProfile) {
    this.profile = profile;
    this.depth = Math.min(profile.depth, LIMITS.jsonNestingDepth);
  }

  check(value: unknown, depth: number): void {
    this.values += 1;
    if (depth > this.depth) throw tooDeep(this.depth);
    if (this.values > this.profile.values) throw tooLarge('values', this.profile.values);
    if (typeof value === 'string') this.string(value);
    else if (typeof value === 'number') this.number(value);
    else if (typeof value === 'bigint') this.bigint(value);
    else if (typeof value === 'object' && value !== null) this.object(value, depth);
    else if (value !== null && typeof value !== 'boolean') throw unsupported(typeof value);
  }

  private string(text: string): void {
    const max = this.profile.stringCodePoints;
    if (!codePointsWithin(text, max)) throw tooLarge('string', max);
    if (!text.isWellFormed()) throw badEncoding('lone_surrogate');
  }

  private number(value: number): void {
    if (!Number.isFinite(value)) throw badNumber('not_finite');
    if (this.profile.integers === 'safe' && Number.isInteger(value) && !Number.isSafeInteger(value))
      throw badNumber('integer_range');
  }

  private bigint(value: bigint): void {
    const safe = BigInt(Number.MAX_SAFE_INTEGER);
    if (this.profile.integers === 'safe' && (value > safe || value < -safe)) throw badNumber('integer_range');
  }

  private object(value: object, depth: number): void {
    if (value instanceof JsonNumber) return;
    if (Array.isArray(value)) return this.array(value, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) throw unsupported('an instance of a class');
    if (Object.getOwnPropertySymbols(value).length > 0) throw unsupported('a symbol as key');
    this.members(Object.keys(value), value as Record<string, unknown>, depth);
  }

  private array(items: readonly unknown[], depth: number): void {
    if (items.length > this.profile.items) throw tooLarge('items', this.profile.items);
    for (let i = 0; i < items.length; i += 1) this.check(items[i], depth + 1);
  }

  private members(keys: readonly string[], object: Record<string, unknown>, depth: number): void {
    if (keys.length > this.profile.members) throw tooLarge('members', this.profile.members);
    for (const key of keys) {
      this.string(key);
      this.check(object[key], depth + 1);
    }
  }
}
