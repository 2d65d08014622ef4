import { asJsonValue, JSON_PROFILES } from '../core/index.ts';
import type { AcceptedOutput } from '../tools/index.ts';

/** Whether a writing tool's output can stand in the operations ledger: 64 KiB, 32 levels, 1,024 items a list. */
export function fitsOperations({ value, text }: Pick<AcceptedOutput, 'value' | 'text'>): boolean {
  try {
    asJsonValue(value, JSON_PROFILES.operations);
    return Buffer.byteLength(text) <= JSON_PROFILES.operations.bytes;
  } catch {
    return false;
  }
}
