import {
  codePointsWithin,
  fail,
  isJsonObject,
  isSha256Hex,
  type JsonObject,
  type JsonValue,
  LIMITS,
} from '../../core/index.ts';
import { AUTO_MODES, EVENT_TYPES, OUTCOMES, RISKS, SEVERITIES, VERDICTS } from '../../autonomy/index.ts';

/** PACKAGE_AUTO_MODE: the history of autonomous runs is not one that may travel. */
export const refused = (why: string): Error => fail('PACKAGE_AUTO_MODE', `Auto Mode ${why}`);

export function demand(holds: boolean, why: string): void {
  if (!holds) throw refused(why);
}

/** What a field holds: some text, a whole number from 0, a digest, a list of texts, counts by name, or one of words. */
type FieldKind = 'text' | 'count' | 'flag' | 'digest' | 'texts' | 'counts' | readonly string[];
type Fields = Readonly<Record<string, FieldKind>>;

/** The fields of one kind of record that travel, and those without which it is none. All others stay behind. */
export interface Shape {
  readonly noun: string;
  readonly fields: Fields;
  readonly need: readonly string[];
}

export const SCOPE = ['root_frame_id', 'branch_id', 'turn_id', 'execution_id'] as const;
const scope = { root_frame_id: 'text', branch_id: 'text', turn_id: 'text', execution_id: 'text' } as const;

export const LIVE = ['running', 'candidate', 'reviewing', 'repairing'] as const;
export const ENDS = [
  'verified',
  'completed_with_issues',
  'review_unavailable',
  'blocked_by_guardian',
  'cancelled',
  'failed',
  'paused',
  'unverified',
  'unverified_import',
] as const;
const RUN_STATES = [...LIVE, ...ENDS];
export const AUDIT_ENDS = ['completed', 'unavailable', 'failed'] as const;
const AUDIT_STATES = ['started', ...AUDIT_ENDS, 'unverified_import'];
export const REPAIR_ENDS = ['completed', 'failed', 'outcome_unknown'] as const;
const FINDING_STATES = [
  'open',
  'claimed',
  'unaddressed',
  'resolved',
  'accepted',
  'addressed_pending_review',
  'unverified_import',
];

/** The provisional result that a run, or its event, names. */
export const CANDIDATE = {
  candidate_id: 'text',
  candidate_snapshot_sha256: 'digest',
  evidence_snapshot_sha256: 'digest',
  artifact_set_sha256: 'digest',
  candidate_artifact_ids: 'texts',
  candidate_version_ids: 'texts',
} as const satisfies Fields;

const audit = { audit_id: 'text', audit_request_digest: 'digest', assessment_digest: 'digest' } as const;
const reviewer = { model_profile_id: 'text', model_profile_revision: 'count', model_fingerprint: 'text' } as const;
const times = { created_at: 'count', finished_at: 'count' } as const;

export const RUN: Shape = {
  noun: 'run',
  fields: {
    run_id: 'text',
    ...scope,
    ...CANDIDATE,
    trust_state: ['local', 'quarantined_import'],
    mode: AUTO_MODES,
    status: RUN_STATES,
    terminal_reason: 'text',
    stop_reason: 'text',
    source_claimed_status: RUN_STATES,
    source_terminal_reason: 'text',
    ...times,
  },
  need: ['run_id', ...SCOPE, 'mode', 'status', 'created_at'],
};

export const REVIEW: Shape = {
  noun: 'review',
  fields: {
    review_run_id: 'text',
    run_id: 'text',
    ...scope,
    ...audit,
    ...reviewer,
    candidate_id: 'text',
    candidate_snapshot_sha256: 'digest',
    evidence_snapshot_sha256: 'digest',
    status: AUDIT_STATES,
    verdict: VERDICTS,
    failure_reason: 'text',
    round: 'count',
    attempt: 'count',
    public_summary: 'text',
    ...times,
  },
  need: [
    'review_run_id',
    'audit_id',
    'run_id',
    ...SCOPE,
    'candidate_id',
    'audit_request_digest',
    ...Object.keys(reviewer),
    'status',
    'round',
    'attempt',
    'created_at',
  ],
};

export const FINDING: Shape = {
  noun: 'finding',
  fields: {
    finding_id: 'text',
    review_run_id: 'text',
    run_id: 'text',
    ...scope,
    candidate_id: 'text',
    fingerprint: 'text',
    severity: SEVERITIES,
    category: 'text',
    claim: 'text',
    evidence_refs: 'texts',
    artifact_ids: 'texts',
    version_ids: 'texts',
    cell_ids: 'texts',
    status: FINDING_STATES,
    created_at: 'count',
    updated_at: 'count',
  },
  need: [
    'finding_id',
    'review_run_id',
    'run_id',
    ...SCOPE,
    'candidate_id',
    'fingerprint',
    'severity',
    'category',
    'claim',
    'status',
    'created_at',
    'updated_at',
  ],
};

export const REPAIR: Shape = {
  noun: 'repair',
  fields: {
    repair_run_id: 'text',
    run_id: 'text',
    ...scope,
    finding_ids: 'texts',
    before_version_ids: 'texts',
    after_version_ids: 'texts',
    execution_group_ids: 'texts',
    verification_review_run_id: 'text',
    status: ['started', ...REPAIR_ENDS, 'unverified_import'],
    ...times,
  },
  need: ['repair_run_id', 'run_id', ...SCOPE, 'finding_ids', 'status', 'created_at'],
};

export const ASSESSMENT: Shape = {
  noun: 'permission assessment',
  fields: {
    assessment_id: 'text',
    run_id: 'text',
    ...scope,
    ...audit,
    decision_id: 'text',
    action_digest: 'digest',
    policy_version: 'text',
    status: AUDIT_STATES,
    outcome: OUTCOMES,
    risk: RISKS,
    public_summary: 'text',
    ...times,
  },
  need: [
    'assessment_id',
    'audit_id',
    'run_id',
    ...SCOPE,
    'decision_id',
    'action_digest',
    'policy_version',
    'audit_request_digest',
    'status',
    'created_at',
  ],
};

export const EVENT: Shape = {
  noun: 'event',
  fields: { event_id: 'text', run_id: 'text', ...scope, type: EVENT_TYPES, created_at: 'count' },
  need: ['event_id', 'run_id', ...SCOPE, 'type', 'created_at'],
};

/** What an event may say to strangers. Its digest is taken again over what is left. */
export const PAYLOAD: Shape = {
  noun: 'event',
  fields: {
    ...CANDIDATE,
    ...audit,
    ...reviewer,
    mode: 'text',
    status: 'text',
    terminal_reason: 'text',
    stop_reason: 'text',
    reason_code: 'text',
    artifact_ids: 'texts',
    version_ids: 'texts',
    subject_kind: 'text',
    subject_entity_kind: 'text',
    subject_entity_id: 'text',
    action_digest: 'digest',
    review_run_id: 'text',
    repair_run_id: 'text',
    assessment_id: 'text',
    decision_id: 'text',
    policy_version: 'text',
    finding_id: 'text',
    finding_ids: 'texts',
    finding_count: 'count',
    before_version_ids: 'texts',
    after_version_ids: 'texts',
    execution_group_ids: 'texts',
    action_group_id: 'text',
    phase: 'text',
    verification_review_run_id: 'text',
    verdict: 'text',
    decision: 'text',
    outcome: 'text',
    risk: 'text',
    failure_kind: 'text',
    retryable: 'flag',
    round: 'count',
    attempt: 'count',
    counts: 'counts',
    public_summary: 'text',
  },
  need: [],
};

export const SELECTION: Shape = {
  noun: 'historical selection',
  fields: {
    preset: ['off', 'autonomous'],
    result_review_mode: AUTO_MODES,
    approvals_reviewer: ['user', 'auto_review'],
    source: 'text',
  },
  need: [],
};

/** A record cut to its shape; a field that is null counts as not there. PACKAGE_AUTO_MODE for one of a wrong kind. */
export function cut(record: JsonObject, { noun, fields, need }: Shape): JsonObject {
  const kept: JsonObject = {};
  for (const [field, kind] of Object.entries(fields)) {
    const value = Object.hasOwn(record, field) ? (record[field] ?? null) : null;
    if (value === null) continue;
    requireBounded(value);
    demand(holds(value, kind), `${noun} ${field} is invalid`);
    kept[field] = value;
  }
  for (const field of need) demand(kept[field] !== undefined, `${noun} ${field} is missing or invalid`);
  return kept;
}

const isText = (value: JsonValue): value is string => typeof value === 'string' && value !== '' && value.isWellFormed();
const isCount = (value: JsonValue): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);

function holds(value: JsonValue, kind: FieldKind): boolean {
  if (typeof kind !== 'string') return typeof value === 'string' && kind.includes(value);
  switch (kind) {
    case 'text':
      return isText(value);
    case 'count':
      return isCount(value);
    case 'flag':
      return typeof value === 'boolean';
    case 'digest':
      return isSha256Hex(value);
    case 'texts':
      return Array.isArray(value) && value.every(isText);
    case 'counts':
      return isJsonObject(value) && Object.values(value).every(isCount);
  }
}

/** Nothing in a history is larger or deeper than the contract lets it be. */
export function requireBounded(value: JsonValue, depth = 0): void {
  demand(depth <= LIMITS.autoModeDepth, 'portable value is nested too deeply');
  if (typeof value === 'string') {
    demand(codePointsWithin(value, LIMITS.autoModeStringCodePoints), 'portable string is too large');
  } else if (Array.isArray(value)) {
    demand(value.length <= LIMITS.autoModeItems, 'portable list is too large');
    for (const item of value) requireBounded(item, depth + 1);
  } else if (isJsonObject(value)) {
    const members = Object.values(value);
    demand(members.length <= LIMITS.autoModeItems, 'portable object is too large');
    for (const member of members) requireBounded(member, depth + 1);
  }
}
