import type { ErrorCode } from '../core/index.ts';

/**
 * What the contracts call `EffectPersistenceError`: the claim is not there, and the tool must not run; or the log cannot
 * be loaded. Branch on these codes.
 */
export const EFFECT_PERSISTENCE_CODES: readonly ErrorCode[] = Object.freeze([
  'EFFECT_NOT_DURABLE',
  'EFFECT_JOURNAL_BUSY',
  'EFFECT_JOURNAL_DAMAGED',
  'EFFECT_JOURNAL_UNSAFE',
  'EFFECT_LEDGER_DAMAGED',
  'EFFECT_CONFLICT',
]);
