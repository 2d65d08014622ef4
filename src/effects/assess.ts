import { freshness } from './freshness.ts';
import { type EffectHistory, type HistoryIndex, historyUpTo, indexHistory } from './history.ts';
import type { Assessment, EffectClaim, EffectObservation, EffectOutcome, Postcondition, Verdict } from './model.ts';
import { canVerify, decide } from './predicates.ts';

/** Of several obligations the lowest rank decides (ASSESS-C). */
const RANK: Readonly<Record<Verdict, number>> = {
  failed: 0,
  contradicted: 1,
  pending: 2,
  unverified: 3,
  not_executed: 4,
  state_observed: 5,
  verified: 6,
};

interface Judgement {
  readonly verdict: Verdict;
  readonly reason: string;
  readonly observationId?: string;
}

type Assessed = Pick<EffectClaim, 'effectId' | 'actionId' | 'obligations'>;

/**
 * Works out what is known of one claim. A tool's own report of success is never enough for `verified`: that takes a
 * fresh reading, after the outcome, by a mechanism that can verify the resource. The claim need not come from the same
 * log; only its effect id, action id and obligations are used.
 */
export function assess(
  claim: Assessed,
  history: EffectHistory,
  index: HistoryIndex = indexHistory(history),
): Assessment {
  const latest = index.outcomes.get(claim.effectId)?.at(-1);
  const base = {
    effectId: claim.effectId,
    actionId: claim.actionId,
    execution: latest?.execution ?? ('attempted' as const),
    impact: latest?.impact ?? null,
    cleanup: latest?.cleanup ?? ('not_applicable' as const),
    targets: claim.obligations.map((obligation) => obligation.target),
  };
  const early = latest ? withoutReading(latest, claim) : PENDING;
  if (early) return { ...base, ...early, observationIds: [] };
  const settled = latest as EffectOutcome;
  const judged = claim.obligations.map((obligation) => judge(obligation, settled, history, index));
  const { verdict, reason } = adjust(pick(judged), settled);
  const ids = judged.flatMap((one) => (one.observationId === undefined ? [] : [one.observationId]));
  return { ...base, verdict, reason, observationIds: [...new Set(ids)] };
}

/** One answer per claim, in order of claim position. */
export function assessAll(history: EffectHistory): readonly Assessment[] {
  const index = indexHistory(history);
  return history.claims.map((claim) => assess(claim, history, index));
}

/**
 * The answer as it was at completion: judged with what was known when the last record of the same action was written
 * (its outcome, or a reading made for it), before anything later could make that reading stale.
 */
export function assessAtCompletion(claim: EffectClaim, history: EffectHistory): Assessment {
  return assess(claim, historyUpTo(history, completionOf(claim, history)));
}

/** Something may have changed, and no fresh reading has settled it. */
export function unresolvedImpact(of: Pick<Assessment, 'execution' | 'impact' | 'verdict'>): boolean {
  return (
    of.impact !== 'none' &&
    of.execution !== 'reported_success' &&
    of.verdict !== 'state_observed' &&
    of.verdict !== 'contradicted'
  );
}

const PENDING: Judgement = { verdict: 'pending', reason: 'the claim has no outcome yet' };

/** ASSESS-A2 to A5; null means that the obligations decide. */
function withoutReading(latest: EffectOutcome, claim: Assessed): Judgement | null {
  if (latest.execution === 'not_executed') return { verdict: 'not_executed', reason: 'the tool was never reached' };
  if (latest.execution === 'running') return { verdict: 'pending', reason: 'the work goes on in the background' };
  if (claim.obligations.length > 0) return null;
  if (latest.execution === 'failed')
    return { verdict: 'failed', reason: 'the tool reported a failure; nothing to read back was claimed' };
  return { verdict: 'unverified', reason: 'the claim names nothing that could be read back' };
}

/** ASSESS-B: only the newest candidate is looked at; an older, better one never replaces it. */
function judge(
  obligation: Postcondition,
  latest: EffectOutcome,
  history: EffectHistory,
  index: HistoryIndex,
): Judgement {
  const newest = newestCandidate(obligation, latest, index);
  if (!newest) return { verdict: 'unverified', reason: 'nothing was read back after the outcome' };
  const observationId = newest.observationId;
  const state = freshness(newest, history, index);
  if (state !== 'fresh') return { verdict: 'unverified', reason: `the newest reading is ${state}`, observationId };
  const decision = decide(obligation, newest);
  if (decision === 'undecided')
    return {
      verdict: 'unverified',
      reason: `the newest reading does not decide ${obligation.predicate}`,
      observationId,
    };
  if (decision === 'false')
    return { verdict: 'contradicted', reason: `the newest reading shows ${obligation.predicate} false`, observationId };
  return { ...whenTrue(latest), observationId };
}

function whenTrue(latest: EffectOutcome): Judgement {
  if (latest.execution === 'failed')
    return { verdict: 'failed', reason: 'the tool reported a failure, though the end state holds' };
  if (latest.execution === 'reported_success')
    return { verdict: 'verified', reason: 'a fresh reading after the outcome shows the end state' };
  return {
    verdict: 'state_observed',
    reason: `the end state holds, though the execution ended as ${latest.execution}`,
  };
}

function newestCandidate(
  obligation: Postcondition,
  latest: EffectOutcome,
  index: HistoryIndex,
): EffectObservation | undefined {
  return index
    .near(obligation.target)
    .findLast((seen) => seen.sequence > latest.sequence && canVerify(seen, obligation));
}

/** The lowest rank; on a tie the obligation listed first. */
function pick(judged: readonly Judgement[]): Judgement {
  return judged.reduce((best, next) => (RANK[next.verdict] < RANK[best.verdict] ? next : best));
}

/** ASSESS-D: a failed execution stays failed unless the picked verdict contradicts it. */
function adjust(picked: Judgement, latest: EffectOutcome): Judgement {
  if (latest.execution !== 'failed' || picked.verdict === 'contradicted' || picked.verdict === 'failed') return picked;
  return { verdict: 'failed', reason: `the tool reported a failure; ${picked.reason}` };
}

function completionOf(claim: EffectClaim, history: EffectHistory): number {
  const own = [
    ...history.outcomes.filter((outcome) => outcome.effectId === claim.effectId),
    ...history.observations.filter((seen) => seen.sourceActionId === claim.actionId),
  ];
  return own.reduce((last, record) => Math.max(last, record.sequence), claim.sequence);
}
