import type { EffectClaim, EffectObservation, EffectOutcome, EffectRecord, Execution, Impact } from './model.ts';

/** An immutable view of one log: each list in order of position. */
export interface EffectHistory {
  readonly claims: readonly EffectClaim[];
  readonly outcomes: readonly EffectOutcome[];
  readonly observations: readonly EffectObservation[];
}

export const EMPTY_HISTORY: EffectHistory = Object.freeze({ claims: [], outcomes: [], observations: [] });

const byPosition = (a: { readonly sequence: number }, b: { readonly sequence: number }): number =>
  a.sequence - b.sequence;

/** The view of these records, each kind sorted by position. */
export function historyOf(records: readonly EffectRecord[]): EffectHistory {
  const claims: EffectClaim[] = [];
  const outcomes: EffectOutcome[] = [];
  const observations: EffectObservation[] = [];
  for (const entry of records) {
    if (entry.type === 'claim') claims.push(entry.record);
    else if (entry.type === 'outcome') outcomes.push(entry.record);
    else observations.push(entry.record);
  }
  return Object.freeze({
    claims: Object.freeze(claims.sort(byPosition)),
    outcomes: Object.freeze(outcomes.sort(byPosition)),
    observations: Object.freeze(observations.sort(byPosition)),
  });
}

/** The history as it stood at a position, that position included. */
export function historyUpTo(history: EffectHistory, position: number): EffectHistory {
  const upTo = (record: { readonly sequence: number }): boolean => record.sequence <= position;
  return {
    claims: history.claims.filter(upTo),
    outcomes: history.outcomes.filter(upTo),
    observations: history.observations.filter(upTo),
  };
}

/** The outcomes of each effect, in order of position. */
export type OutcomesByEffect = ReadonlyMap<string, readonly EffectOutcome[]>;

export function outcomesByEffect(history: EffectHistory): OutcomesByEffect {
  const found = new Map<string, EffectOutcome[]>();
  for (const outcome of [...history.outcomes].sort(byPosition)) {
    const list = found.get(outcome.effectId);
    if (list) list.push(outcome);
    else found.set(outcome.effectId, [outcome]);
  }
  return found;
}

/** An effect in flight: claimed and without an outcome, or running. */
export function inFlight(execution: Execution): boolean {
  return execution === 'attempted' || execution === 'running';
}

/** A settled effect takes no further outcome. */
export function isSettled(outcome: EffectOutcome | undefined): boolean {
  return outcome !== undefined && outcome.execution !== 'running';
}

/** What is known of an effect from its outcomes before a position (or all of them). */
export function stateOf(
  outcomes: readonly EffectOutcome[] | undefined,
  before = Number.POSITIVE_INFINITY,
): { readonly execution: Execution; readonly impact: Impact | null } {
  const latest = outcomes?.findLast((outcome) => outcome.sequence < before);
  return latest ?? { execution: 'attempted', impact: null };
}
