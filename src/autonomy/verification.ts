import { candidateFields, sameJson } from './documents.ts';
import {
  type AutoEvent,
  type AutoFinding,
  type AutoReview,
  type AutoRun,
  type CandidateFields,
  MATERIAL,
} from './model.ts';
import type { ReviewEvents } from './review-proof.ts';

/** A proved review with its place in the log. */
export interface ProvedReview {
  readonly review: AutoReview;
  readonly events: ReviewEvents;
}

/**
 * Why the current candidate is not verified, or null when it is: the newest finished review of exactly it passed, after
 * it was recorded, and no material finding was ever made on it. Pure.
 */
export function whyNotVerified(
  run: Pick<AutoRun, keyof CandidateFields>,
  events: readonly AutoEvent[],
  reviews: readonly ProvedReview[],
  findings: readonly AutoFinding[],
): string | null {
  const ready = events.findLast((event) => event.type === 'candidate_ready');
  const { status: _status, ...announced } = ready?.payload ?? {};
  if (run.candidate_id === null || !ready || !sameJson(announced, candidateFields(run)))
    return 'there is no current candidate';
  if (reviews.some(({ review }) => review.status === 'started')) return 'a review has not ended';
  const [newest] = reviews
    .filter(({ review }) => isOf(run, review))
    .sort((a, b) => (b.events.completion?.event_cursor ?? 0) - (a.events.completion?.event_cursor ?? 0));
  if (newest?.review.status !== 'completed' || newest.review.verdict !== 'pass')
    return 'the newest review of the candidate did not pass';
  const { start, completion } = newest.events;
  if (!completion || ready.event_cursor >= start.event_cursor || start.event_cursor >= completion.event_cursor)
    return 'the review is older than the candidate';
  if (findings.some((finding) => finding.candidate_id === run.candidate_id && MATERIAL.has(finding.severity)))
    return 'a material finding stands against the candidate';
  return null;
}

const isOf = (run: Pick<AutoRun, keyof CandidateFields>, review: AutoReview): boolean =>
  review.candidate_id === run.candidate_id &&
  review.candidate_snapshot_sha256 === run.candidate_snapshot_sha256 &&
  review.evidence_snapshot_sha256 === run.evidence_snapshot_sha256;
