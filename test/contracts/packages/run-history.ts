import { digestJson, type JsonObject } from '../../../src/core/index.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const C = 'c'.repeat(64);
const D = 'd'.repeat(64);
const E = 'e'.repeat(64);
const F = 'f'.repeat(64);
const ONE = '1'.repeat(64);

export const HIDDEN = {
  prompt: 'private hidden prompt',
  thought: 'private chain-of-thought must not cross',
  rationale: 'private permission rationale',
};

/** A list of records of a history that a test may edit. */
export const listOf = (history: JsonObject, key: string): JsonObject[] => history[key] as JsonObject[];

/** The place and payload of an event; `reseal` makes its digest fit what it says now. */
export const payloadAt = (history: JsonObject, at: number): JsonObject =>
  listOf(history, 'events')[at]?.['payload'] as JsonObject;

export function reseal(history: JsonObject): JsonObject {
  for (const event of listOf(history, 'events')) event['payload_sha256'] = digestJson(event['payload'] as JsonObject);
  return history;
}

const CANDIDATE = {
  candidate_id: 'candidate-source',
  candidate_snapshot_sha256: A,
  evidence_snapshot_sha256: B,
};
const REVIEWER = {
  model_profile_id: 'scientific-reviewer',
  model_profile_revision: 1,
  model_fingerprint: 'reviewer-model-v1',
};

/** The events as type and payload, each one a unit of time after the one before. */
function told(version: string): [string, JsonObject][] {
  const review = {
    audit_id: 'audit-source',
    subject_kind: 'result_review',
    subject_entity_kind: 'candidate_evidence_snapshot',
    subject_entity_id: 'candidate-source',
    review_run_id: 'review-run-source',
    audit_request_digest: D,
    attempt: 1,
  };
  const permission = {
    audit_id: 'permission-audit-source',
    subject_kind: 'permission_review',
    subject_entity_kind: 'approval_action',
    subject_entity_id: 'decision-source',
    audit_request_digest: F,
    assessment_id: 'assessment-source',
    decision_id: 'decision-source',
    action_digest: C,
  };
  const passed = { verdict: 'pass', finding_count: 0, status: 'completed' };
  const denied = { outcome: 'denied', risk: 'critical', status: 'completed' };
  return [
    ['auto_run_started', { mode: 'auto_fix', status: 'running', prompt: HIDDEN.prompt }],
    ['candidate_ready', { ...CANDIDATE, candidate_version_ids: [version], status: 'candidate' }],
    ['auto_audit_started', { ...review, ...CANDIDATE, ...REVIEWER, round: 0, status: 'started' }],
    [
      'auto_audit_completed',
      { ...review, ...passed, candidate_id: 'candidate-source', assessment_digest: E, public_summary: PASSED },
    ],
    ['auto_audit_started', { ...permission, policy_version: 'policy-v1', status: 'started' }],
    ['auto_audit_completed', { ...permission, ...denied, assessment_digest: ONE, public_summary: DENIED }],
    ['auto_run_terminal', { status: 'verified', terminal_reason: 'review_passed' }],
  ];
}

const PASSED = 'Independent review passed.';
const DENIED = 'Denied by policy.';

/** One verified run with a review and a permission assessment, and with private members that may not leave. */
export function runHistory(root: string, version: string): JsonObject {
  const place = { root_frame_id: root, branch_id: root, turn_id: 'turn-source', execution_id: 'execution-source' };
  const scope = { run_id: 'auto-run-source', ...place };
  return reseal({
    schema_version: 1,
    trust_state: 'local',
    historical_selection: {
      preset: 'autonomous',
      result_review_mode: 'auto_fix',
      approvals_reviewer: 'auto_review',
      source: 'frame',
    },
    runs: [
      {
        ...scope,
        ...CANDIDATE,
        mode: 'auto_fix',
        status: 'verified',
        candidate_version_ids: [version],
        terminal_reason: 'review_passed',
        created_at: 100,
        finished_at: 106,
      },
    ],
    events: told(version).map(([type, payload], at) => ({
      ...scope,
      event_cursor: at + 1,
      event_id: `auto-event-${at}`,
      type,
      payload,
      created_at: 100 + at,
    })),
    review_runs: [{ ...scope, ...REVIEW }],
    findings: [],
    repair_runs: [],
    permission_assessments: [{ ...scope, ...ASSESSMENT }],
  });
}

const REVIEW: JsonObject = {
  ...CANDIDATE,
  ...REVIEWER,
  review_run_id: 'review-run-source',
  audit_id: 'audit-source',
  round: 0,
  attempt: 1,
  audit_request_digest: D,
  assessment_digest: E,
  status: 'completed',
  verdict: 'pass',
  public_summary: PASSED,
  created_at: 102,
  finished_at: 103,
  rationale: HIDDEN.thought,
};
const ASSESSMENT: JsonObject = {
  assessment_id: 'assessment-source',
  audit_id: 'permission-audit-source',
  decision_id: 'decision-source',
  action_digest: C,
  policy_version: 'policy-v1',
  audit_request_digest: F,
  assessment_digest: ONE,
  status: 'completed',
  outcome: 'denied',
  risk: 'critical',
  public_summary: DENIED,
  created_at: 104,
  finished_at: 105,
  authorization: { max_uses: 1 },
  payload: { credential: 'private' },
  rationale: HIDDEN.rationale,
};
