import { asJsonValue, canonicalJson, JSON_PROFILES } from '../core/index.ts';

/** Whether a writing tool's output can stand in the operations ledger: 64 KiB, 32 levels, 1,024 items a list. */
export function fitsOperations(output: unknown): boolean {
  try {
    const text = canonicalJson(asJsonValue(output, JSON_PROFILES.operations));
    return Buffer.byteLength(text) <= JSON_PROFILES.operations.bytes;
  } catch {
    return false;
  }
}
