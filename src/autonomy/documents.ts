import { canonicalJson, digestJson, type JsonObject, type JsonValue, sha256Hex } from '../core/index.ts';
import type {
  AutoAssessment,
  AutoFinding,
  AutoRepair,
  AutoReview,
  AutoRun,
  CandidateFields,
  RepairBinding,
  RunScope,
} from './model.ts';

// Every digested request and every event payload is made here, once: a step writes what these give, and a proof holds
// what is stored against them again.

/** The five parts alone. */
export const scopeOf = (of: RunScope): RunScope => ({
  run_id: of.run_id,
  root_frame_id: of.root_frame_id,
  branch_id: of.branch_id,
  turn_id: of.turn_id,
  execution_id: of.execution_id,
});

/** An owner that has not ended. */
export const UNENDED = {
  status: 'started',
  completion_idempotency_key: null,
  completion_request_sha256: null,
  completed_at: null,
} as const;
/** Advice that was not given yet. */
export const UNASSESSED = {
  assessment: null,
  assessment_envelope_json: null,
  assessment_digest: null,
  public_summary: null,
} as const;

/** One event as its owner implies it. */
export interface Told {
  readonly key: string;
  readonly request: string;
  readonly payload: JsonObject;
  readonly at: number;
}

export const runRequest = (run: AutoRun): string =>
  digestJson({
    root_frame_id: run.root_frame_id,
    branch_id: run.branch_id,
    turn_id: run.turn_id,
    execution_id: run.execution_id,
    mode: run.mode,
    selection: run.selection,
    budgets: run.budgets,
  });

export const runStarted = (run: AutoRun): Told => ({
  key: run.idempotency_key,
  request: run.request_sha256,
  payload: { mode: run.mode, status: 'running', selection: run.selection, budgets: run.budgets },
  at: run.created_at,
});

export const candidateFields = (of: CandidateFields): CandidateFields => ({
  candidate_id: of.candidate_id,
  candidate_snapshot_sha256: of.candidate_snapshot_sha256,
  evidence_snapshot_sha256: of.evidence_snapshot_sha256,
  artifact_set_sha256: of.artifact_set_sha256,
  candidate_artifact_ids: of.candidate_artifact_ids,
  candidate_version_ids: of.candidate_version_ids,
});

export const candidateReady = (fields: CandidateFields): JsonObject => ({
  ...candidateFields(fields),
  status: 'candidate',
});

export const terminalRequest = (status: string, reason: string, stopReason: string | null): string =>
  digestJson({ status, reason, stop_reason: stopReason });

export const runTerminal = (status: string, reason: string, stopReason: string | null): JsonObject => ({
  status,
  terminal_reason: reason,
  stop_reason: stopReason,
});

// Result reviews

const REVIEW_SUBJECT = { subject_kind: 'result_review', subject_entity_kind: 'candidate_evidence_snapshot' } as const;

const reviewStart = (review: AutoReview): JsonObject => ({
  candidate_id: review.candidate_id,
  candidate_snapshot_sha256: review.candidate_snapshot_sha256,
  evidence_snapshot_sha256: review.evidence_snapshot_sha256,
  round_index: review.round_index,
  attempt: review.attempt,
  reviewer: review.reviewer,
});
export const reviewStartDigest = (review: AutoReview): string => digestJson(reviewStart(review));
export const reviewAuditDigest = (review: AutoReview): string =>
  digestJson({ ...reviewStart(review), ...REVIEW_SUBJECT });

/** A finding as it is digested: as the reviewer gave it, open. */
const findingDocument = (finding: AutoFinding): JsonObject => ({
  finding_id: finding.finding_id,
  fingerprint: finding.fingerprint,
  severity: finding.severity,
  category: finding.category,
  claim: finding.claim,
  evidence_refs: finding.evidence_refs,
  artifact_ids: finding.artifact_ids,
  version_ids: finding.version_ids,
  cell_ids: finding.cell_ids,
  status: 'open',
});

const reviewCompletion = (review: AutoReview, findings: readonly AutoFinding[]): JsonObject => ({
  status: review.status,
  verdict: review.verdict,
  assessment: review.assessment,
  findings: findings.map(findingDocument),
  usage: review.usage,
});
export const reviewCompletionDigest = (review: AutoReview, findings: readonly AutoFinding[]): string =>
  digestJson(reviewCompletion(review, findings));
export const reviewEnvelope = (review: AutoReview, findings: readonly AutoFinding[]): string =>
  canonicalJson({
    audit_request_digest: review.audit_request_digest,
    ...REVIEW_SUBJECT,
    attempt: review.attempt,
    ...reviewCompletion(review, findings),
    durable: true,
    retry_state: 'terminal',
  });

const reviewSubject = (review: AutoReview): JsonObject => ({
  audit_id: review.audit_id,
  review_run_id: review.review_run_id,
  ...REVIEW_SUBJECT,
  subject_entity_id: review.candidate_id,
  candidate_id: review.candidate_id,
  audit_request_digest: review.audit_request_digest,
  attempt: review.attempt,
});

export const reviewStarted = (review: AutoReview): Told => ({
  key: review.start_idempotency_key,
  request: review.start_request_sha256,
  payload: {
    ...reviewSubject(review),
    candidate_snapshot_sha256: review.candidate_snapshot_sha256,
    evidence_snapshot_sha256: review.evidence_snapshot_sha256,
    model_profile_id: review.reviewer['profile_id'] ?? null,
    model_profile_revision: review.reviewer['profile_revision'] ?? null,
    model_fingerprint: review.reviewer['model_fingerprint'] ?? null,
    round: review.round_index,
    status: 'started',
  },
  at: review.started_at,
});

export const reviewCompleted = (review: AutoReview, findings: readonly AutoFinding[]): Told => ({
  key: review.completion_idempotency_key ?? '',
  request: review.completion_request_sha256 ?? '',
  payload: {
    ...reviewSubject(review),
    assessment_digest: review.assessment_digest,
    verdict: review.verdict,
    status: review.status,
    finding_count: findings.length,
    public_summary: review.public_summary,
  },
  at: review.completed_at ?? 0,
});

// Permission assessments

const PERMISSION_SUBJECT = { subject_kind: 'permission_review', subject_entity_kind: 'approval_action' } as const;

const assessmentStart = (of: AutoAssessment): JsonObject => ({
  decision_id: of.decision_id,
  action_digest: of.action_digest,
  policy_version: of.policy_version,
});
export const assessmentStartDigest = (of: AutoAssessment): string => digestJson(assessmentStart(of));
export const assessmentAuditDigest = (of: AutoAssessment): string =>
  digestJson({ ...assessmentStart(of), ...PERMISSION_SUBJECT });

const assessmentCompletion = (of: AutoAssessment): JsonObject => ({
  status: of.status,
  outcome: of.outcome,
  risk: of.risk,
  assessment: of.assessment,
});
export const assessmentCompletionDigest = (of: AutoAssessment): string => digestJson(assessmentCompletion(of));
export const assessmentEnvelope = (of: AutoAssessment): string =>
  canonicalJson({
    audit_request_digest: of.audit_request_digest,
    ...PERMISSION_SUBJECT,
    subject_entity_id: of.decision_id,
    ...assessmentCompletion(of),
    durable: true,
    retry_state: 'terminal',
  });

const assessmentSubject = (of: AutoAssessment): JsonObject => ({
  audit_id: of.audit_id,
  assessment_id: of.assessment_id,
  decision_id: of.decision_id,
  action_digest: of.action_digest,
  ...PERMISSION_SUBJECT,
  subject_entity_id: of.decision_id,
  audit_request_digest: of.audit_request_digest,
});

export const assessmentStarted = (of: AutoAssessment): Told => ({
  key: of.start_idempotency_key,
  request: of.start_request_sha256,
  payload: { ...assessmentSubject(of), policy_version: of.policy_version, status: 'started' },
  at: of.started_at,
});

export const assessmentCompleted = (of: AutoAssessment): Told => ({
  key: of.completion_idempotency_key ?? '',
  request: of.completion_request_sha256 ?? '',
  payload: {
    ...assessmentSubject(of),
    assessment_digest: of.assessment_digest,
    outcome: of.outcome,
    risk: of.risk,
    status: of.status,
    public_summary: of.public_summary,
  },
  at: of.completed_at ?? 0,
});

// Repairs

export const repairStartDigest = (repair: AutoRepair): string =>
  digestJson({
    finding_ids: repair.finding_ids,
    before_version_ids: repair.before_version_ids,
    checkpoint_id: repair.checkpoint_id,
  });

export const repairStarted = (repair: AutoRepair): Told => ({
  key: repair.start_idempotency_key,
  request: repair.start_request_sha256,
  payload: {
    repair_run_id: repair.repair_run_id,
    finding_ids: repair.finding_ids,
    before_version_ids: repair.before_version_ids,
    checkpoint_id: repair.checkpoint_id,
    status: 'started',
  },
  at: repair.started_at,
});

export const bindingDigest = (binding: RepairBinding): string =>
  digestJson({
    action_group_id: binding.action_group_id,
    action_group_scope: {
      root_frame_id: binding.root_frame_id,
      branch_id: binding.branch_id,
      turn_id: binding.turn_id,
      kind: binding.action_group_kind,
    },
  });

export const groupBound = (binding: RepairBinding): Told => ({
  key: binding.idempotency_key,
  request: binding.request_sha256,
  payload: {
    repair_run_id: binding.repair_run_id,
    phase: 'execution_group_bound',
    action_group_id: binding.action_group_id,
    status: 'started',
  },
  at: binding.bound_at,
});

export const repairCompletionDigest = (repair: AutoRepair): string =>
  digestJson({
    status: repair.status,
    after_version_ids: repair.after_version_ids,
    execution_group_ids: repair.execution_group_ids,
    verification_review_run_id: null,
  });

export const repairCompleted = (repair: AutoRepair): Told => ({
  key: repair.completion_idempotency_key ?? '',
  request: repair.completion_request_sha256 ?? '',
  payload: {
    repair_run_id: repair.repair_run_id,
    status: repair.status,
    after_version_ids: repair.after_version_ids,
    execution_group_ids: repair.execution_group_ids,
    verification_review_run_id: null,
  },
  at: repair.completed_at ?? 0,
});

/** The key of the event with which a repair pauses its run: no caller's, and not another completion's. */
export const repairPauseKey = (repair: AutoRepair): string =>
  `repair-terminal:${repair.repair_run_id}:${(repair.completion_request_sha256 ?? '').slice(0, 16)}`;

/** Equal as documents: the same canonical JSON. */
export const sameJson = (a: JsonValue, b: JsonValue): boolean => canonicalJson(a) === canonicalJson(b);

export const textDigest = (text: string): string => sha256Hex(text);
