import {
  asJsonValue,
  canonicalJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonProfile,
  type JsonValue,
  LIMITS,
  sealJson,
  sha256Hex,
} from '../../core/index.ts';
import { GUARD_KEPT_DEPTH } from '../../tools/index.ts';
import type { PolicyTool } from './policy-model.ts';

/** What the ledger keeps of an answer: all of it where it is small, else its digest and size. */
export function keptOutput(result: JsonValue, described: PolicyTool): JsonValue {
  const text = canonicalJson(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.guardStoredOutputBytes && described.secretFields.length === 0 && mayBeKept(result))
    return sealJson({ result }, `{"result":${text}}`);
  return { result_sha256: sha256Hex(text), result_bytes: bytes };
}

const KEPT_PROFILE: JsonProfile = { ...JSON_PROFILES.operations, name: 'kept output', depth: GUARD_KEPT_DEPTH };

function mayBeKept(result: JsonValue): result is JsonObject {
  try {
    return isJsonObject(asJsonValue(result, KEPT_PROFILE) as JsonValue);
  } catch {
    return false;
  }
}

/** The server's result as the ledger kept it; null where it kept only its digest, or something else. */
export function keptResult(output: JsonValue): JsonObject | null {
  const kept = isJsonObject(output) ? output['result'] : undefined;
  return isJsonObject(kept) ? kept : null;
}
