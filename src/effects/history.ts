import type {
  EffectClaim,
  EffectObservation,
  EffectOutcome,
  EffectRecord,
  Execution,
  Impact,
  ResourceRef,
} from './model.ts';
import { overlapGroup } from './overlap.ts';

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

/** A history by what questions ask of it, so that assessing a run does not look at every record for every claim. */
export interface HistoryIndex {
  /** The outcomes of an effect, in order of position. */
  readonly outcomes: ReadonlyMap<string, readonly EffectOutcome[]>;
  /** Claims that may touch the resource, unknown scope included: `touches` decides. */
  mayTouch(resource: ResourceRef): Iterable<EffectClaim>;
  /** Observations in the resource's group, in order of position: `sameLocation` decides. */
  near(resource: ResourceRef): readonly EffectObservation[];
}

export function indexHistory(history: EffectHistory): HistoryIndex {
  const outcomes = new Map<string, EffectOutcome[]>();
  const claims = new Map<string, Set<EffectClaim>>();
  const observations = new Map<string, EffectObservation[]>();
  const unknownScope = history.claims.filter((claim) => claim.impactScope.length === 0);
  for (const outcome of [...history.outcomes].sort(byPosition)) add(outcomes, outcome.effectId, outcome);
  for (const seen of [...history.observations].sort(byPosition)) add(observations, overlapGroup(seen.resource), seen);
  for (const claim of history.claims)
    for (const ref of claim.impactScope) {
      const group = overlapGroup(ref);
      const found = claims.get(group);
      if (found) found.add(claim);
      else claims.set(group, new Set([claim]));
    }
  return {
    outcomes,
    mayTouch: (resource) => [...(claims.get(overlapGroup(resource)) ?? []), ...unknownScope],
    near: (resource) => observations.get(overlapGroup(resource)) ?? [],
  };
}

function add<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
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
