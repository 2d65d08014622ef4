import type { JsonObject, JsonValue } from '../core/index.ts';

// What this room stores and answers with are the contracts' documents, so they keep the contracts' names.

export const AUTO_MODES = ['off', 'review_only', 'auto_fix'] as const;
export type AutoMode = (typeof AUTO_MODES)[number];

export const TERMINAL_STATUSES = [
  'verified',
  'completed_with_issues',
  'review_unavailable',
  'blocked_by_guardian',
  'cancelled',
  'failed',
  'paused',
] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export const LIVE_STATUSES = ['running', 'candidate', 'reviewing', 'repairing'] as const;
export type LiveStatus = (typeof LIVE_STATUSES)[number];
export type RunStatus = LiveStatus | TerminalStatus | 'unverified_import';

/** The five parts that name a run; everything about it repeats them. */
export type RunScope = {
  run_id: string;
  root_frame_id: string;
  branch_id: string;
  turn_id: string;
  execution_id: string;
};

/** The provisional result of a run: digests and version ids. */
export type CandidateFields = {
  candidate_id: string | null;
  candidate_snapshot_sha256: string | null;
  evidence_snapshot_sha256: string | null;
  artifact_set_sha256: string | null;
  candidate_artifact_ids: string[] | null;
  candidate_version_ids: string[] | null;
};

export type AutoRun = RunScope &
  CandidateFields & {
    idempotency_key: string;
    mode: AutoMode;
    selection: JsonObject;
    budgets: JsonObject;
    request_sha256: string;
    owner_instance_id: string | null;
    trust_state: 'local' | 'quarantined_import';
    status: RunStatus;
    /** From 1, one more at each change of the run. */
    state_revision: number;
    terminal_reason: string | null;
    stop_reason: string | null;
    terminal_idempotency_key: string | null;
    terminal_request_sha256: string | null;
    source_claimed_status: string | null;
    source_terminal_reason: string | null;
    abandoned_at: number | null;
    abandoned_by_checkpoint_id: string | null;
    created_at: number;
    updated_at: number;
    finished_at: number | null;
  };

export const EVENT_TYPES = [
  'auto_run_started',
  'candidate_ready',
  'auto_audit_started',
  'auto_audit_completed',
  'repair_started',
  'repair_completed',
  'auto_run_terminal',
] as const;
export type AutoEventType = (typeof EVENT_TYPES)[number];

/** One line of the run log. `event_cursor` counts in the session, `sequence` in the run, both from 1. */
export type AutoEvent = RunScope & {
  event_id: string;
  event_cursor: number;
  sequence: number;
  idempotency_key: string;
  type: AutoEventType;
  request_sha256: string;
  payload: JsonObject;
  payload_sha256: string;
  created_at: number;
  /** The cursor again, and the time again, as readers call them. */
  event_ordinal: number;
  occurred_at: number;
};

/** What came with an imported run beside its events. */
export const IMPORTED_KINDS = [
  'selection',
  'review_runs',
  'findings',
  'repair_runs',
  'permission_assessments',
] as const;
export type ImportedKind = (typeof IMPORTED_KINDS)[number];

export const VERDICTS = [
  'pass',
  'completed_with_issues',
  'issues',
  'fail',
  'failed',
  'incomplete',
  'needs_repair',
  'review_unavailable',
  'unavailable',
] as const;
export const SEVERITIES = ['info', 'minor', 'major', 'material', 'high', 'critical'] as const;
/** Severities of a finding with which nothing passes. */
export const MATERIAL: ReadonlySet<string> = new Set(['major', 'material', 'high', 'critical']);
export const AUDIT_ENDS = ['completed', 'unavailable', 'failed'] as const;
export type AuditEnd = (typeof AUDIT_ENDS)[number];

/** What an owner row of two steps keeps of each: its key, and the digest of what was asked. */
type Steps = {
  start_idempotency_key: string;
  start_request_sha256: string;
  completion_idempotency_key: string | null;
  completion_request_sha256: string | null;
};

export type AutoReview = RunScope &
  Steps & {
    review_run_id: string;
    audit_id: string;
    candidate_id: string;
    candidate_snapshot_sha256: string;
    evidence_snapshot_sha256: string;
    evidence_snapshot: JsonObject;
    round_index: number;
    attempt: number;
    reviewer: JsonObject;
    audit_request_digest: string;
    status: 'started' | AuditEnd;
    verdict: string | null;
    assessment: JsonObject | null;
    /** The text that `assessment_digest` is taken over. */
    assessment_envelope_json: string | null;
    assessment_digest: string | null;
    usage: JsonValue;
    public_summary: string | null;
    started_at: number;
    completed_at: number | null;
  };

export type FindingStatus = 'open' | 'claimed' | 'addressed_pending_review' | 'unaddressed';

export type AutoFinding = RunScope & {
  finding_id: string;
  review_run_id: string;
  candidate_id: string;
  finding_ordinal: number;
  /** Its content key, once in a review. */
  fingerprint: string;
  severity: string;
  category: string;
  claim: string;
  evidence_refs: string[];
  artifact_ids: string[];
  version_ids: string[];
  cell_ids: string[];
  status: FindingStatus;
  created_at: number;
  updated_at: number;
};

export const REPAIR_ENDS = ['completed', 'failed', 'outcome_unknown'] as const;
export type RepairEnd = (typeof REPAIR_ENDS)[number];

export type AutoRepair = RunScope &
  Steps & {
    repair_run_id: string;
    finding_ids: string[];
    before_version_ids: string[];
    after_version_ids: string[] | null;
    execution_group_ids: string[];
    verification_review_run_id: string | null;
    checkpoint_id: string;
    status: 'started' | RepairEnd;
    started_at: number;
    completed_at: number | null;
  };

/** The claim of one action group by one repair; when the repair ends, with the seal of the group's ledger. */
export type RepairBinding = RunScope & {
  repair_run_id: string;
  action_group_id: string;
  binding_ordinal: number;
  action_group_kind: string;
  idempotency_key: string;
  request_sha256: string;
  bound_at: number;
  ledger_event_count: number | null;
  ledger_sha256: string | null;
  sealed_at: number | null;
};

export const OUTCOMES = [
  'allow',
  'allow_once',
  'allowed',
  'shadow_allow',
  'deny',
  'denied',
  'ask',
  'unavailable',
  'failed',
  'shadow_deny',
] as const;
export const ALLOWING: ReadonlySet<string> = new Set(['allow', 'allow_once', 'allowed', 'shadow_allow']);
export const RISKS = ['low', 'medium', 'high', 'critical', 'unknown'] as const;

/** A reviewer's advice about one permission request. It decides nothing. */
export type AutoAssessment = RunScope &
  Steps & {
    assessment_id: string;
    audit_id: string;
    decision_id: string;
    action_digest: string;
    policy_version: string;
    audit_request_digest: string;
    assessment: JsonObject | null;
    assessment_envelope_json: string | null;
    assessment_digest: string | null;
    outcome: string | null;
    risk: string | null;
    public_summary: string | null;
    status: 'started' | AuditEnd;
    started_at: number;
    completed_at: number | null;
  };

export const SUBJECT_KINDS = ['result_review', 'permission_review'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** What every step answers with: the owner as it is now, the event that told it, and whether it was written now. */
export type Transition<T> = T & { event: AutoEvent; event_id: string; event_cursor: number; created: boolean };

/** Where a service finds its way: who asks is checked against the session's tenant. */
export type RunTransition = Transition<AutoRun>;

/** What a branch shows of its newest run. */
export type RunProjection = {
  run: JsonObject | null;
  last_event_id: string | null;
  last_event_ordinal: number;
  events: AutoEvent[];
};
