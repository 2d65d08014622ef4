import type { JsonValue } from '../core/index.ts';

/** The words for what became of a call, the same on every surface. */
export const OUTCOME_STATES = ['not_started', 'done', 'not_done', 'unknown', 'failed'] as const;
export type OutcomeState = (typeof OUTCOME_STATES)[number];

/** What ended, or can end, an unknown outcome. What a tool returns is never an observation. */
export type SettledBy = 'receipt' | 'status_query' | 'observation' | 'person';

/**
 * What became of one call; every surface renders this type and nothing else.
 *
 * - `not_started`: refused before anything was written or run; nothing happened.
 * - `done`: the tool returned a valid output, or a receipt, status query, observation or person says that it happened.
 *   `verified` is true only when an observation, made afterwards, saw the required end state.
 * - `not_done`: it is known that it did not happen.
 * - `unknown`: it may or may not have happened. Left only by a receipt, a status query, an observation or a person.
 * - `failed`: a call that only reads did not answer; it changed nothing and may be repeated.
 */
export type CallOutcome =
  | { readonly state: 'not_started'; readonly code: string; readonly reason: string; readonly resolve: string }
  | {
      readonly state: 'done';
      readonly output: JsonValue;
      readonly verified: boolean;
      /** Null where the tool's own answer, received in this process, says so. */
      readonly settledBy: SettledBy | null;
    }
  | {
      readonly state: 'not_done';
      readonly code: string;
      readonly reason: string;
      readonly settledBy: SettledBy | null;
    }
  | {
      readonly state: 'unknown';
      readonly code: string;
      readonly reason: string;
      /** The operation that settles it; null for a call whose start could not even be read back. */
      readonly statusRef: string | null;
      readonly resolve: string;
    }
  | { readonly state: 'failed'; readonly code: string; readonly reason: string };

/** True for an outcome that nothing can change any more. */
export function isFinal(outcome: CallOutcome): boolean {
  return outcome.state !== 'unknown';
}
