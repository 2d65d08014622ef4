import { fail, isJsonObject, JSON_PROFILES, type JsonObject, readCanonicalJson, sealJson } from '../core/index.ts';
import type { PreparedCall } from './model.ts';

/** Neither a prepared call nor its sealed arguments change, so what was read of it once is what it says for good. */
const read = new WeakMap<Pick<PreparedCall, 'argumentsText'>, JsonObject>();

/** The call with its arguments as they were read when it was checked: `argumentsText` is their text. */
export function withArguments(call: PreparedCall, value: JsonObject): PreparedCall {
  read.set(call, sealJson(value, call.argumentsText));
  return call;
}

/**
 * The arguments of a call, read once however many look at them; nobody can change them. Throws `JSON_NOT_CANONICAL`,
 * or `CALL_INVALID` for a text that is no object.
 */
export function argumentsOf(call: Pick<PreparedCall, 'argumentsText'>): JsonObject {
  const known = read.get(call);
  if (known) return known;
  const value = readCanonicalJson(call.argumentsText, JSON_PROFILES.operations);
  if (!isJsonObject(value)) throw fail('CALL_INVALID', 'The stored arguments are not an object.');
  sealJson(value, call.argumentsText);
  read.set(call, value);
  return value;
}
