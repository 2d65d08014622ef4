import { badEncoding, tooLarge } from './json-errors.ts';
import { buildJson } from './json-build.ts';
import type { JsonProfile } from './json-profiles.ts';
import { scanJson } from './json-scan.ts';
import type { JsonValue } from './json-value.ts';

export { JSON_PROFILES, type JsonProfile } from './json-profiles.ts';

const BOM = 0xfeff;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads a JSON text (RFC 8259) or its UTF-8 bytes within the bounds of a profile. Numbers keep their spelling: `1.0`
 * comes back as a `JsonNumber`, an integer beyond 2^53 - 1 as a `bigint`. One linear scan refuses whatever is refused
 * before anything is built: `JSON_SYNTAX`, `JSON_ENCODING` (bad UTF-8, byte order mark, lone surrogate), `JSON_NUMBER`
 * (NaN, Infinity, overflow, integer beyond the profile), `JSON_TOO_DEEP`, `JSON_TOO_LARGE`; then `JSON_DUPLICATE_KEY`.
 */
export function readStrictJson(input: string | Uint8Array, profile: JsonProfile): JsonValue {
  const text = typeof input === 'string' ? checkText(input, profile) : decode(input, profile);
  if (text.charCodeAt(0) === BOM) throw badEncoding('bom');
  scanJson(text, profile);
  return buildJson(text);
}

function checkText(text: string, profile: JsonProfile): string {
  if (text.length > profile.bytes) throw tooLarge('bytes', profile.bytes);
  if (text.length * 3 > profile.bytes && Buffer.byteLength(text) > profile.bytes)
    throw tooLarge('bytes', profile.bytes);
  if (!text.isWellFormed()) throw badEncoding('lone_surrogate');
  return text;
}

function decode(bytes: Uint8Array, profile: JsonProfile): string {
  if (bytes.byteLength > profile.bytes) throw tooLarge('bytes', profile.bytes);
  try {
    return decoder.decode(bytes);
  } catch {
    throw badEncoding('utf8');
  }
}
