import { digestJson } from '../core/index.ts';
import * as doc from './documents.ts';
import { requireProof } from './errors.ts';
import { type EventLog, sameScope } from './event-log.ts';
import type { AutoEvent, AutoFinding, AutoReview } from './model.ts';
import { checkVerdict } from './verdicts.ts';

const REVIEW = 'result review';

/** The events of a proved review. */
export interface ReviewEvents {
  readonly start: AutoEvent;
  readonly completion: AutoEvent | null;
}

/** Holds a review, with its findings, against its events and every digest of it against what it covers. */
export function proveReview(log: EventLog, review: AutoReview, findings: readonly AutoFinding[]): ReviewEvents {
  const started =
    review.evidence_snapshot_sha256 === digestJson(review.evidence_snapshot) &&
    review.start_request_sha256 === doc.reviewStartDigest(review) &&
    review.audit_request_digest === doc.reviewAuditDigest(review);
  requireProof(started, REVIEW, 'what was to be reviewed is not what was asked');
  const start = log.require(review, 'auto_audit_started', doc.reviewStarted(review), REVIEW);
  if (review.status === 'started') {
    requireProof(findings.length === 0 && hasNoEnd(review), REVIEW, 'it has an end that was not written');
    return { start, completion: null };
  }
  proveEnd(review, findings);
  const told = doc.reviewCompleted(review, findings);
  return { start, completion: log.require(review, 'auto_audit_completed', told, REVIEW) };
}

const hasNoEnd = (review: AutoReview): boolean =>
  review.verdict === null &&
  review.assessment === null &&
  review.assessment_digest === null &&
  review.assessment_envelope_json === null &&
  review.completion_request_sha256 === null &&
  review.completed_at === null;

function proveEnd(review: AutoReview, findings: readonly AutoFinding[]): void {
  const envelope = doc.reviewEnvelope(review, findings);
  const ended =
    review.completion_request_sha256 === doc.reviewCompletionDigest(review, findings) &&
    review.assessment_envelope_json === envelope &&
    review.assessment_digest === doc.textDigest(envelope);
  requireProof(ended, REVIEW, 'what was found is not what was written');
  const whole = findings.every(
    (finding, at) =>
      finding.finding_ordinal === at && sameScope(finding, review) && finding.candidate_id === review.candidate_id,
  );
  requireProof(whole, REVIEW, 'a finding does not belong to it');
  requireProof(checkVerdict(review.status, review.verdict ?? '', findings) === null, REVIEW, 'its verdict cannot be');
}
