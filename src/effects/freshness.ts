import { type EffectHistory, type HistoryIndex, indexHistory, inFlight, stateOf } from './history.ts';
import type { EffectObservation, Freshness } from './model.ts';
import { sameLocation, touches } from './overlap.ts';

/**
 * Whether an observation still says something about the world (FRESH-1 to FRESH-5). Anything later that may have
 * changed the resource makes it stale; anything overlapping that was in flight when it was taken leaves it unsettled.
 */
export function freshness(
  observation: EffectObservation,
  history: EffectHistory,
  index: HistoryIndex = indexHistory(history),
): Freshness {
  if (!isReceipt(observation) && isStale(observation, index)) return 'stale';
  return isUnsettled(observation, index) ? 'unsettled' : 'fresh';
}

/** A receipt speaks of its own execution, not of the world's state, so nothing later makes it stale. */
function isReceipt(observation: EffectObservation): boolean {
  return observation.mechanism === 'execution_receipt' || observation.mechanism === 'remote_acknowledgement';
}

function isStale(seen: EffectObservation, index: HistoryIndex): boolean {
  for (const claim of index.mayTouch(seen.resource)) {
    if (claim.sequence <= seen.sequence || !touches(claim, seen.resource)) continue;
    if (stateOf(index.outcomes.get(claim.effectId)).impact !== 'none') return true;
  }
  return index
    .near(seen.resource)
    .some(
      (later) =>
        later.sequence > seen.sequence &&
        later.resource.incarnation !== seen.resource.incarnation &&
        sameLocation(later.resource, seen.resource),
    );
}

/** Only outcomes before the observation count: one recorded later does not make it fresh. */
function isUnsettled(seen: EffectObservation, index: HistoryIndex): boolean {
  for (const claim of index.mayTouch(seen.resource)) {
    if (claim.sequence >= seen.sequence || !touches(claim, seen.resource)) continue;
    if (inFlight(stateOf(index.outcomes.get(claim.effectId), seen.sequence).execution)) return true;
  }
  return false;
}
