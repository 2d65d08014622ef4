import {
  digestJson,
  fail,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LIMITS,
  requireText,
  requireWithin,
} from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { AutonomyContext } from './context.ts';
import * as doc from './documents.ts';
import { keyConflict, requireProof, wrongPhase } from './errors.ts';
import { eventsOfAudit } from './audit-events.ts';
import { EventLog } from './event-log.ts';
import { replayedEvent, transition } from './events.ts';
import {
  checkSize,
  countField,
  digestField,
  keyField,
  listField,
  objectField,
  summaryOf,
  textField,
  wordField,
} from './fields.ts';
import { nextStatus } from './machine.ts';
import {
  AUDIT_ENDS,
  type AuditEnd,
  type AutoEvent,
  type AutoFinding,
  type AutoReview,
  type AutoRun,
  SEVERITIES,
  type Transition,
  VERDICTS,
} from './model.ts';
import * as sql from './queries.ts';
import { proveReview } from './review-proof.ts';
import { requireIndependent } from './independence.ts';
import { takeStep } from './step.ts';
import { requireCurrent, requireMutable, requireRun } from './usable.ts';
import { checkVerdict } from './verdicts.ts';

/** What steps of a review answer with: the review, its findings, and the names under which readers know its parts. */
export type ReviewTransition = Transition<
  AutoReview & {
    findings: AutoFinding[];
    model_profile_id: JsonValue;
    model_profile_revision: JsonValue;
    model_fingerprint: JsonValue;
    round: number;
    created_at: number;
    finished_at: number | null;
  }
>;

const answer = (review: AutoReview, findings: AutoFinding[], event: AutoEvent, created: boolean): ReviewTransition =>
  transition(
    {
      ...review,
      findings,
      model_profile_id: review.reviewer['profile_id'] ?? null,
      model_profile_revision: review.reviewer['profile_revision'] ?? null,
      model_fingerprint: review.reviewer['model_fingerprint'] ?? null,
      round: review.round_index,
      created_at: review.started_at,
      finished_at: review.completed_at,
    },
    event,
    created,
  );

/** Who reviews. Further members are kept and digested. */
export interface Reviewer extends JsonObject {
  profile_id: string;
  profile_revision: number;
  model_fingerprint: string;
}

export interface NewReview {
  readonly reviewRunId: string;
  readonly auditId: string;
  readonly key: string;
  readonly candidateId: string;
  readonly candidateSnapshotSha256: string;
  readonly evidenceSnapshot: JsonObject;
  readonly evidenceSnapshotSha256: string;
  readonly roundIndex: number;
  readonly attempt: number;
  readonly reviewer: Reviewer;
}

/**
 * Starts an independent review of exactly the current candidate. Refuses with AUTO_CANDIDATE_MISMATCH when the request
 * names another one, AUTO_SELF_REVIEW when the reviewer is the author that the run's selection names, INVALID_VALUE when the evidence is not what its digest says, AUTO_WRONG_PHASE, AUTO_KEY_CONFLICT,
 * AUTO_RUN_NOT_FOUND, and what makes a run unusable. A taken id or audit id is STORE_CONSTRAINT.
 */
export async function startReview(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  runId: string,
  asked: NewReview,
): Promise<ReviewTransition> {
  const run = await requireRun(tx, principal, runId);
  const review = newReview(run, asked, context.sessions.clock.nowMs());
  const { start_idempotency_key: key, start_request_sha256: request } = review;
  const earlier = await replayedEvent(tx, runId, key, 'auto_audit_started', request);
  if (earlier) {
    const stored = await tx.get(sql.REVIEW_BY_KEY, [runId, key]);
    requireProof(stored !== undefined, 'result review', 'the review is missing');
    return replayed(tx, context, principal, run, sql.REVIEWS.read(stored ?? {}), earlier);
  }
  await requireMutable(tx, context, principal, run);
  if (isJsonObject(run.selection['author'])) requireIndependent(run.selection['author'], review.reviewer);
  if (nextStatus(run.status, 'review_start') === null) throw wrongPhase('Starting a review', run.status);
  const exact =
    run.candidate_id === review.candidate_id &&
    run.candidate_snapshot_sha256 === review.candidate_snapshot_sha256 &&
    run.evidence_snapshot_sha256 === review.evidence_snapshot_sha256;
  if (!exact) throw fail('AUTO_CANDIDATE_MISMATCH', 'The review names another candidate than the current one.');
  await tx.run(sql.REVIEWS.insert, sql.REVIEWS.params(review));
  const { event } = await takeStep(tx, context, principal, run, 'auto_audit_started', doc.reviewStarted(review));
  return answer(review, [], event, true);
}

function newReview(run: AutoRun, asked: NewReview, at: number): AutoReview {
  const evidence = objectField('evidence_snapshot', asked.evidenceSnapshot);
  const evidenceDigest = digestField('evidence_snapshot_sha256', asked.evidenceSnapshotSha256);
  if (digestJson(evidence) !== evidenceDigest)
    throw fail('INVALID_VALUE', 'evidence_snapshot_sha256 is not the digest of the evidence.');
  const review: AutoReview = {
    review_run_id: textField('review_run_id', asked.reviewRunId),
    audit_id: textField('audit_id', asked.auditId),
    ...doc.scopeOf(run),
    ...doc.UNENDED,
    ...doc.UNASSESSED,
    start_idempotency_key: keyField('idempotency_key', asked.key),
    start_request_sha256: '',
    candidate_id: textField('candidate_id', asked.candidateId),
    candidate_snapshot_sha256: digestField('candidate_snapshot_sha256', asked.candidateSnapshotSha256),
    evidence_snapshot_sha256: evidenceDigest,
    evidence_snapshot: evidence,
    round_index: countField('round_index', asked.roundIndex, 0),
    attempt: countField('attempt', asked.attempt, 1),
    reviewer: reviewerField(asked.reviewer),
    audit_request_digest: '',
    verdict: null,
    usage: null,
    started_at: at,
  };
  const start_request_sha256 = doc.reviewStartDigest(review);
  return { ...review, start_request_sha256, audit_request_digest: doc.reviewAuditDigest(review) };
}

function reviewerField(given: Reviewer): JsonObject {
  const reviewer = objectField('reviewer', given);
  textField('reviewer.profile_id', reviewer['profile_id']);
  countField('reviewer.profile_revision', reviewer['profile_revision'], 1);
  textField('reviewer.model_fingerprint', reviewer['model_fingerprint']);
  return reviewer;
}

async function findingsOf(tx: ReadTx, reviewRunId: string): Promise<AutoFinding[]> {
  return (await tx.all(sql.FINDINGS_OF_REVIEW, [reviewRunId])).map(sql.FINDINGS.read);
}

/** Proves the review alone, so that what is wrong with it is named before what is wrong with the run. */
async function proved(tx: ReadTx, review: AutoReview): Promise<AutoFinding[]> {
  const findings = await findingsOf(tx, review.review_run_id);
  const log = new EventLog(await eventsOfAudit(tx, review.root_frame_id, review.audit_id));
  proveReview(log, review, findings);
  log.requireAllKnown('result review');
  return findings;
}

async function replayed(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
  review: AutoReview,
  event: AutoEvent,
): Promise<ReviewTransition> {
  const findings = await proved(tx, review);
  await requireCurrent(tx, context, principal, run);
  return answer(review, findings, event, false);
}

export interface NewFinding {
  readonly findingId: string;
  readonly fingerprint: string;
  readonly severity: string;
  readonly category: string;
  readonly claim: string;
  readonly evidenceRefs?: readonly string[];
  readonly artifactIds?: readonly string[];
  readonly versionIds?: readonly string[];
  readonly cellIds?: readonly string[];
}

export interface ReviewEnding {
  readonly key: string;
  readonly status: AuditEnd;
  readonly verdict: string;
  readonly assessment: JsonObject;
  readonly findings?: readonly NewFinding[];
  readonly usage?: JsonValue;
}

/**
 * Ends a review, and gives the run back as a candidate, whatever was found. The arguments are judged before anything
 * that is stored: AUTO_CONTRADICTION, INVALID_VALUE. Then AUTO_REVIEW_NOT_FOUND, AUTO_KEY_CONFLICT, AUTO_WRONG_PHASE,
 * AUTO_PROOF_FAILED, and what makes a run unusable.
 */
export async function completeReview(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  reviewRunId: string,
  asked: ReviewEnding,
): Promise<ReviewTransition> {
  const at = context.sessions.clock.nowMs();
  const ending = endingOf(asked);
  const row = await tx.get(sql.FIND_REVIEW, [reviewRunId, principal.tenant]);
  if (!row) throw fail('AUTO_REVIEW_NOT_FOUND', 'There is no such result review.');
  const review = sql.REVIEWS.read(row);
  const run = await requireRun(tx, principal, review.run_id);
  const findings = ending.findings.map((finding, ordinal) => findingRow(review, finding, ordinal, at));
  const ended = endedReview(review, ending, findings, at);
  const request = ended.completion_request_sha256 ?? '';
  const earlier = await replayedEvent(tx, run.run_id, ending.key, 'auto_audit_completed', request);
  if (earlier) {
    if (review.completion_idempotency_key !== ending.key) throw keyConflict();
    return replayed(tx, context, principal, run, review, earlier);
  }
  if (review.status !== 'started') throw wrongPhase('Completing the review', review.status);
  await proved(tx, review);
  await requireMutable(tx, context, principal, run);
  await tx.run(sql.END_REVIEW, [...sql.REVIEW_END.params(ended), reviewRunId]);
  for (const finding of findings) await tx.run(sql.FINDINGS.insert, sql.FINDINGS.params(finding));
  const told = doc.reviewCompleted(ended, findings);
  const { event } = await takeStep(tx, context, principal, run, 'auto_audit_completed', told);
  return answer(ended, findings, event, true);
}

type Finding = Pick<
  AutoFinding,
  | 'finding_id'
  | 'fingerprint'
  | 'severity'
  | 'category'
  | 'claim'
  | 'evidence_refs'
  | 'artifact_ids'
  | 'version_ids'
  | 'cell_ids'
>;

interface Ending {
  readonly key: string;
  readonly status: AuditEnd;
  readonly verdict: string;
  readonly assessment: JsonObject;
  readonly usage: JsonValue;
  readonly findings: readonly Finding[];
}

function endingOf(asked: ReviewEnding): Ending {
  const key = keyField('idempotency_key', asked.key);
  const status = wordField('status', asked.status, AUDIT_ENDS);
  const verdict = wordField('verdict', asked.verdict, VERDICTS);
  const given = asked.findings ?? [];
  requireWithin('autoListItems', given.length);
  const findings = given.map(findingOf);
  const contradiction = checkVerdict(status, verdict, findings);
  if (contradiction !== null) throw fail('AUTO_CONTRADICTION', contradiction);
  const usage = asked.usage ?? null;
  if (usage !== null && !isJsonObject(usage)) throw fail('INVALID_VALUE', 'usage must be an object.');
  checkSize(usage);
  return { key, status, verdict, findings, usage, assessment: objectField('assessment', asked.assessment) };
}

/** The reviewer's own status of a finding is not asked for: it is stored as open. */
function findingOf(given: NewFinding): Finding {
  return {
    finding_id: textField('finding_id', given.findingId),
    fingerprint: textField('fingerprint', given.fingerprint),
    severity: wordField('severity', String(given.severity).toLowerCase(), SEVERITIES),
    category: textField('category', given.category),
    claim: requireText('claim', given.claim, LIMITS.autoClaimCodePoints),
    evidence_refs: listField('evidence_refs', given.evidenceRefs),
    artifact_ids: listField('artifact_ids', given.artifactIds),
    version_ids: listField('version_ids', given.versionIds),
    cell_ids: listField('cell_ids', given.cellIds),
  };
}

function findingRow(review: AutoReview, finding: Finding, ordinal: number, at: number): AutoFinding {
  const { review_run_id, candidate_id } = review;
  const place = { ...doc.scopeOf(review), review_run_id, candidate_id };
  return { ...finding, ...place, finding_ordinal: ordinal, status: 'open', created_at: at, updated_at: at };
}

function endedReview(review: AutoReview, ending: Ending, findings: readonly AutoFinding[], at: number): AutoReview {
  const { key, status, verdict, assessment, usage } = ending;
  const bare: AutoReview = {
    ...review,
    status,
    verdict,
    assessment,
    usage,
    completion_idempotency_key: key,
    completed_at: at,
    public_summary: summaryOf(assessment, ['public_summary', 'summary']),
  };
  const envelope = doc.reviewEnvelope(bare, findings);
  return {
    ...bare,
    completion_request_sha256: doc.reviewCompletionDigest(bare, findings),
    assessment_envelope_json: envelope,
    assessment_digest: doc.textDigest(envelope),
  };
}
