import { ERROR_TABLE, type ErrorCode, HoldfastError, storableText } from '../core/index.ts';
import type { CallOutcome } from './outcome.ts';

/** A refusal before anything was written or run. The step that resolves it is the error table's unless told. */
export function notStarted(code: ErrorCode, reason: string, resolve: string = ERROR_TABLE[code].resolve): CallOutcome {
  return { state: 'not_started', code, reason: storableText(reason), resolve };
}

/** Thrown in a transaction to undo all of it, and caught at once: the refusal becomes the call's outcome. */
export class Refused extends Error {
  readonly outcome: CallOutcome;

  constructor(outcome: CallOutcome) {
    super('the call was refused');
    this.outcome = outcome;
  }
}

const REFUSING = new Set(['validation', 'conflict', 'state', 'not_found', 'denied', 'quarantined', 'limit']);

/**
 * The refusal that an error of ours amounts to. What the store or stored data is guilty of is no refusal of the call
 * and is thrown on.
 */
export function refusalOf(error: unknown): CallOutcome {
  if (error instanceof Refused) return error.outcome;
  if (error instanceof HoldfastError && REFUSING.has(error.family))
    return notStarted(error.code, error.message, error.resolve);
  throw error;
}
