import { type EffectHistory, inFlight, type OutcomesByEffect, outcomesByEffect, stateOf } from './history.ts';
import type { EffectObservation, Freshness } from './model.ts';
import { sameLocation, touches } from './overlap.ts';

/**
 * Whether an observation still says something about the world (FRESH-1 to FRESH-5). Anything later that may have
 * changed the resource makes it stale; anything overlapping that was in flight when it was taken leaves it unsettled.
 */
export function freshness(
  observation: EffectObservation,
  history: EffectHistory,
  outcomes: OutcomesByEffect = outcomesByEffect(history),
): Freshness {
  if (!isReceipt(observation) && isStale(observation, history, outcomes)) return 'stale';
  return isUnsettled(observation, history, outcomes) ? 'unsettled' : 'fresh';
}

/** A receipt speaks of its own execution, not of the world's state, so nothing later makes it stale. */
function isReceipt(observation: EffectObservation): boolean {
  return observation.mechanism === 'execution_receipt' || observation.mechanism === 'remote_acknowledgement';
}

function isStale(seen: EffectObservation, history: EffectHistory, outcomes: OutcomesByEffect): boolean {
  const touched = history.claims.some(
    (claim) =>
      claim.sequence > seen.sequence &&
      stateOf(outcomes.get(claim.effectId)).impact !== 'none' &&
      touches(claim, seen.resource),
  );
  return (
    touched ||
    history.observations.some(
      (later) =>
        later.sequence > seen.sequence &&
        later.resource.incarnation !== seen.resource.incarnation &&
        sameLocation(later.resource, seen.resource),
    )
  );
}

/** Only outcomes before the observation count: one recorded later does not make it fresh. */
function isUnsettled(seen: EffectObservation, history: EffectHistory, outcomes: OutcomesByEffect): boolean {
  return history.claims.some(
    (claim) =>
      claim.sequence < seen.sequence &&
      inFlight(stateOf(outcomes.get(claim.effectId), seen.sequence).execution) &&
      touches(claim, seen.resource),
  );
}
