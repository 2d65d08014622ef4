import type { JsonValue } from './json-value.ts';

/** The value itself, with everything in it frozen: whoever shares it cannot change it. */
export function freezeJson<T extends JsonValue>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) freezeJson(member as JsonValue);
  return Object.freeze(value);
}
