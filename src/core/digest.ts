import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';
import type { JsonValue } from './json-value.ts';

/** SHA-256 of bytes, or of a text's UTF-8, as 64 lower-case hexadecimal digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** SHA-256 over the canonical JSON of a value: the digest of every digested record. Refuses what `canonicalJson` does. */
export function digestJson(value: JsonValue): string {
  return sha256Hex(canonicalJson(value));
}

const SHA256_HEX = /^[0-9a-f]{64}$/;

/** Whether the value is a SHA-256 digest as this module writes it. */
export function isSha256Hex(value: unknown): value is string {
  return typeof value === 'string' && value.length === 64 && SHA256_HEX.test(value);
}
