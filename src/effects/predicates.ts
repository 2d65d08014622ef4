import type { EffectObservation, Mechanism, Postcondition, ResourceKind } from './model.ts';
import { sameLocation } from './overlap.ts';

/** The one mechanism that can verify each kind; the kinds without one can be watched, never verified. */
const VERIFYING: Readonly<Record<ResourceKind, Mechanism | null>> = {
  filesystem: 'filesystem_read',
  owned: 'owned_record_read',
  external: 'remote_readback',
  process: null,
  process_launch: null,
  background_job: null,
  browser_session: null,
};

export type Decision = 'true' | 'false' | 'undecided';

/** Whether this kind of target can be verified at all, and with which mechanism. */
export function verifyingMechanism(kind: ResourceKind): Mechanism | null {
  return VERIFYING[kind];
}

/** Whether an observation is at the target's location and by a mechanism that can verify that kind. */
export function canVerify(observation: EffectObservation, condition: Postcondition): boolean {
  return (
    observation.mechanism === VERIFYING[condition.target.kind] && sameLocation(observation.resource, condition.target)
  );
}

/** What one observation says about one obligation (PRED-1 to PRED-4); undecided when it cannot verify it. */
export function decide(condition: Postcondition, seen: EffectObservation): Decision {
  if (!canVerify(seen, condition)) return 'undecided';
  switch (condition.predicate) {
    case 'exists':
      return seen.exists === null ? 'undecided' : asDecision(seen.exists);
    case 'absent':
      return seen.exists === null ? 'undecided' : asDecision(!seen.exists);
    case 'content_sha256':
      return decideContent(seen, (digest) => digest === condition.expected);
    case 'content_changed':
      return decideContent(seen, (digest) => digest !== condition.expected);
  }
}

function decideContent(seen: EffectObservation, holds: (digest: string) => boolean): Decision {
  if (seen.exists === false) return 'false';
  if (seen.coverage !== 'complete' || seen.contentSha256 === '') return 'undecided';
  return asDecision(holds(seen.contentSha256));
}

function asDecision(value: boolean): Decision {
  return value ? 'true' : 'false';
}
