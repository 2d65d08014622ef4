import { badNumber } from './json-errors.ts';
import { spellFloat } from './number-spelling.ts';

/**
 * A number that came as text with a fraction or an exponent and whose value is whole (`1.0`, `1e16`, `-0.0`): as a
 * plain JS number its spelling, and so its digest, would change.
 */
export class JsonNumber {
  /** The value as a JS number. */
  readonly value: number;
  /** A value that is not finite is refused (`JSON_NUMBER`). */
  constructor(value: number) {
    if (!Number.isFinite(value)) throw badNumber('not_finite');
    this.value = value;
  }

  /** The canonical spelling: `1.0`, `1e+16`, `-0.0`. */
  get text(): string {
    return spellFloat(this.value);
  }

  valueOf(): number {
    return this.value;
  }

  toJSON(): number {
    return this.value;
  }
}

/** A value of JSON. `bigint` is an integer beyond 2^53 - 1; a JS number is a safe integer or has a fraction. */
export type JsonValue = null | boolean | number | bigint | string | JsonNumber | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue;
}

/** Whether the value is a JSON object: not null, not an array, not a kept number. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

/** Sets an own member, `__proto__` included. */
export function setMember(object: object, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
    return;
  }
  (object as Record<string, unknown>)[key] = value;
}

/** A copy that whoever gets it may change. */
export function copyJson(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof JsonNumber) return new JsonNumber(value.value);
  if (Array.isArray(value)) return value.map(copyJson);
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) setMember(copy, key, copyJson(value[key] as JsonValue));
  return copy;
}

/**
 * A copy of what a schema made of JSON, for a user's code that may change what it is given: of objects and lists. What
 * is neither, such as a date, is in the copy as it is.
 */
export function copyInput(input: unknown, copies = new Map<object, unknown>()): unknown {
  if (typeof input !== 'object' || input === null) return input;
  const known = copies.get(input);
  if (known !== undefined) return known;
  const prototype: unknown = Object.getPrototypeOf(input);
  const isList = Array.isArray(input);
  if (!isList && prototype !== Object.prototype && prototype !== null) return input;
  const copy: object = isList ? [] : prototype === null ? (Object.create(null) as object) : {};
  copies.set(input, copy);
  for (const [key, value] of Object.entries(input)) setMember(copy, key, copyInput(value, copies));
  return copy;
}

/** A copy for a user's code: kept numbers become JS numbers; a `bigint` stays one, so that no digit is lost. */
export function plainJson(value: JsonValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof JsonNumber) return value.value;
  if (Array.isArray(value)) return value.map(plainJson);
  const copy = {};
  for (const key of Object.keys(value)) setMember(copy, key, plainJson(value[key] as JsonValue));
  return copy;
}
