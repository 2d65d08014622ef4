import { sameJson } from '../documents.ts';
import type { AutoReview, AutoRun } from '../model.ts';
import { completeReview, type Reviewer, startReview } from '../reviews.ts';
import { askReviewer } from './ask.ts';
import type { CandidateBytes } from './candidate-bytes.ts';
import type { AuthorRun, SuperviseContext } from './context.ts';
import { endingOf } from './reviewing.ts';
import type { Standing } from './standing.ts';
import type { Profile } from './terms.ts';

/** Begins a review of exactly the current candidate, with the evidence that was just read. */
export async function beginReview(
  context: SuperviseContext,
  run: AuthorRun,
  { run: auto, reviews }: Standing,
  read: CandidateBytes,
  { document }: Profile,
): Promise<void> {
  const number = reviews.length + 1;
  const name = `${auto.execution_id}-review-${number}`;
  const attempt = reviews.filter((review) => review.candidate_id === auto.candidate_id).length + 1;
  await context.store.write('autonomy.review.start', (tx) =>
    startReview(tx, context.autonomy, run.principal, auto.run_id, {
      reviewRunId: name,
      auditId: `${name}-audit`,
      key: `${name}:start`,
      candidateId: auto.candidate_id ?? '',
      candidateSnapshotSha256: auto.candidate_snapshot_sha256 ?? '',
      evidenceSnapshot: read.evidence,
      evidenceSnapshotSha256: read.evidenceSha256,
      roundIndex: number - 1,
      attempt,
      reviewer: document as Reviewer,
    }),
  );
  await context.faults.reach('auto-review-started', number);
}

/**
 * Carries a started review to its end: asks the reviewer about the evidence that was frozen with it, within so many
 * milliseconds, and writes down what it found. After a crash it is asked again; a turn of a model changes nothing.
 */
export async function endReview(
  context: SuperviseContext,
  run: AuthorRun,
  review: AutoReview,
  profile: Profile,
  how: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<void> {
  const { clock } = context.autonomy.sessions;
  const answer = await askReviewer(profile, review.evidence_snapshot, { clock, ...how });
  await context.faults.reach('auto-review-answered', review.round_index + 1);
  await write(context, run, review, endingOf(answer, review.evidence_snapshot, review.review_run_id));
}

/** Whether a review was begun by this reviewer: by its record no other may end it. */
export const isReviewOf = ({ reviewer }: AutoReview, { document }: Profile): boolean => sameJson(reviewer, document);

/** Ends a review that nobody will carry out any more. */
export const dropReview = (context: SuperviseContext, run: AuthorRun, review: AutoReview, why: string): Promise<void> =>
  write(context, run, review, {
    status: 'unavailable',
    verdict: 'review_unavailable',
    assessment: { public_summary: why },
  });

async function write(
  context: SuperviseContext,
  run: AuthorRun,
  { review_run_id: id, round_index }: AutoReview,
  ending: Omit<Parameters<typeof completeReview>[4], 'key'>,
): Promise<void> {
  await context.store.write('autonomy.review.complete', (tx) =>
    completeReview(tx, context.autonomy, run.principal, id, { key: `${id}:end`, ...ending }),
  );
  await context.faults.reach('auto-review-completed', round_index + 1);
}

/** The review of a run that was started and has not ended. */
export const openReview = (auto: AutoRun, reviews: readonly AutoReview[]): AutoReview | undefined =>
  reviews.find((review) => review.run_id === auto.run_id && review.status === 'started');
