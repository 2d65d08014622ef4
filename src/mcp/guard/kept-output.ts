import {
  canonicalJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  LIMITS,
  readStrictJson,
  sha256Hex,
} from '../../core/index.ts';
import type { PolicyTool } from './policy-model.ts';

/** What the ledger keeps of an answer: all of it where it is small, else its digest and size. */
export function keptOutput(result: JsonValue, described: PolicyTool): JsonValue {
  const text = canonicalJson(result);
  const bytes = Buffer.byteLength(text);
  const digest = { result_sha256: sha256Hex(text), result_bytes: bytes };
  if (bytes > LIMITS.guardStoredOutputBytes || described.secretFields.length > 0) return digest;
  try {
    const kept = readStrictJson(text, { ...JSON_PROFILES.operations, depth: 24 });
    return isJsonObject(kept) ? { result: kept } : digest;
  } catch {
    return digest;
  }
}

/** The server's result as the ledger kept it; null where it kept only its digest, or something else. */
export function keptResult(output: JsonValue): JsonObject | null {
  const kept = isJsonObject(output) ? output['result'] : undefined;
  return isJsonObject(kept) ? kept : null;
}
