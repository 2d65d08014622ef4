import type {
  AutoAssessment,
  AutoEvent,
  AutoFinding,
  AutoRepair,
  AutoReview,
  AutoRun,
  RepairBinding,
  RunScope,
} from './model.ts';
import { tableCodec } from './rows.ts';

const SCOPE = ['run_id', 'root_frame_id', 'branch_id', 'turn_id', 'execution_id'] as const satisfies (keyof RunScope)[];
const STEPS = [
  'start_idempotency_key',
  'start_request_sha256',
  'completion_idempotency_key',
  'completion_request_sha256',
];
const CANDIDATE = [
  'candidate_id',
  'candidate_snapshot_sha256',
  'evidence_snapshot_sha256',
  'artifact_set_sha256',
  'candidate_artifact_ids_json',
  'candidate_version_ids_json',
];
/** What a step of a run changes. */
const CHANGING = [
  'status',
  'state_revision',
  ...CANDIDATE,
  'terminal_reason',
  'stop_reason',
  'terminal_idempotency_key',
  'terminal_request_sha256',
  'updated_at',
  'finished_at',
];

export const RUNS = tableCodec<AutoRun>('auto_mode_runs', [
  ...SCOPE,
  'idempotency_key',
  'mode',
  'selection_json',
  'budgets_json',
  'request_sha256',
  'owner_instance_id',
  'trust_state',
  'source_claimed_status',
  'source_terminal_reason',
  'abandoned_at',
  'abandoned_by_checkpoint_id',
  'created_at',
  ...CHANGING,
]);
/** The columns that `advance` changes, in the order of `UPDATE_RUN`. */
export const RUN_CHANGES = tableCodec<AutoRun>('auto_mode_runs', CHANGING);
export const EVENTS = tableCodec<Omit<AutoEvent, 'event_ordinal' | 'occurred_at'>>('auto_mode_events', [
  'event_id',
  ...SCOPE,
  'event_cursor',
  'sequence',
  'idempotency_key',
  'type',
  'request_sha256',
  'payload_json',
  'payload_sha256',
  'created_at',
]);
export const REVIEWS = tableCodec<AutoReview>('review_runs', [
  'review_run_id',
  'audit_id',
  ...SCOPE,
  ...STEPS,
  'candidate_id',
  'candidate_snapshot_sha256',
  'evidence_snapshot_sha256',
  'evidence_snapshot_json',
  'round_index',
  'attempt',
  'reviewer_json',
  'audit_request_digest',
  'status',
  'verdict',
  'assessment_json',
  'assessment_envelope_json',
  'assessment_digest',
  'usage_json',
  'public_summary',
  'started_at',
  'completed_at',
]);
export const FINDINGS = tableCodec<AutoFinding>('review_findings', [
  'finding_id',
  'review_run_id',
  ...SCOPE,
  'candidate_id',
  'finding_ordinal',
  'fingerprint',
  'severity',
  'category',
  'claim',
  'evidence_refs_json',
  'artifact_ids_json',
  'version_ids_json',
  'cell_ids_json',
  'status',
  'created_at',
  'updated_at',
]);
export const REPAIRS = tableCodec<AutoRepair>('repair_runs', [
  'repair_run_id',
  ...SCOPE,
  ...STEPS,
  'finding_ids_json',
  'before_version_ids_json',
  'after_version_ids_json',
  'execution_group_ids_json',
  'verification_review_run_id',
  'checkpoint_id',
  'status',
  'started_at',
  'completed_at',
]);
export const BINDINGS = tableCodec<RepairBinding>('repair_execution_groups', [
  'repair_run_id',
  'action_group_id',
  'binding_ordinal',
  'action_group_kind',
  ...SCOPE,
  'idempotency_key',
  'request_sha256',
  'bound_at',
  'ledger_event_count',
  'ledger_sha256',
  'sealed_at',
]);
export const ASSESSMENTS = tableCodec<AutoAssessment>('permission_review_assessments', [
  'assessment_id',
  'audit_id',
  ...SCOPE,
  'decision_id',
  'action_digest',
  'policy_version',
  ...STEPS,
  'audit_request_digest',
  'assessment_json',
  'assessment_envelope_json',
  'assessment_digest',
  'outcome',
  'risk',
  'public_summary',
  'status',
  'started_at',
  'completed_at',
]);

/** An owner by its id, in a session of the tenant. */
const owned = (columns: string, table: string, id: string): string =>
  `SELECT ${columns} FROM ${table} o JOIN sessions s ON s.root_frame_id = o.root_frame_id
WHERE o.${id} = ? AND s.tenant_id = ?`;
export const FIND_RUN = owned(RUNS.columns('o.'), 'auto_mode_runs', 'run_id');
export const FIND_REVIEW = owned(REVIEWS.columns('o.'), 'review_runs', 'review_run_id');
export const FIND_REPAIR = owned(REPAIRS.columns('o.'), 'repair_runs', 'repair_run_id');
export const FIND_ASSESSMENT = owned(ASSESSMENTS.columns('o.'), 'permission_review_assessments', 'assessment_id');

export const RUN_BY_ID = `SELECT ${RUNS.columns()} FROM auto_mode_runs WHERE run_id = ?`;
export const RUN_BY_KEY = `SELECT ${RUNS.columns()} FROM auto_mode_runs WHERE root_frame_id = ? AND idempotency_key = ?`;
export const RUN_TAKEN = `SELECT 1 AS taken FROM auto_mode_runs
WHERE run_id = ? OR (root_frame_id = ? AND branch_id = ? AND turn_id = ? AND execution_id = ?)`;
const ACTIVE = `FROM auto_mode_runs WHERE root_frame_id = ? AND branch_id = ?
AND trust_state = 'local' AND finished_at IS NULL AND abandoned_at IS NULL`;
export const ACTIVE_RUN = `SELECT ${RUNS.columns()} ${ACTIVE}`;
export const ACTIVE_RUN_ID = `SELECT run_id ${ACTIVE}`;
export const GROUPS_OF_RUN = 'SELECT action_group_id FROM repair_execution_groups WHERE run_id = ?';
export const RUNS_OF_ROOT = `SELECT ${RUNS.columns()} FROM auto_mode_runs WHERE root_frame_id = ? ORDER BY created_at, run_id`;
/** Every run of one turn of a branch, the oldest first. */
export const RUNS_OF_TURN = `SELECT ${RUNS.columns()} FROM auto_mode_runs
WHERE root_frame_id = ? AND branch_id = ? AND turn_id = ? ORDER BY rowid`;
/** Leaves the state and revision it was read in. */
export const UPDATE_RUN = `${RUN_CHANGES.update} WHERE run_id = ? AND status = ? AND state_revision = ? AND abandoned_at IS NULL`;
/** Leaves an active run unusable. */
export const ABANDON_RUN = `UPDATE auto_mode_runs SET abandoned_at = ?, abandoned_by_checkpoint_id = ?
WHERE run_id = ? AND finished_at IS NULL AND abandoned_at IS NULL`;
/** The same, by the head of its branch: time, run. Reads nothing of a row that may be damaged. */
export const ABANDON_SWEPT = `UPDATE auto_mode_runs SET abandoned_at = ?, abandoned_by_checkpoint_id =
  (SELECT b.head_checkpoint_id FROM session_branches b WHERE b.branch_id = auto_mode_runs.branch_id)
WHERE run_id = ? AND finished_at IS NULL AND abandoned_at IS NULL`;
/** The turns of a tenant of which the supervision has not ended: tenant. */
export const OPEN_PLACES = `SELECT r.root_frame_id, r.branch_id, r.turn_id
FROM auto_mode_runs r INDEXED BY auto_mode_runs_open JOIN sessions s ON s.root_frame_id = r.root_frame_id
WHERE r.trust_state = 'local' AND r.finished_at IS NULL AND r.abandoned_at IS NULL AND s.tenant_id = ?`;
/** Runs that processes have left open, from an id on, with their tenant; whether it can be told who began each. */
export const OPEN_RUNS = `SELECT r.run_id, r.owner_instance_id, s.tenant_id, json_valid(r.selection_json) AS is_told,
  CASE WHEN json_valid(r.selection_json) THEN r.selection_json ->> '$.source' END AS source,
  EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = r.owner_instance_id
    AND i.ended_at_ms IS NULL AND i.lease_until_ms > ?) AS live
FROM auto_mode_runs r JOIN sessions s ON s.root_frame_id = r.root_frame_id
WHERE r.trust_state = 'local' AND r.finished_at IS NULL AND r.abandoned_at IS NULL AND r.run_id > ?
ORDER BY r.run_id LIMIT ?`;

/** Parameters: event id, five parts, session, run, key, type, digests and payload, time. */
export const INSERT_EVENT = `
INSERT INTO auto_mode_events (event_id, run_id, root_frame_id, branch_id, turn_id, execution_id, event_cursor, sequence,
  idempotency_key, type, request_sha256, payload_json, payload_sha256, created_at)
VALUES (?, ?, ?, ?, ?, ?,
  (SELECT COALESCE(MAX(event_cursor), 0) + 1 FROM auto_mode_events WHERE root_frame_id = ?),
  (SELECT COALESCE(MAX(sequence), 0) + 1 FROM auto_mode_events WHERE run_id = ?), ?, ?, ?, ?, ?, ?)
RETURNING event_cursor, sequence`;
const EVENT = `SELECT ${EVENTS.columns()} FROM auto_mode_events`;
export const EVENT_BY_KEY = `${EVENT} WHERE run_id = ? AND idempotency_key = ?`;
export const EVENTS_OF_RUN = `${EVENT} WHERE run_id = ? ORDER BY event_cursor LIMIT ?`;
export const EVENTS_OF_ROOT = `${EVENT} WHERE root_frame_id = ? ORDER BY event_cursor LIMIT ?`;
/** Every column of the log of a session, up to a cursor. */
export const RAW_EVENTS = `SELECT ${EVENTS.columns()} FROM auto_mode_events
WHERE root_frame_id = ? AND event_cursor <= ? ORDER BY event_cursor`;
export const LAST_OF_RUN = `SELECT event_id, event_cursor FROM auto_mode_events WHERE run_id = ?
ORDER BY event_cursor DESC LIMIT 1`;
/** The newest event of one branch within a segment. */
export const LAST_IN_SEGMENT = `SELECT event_id, event_cursor, run_id FROM auto_mode_events
WHERE branch_id = ? AND event_cursor > ? AND event_cursor <= ? ORDER BY event_cursor DESC LIMIT 1`;
export const RUNS_IN_SEGMENT = `SELECT DISTINCT run_id FROM auto_mode_events
WHERE branch_id = ? AND event_cursor > ? AND event_cursor <= ?`;
export const ROOT_CURSOR = `SELECT COALESCE(MAX(event_cursor), 0) AS event_cursor FROM auto_mode_events WHERE root_frame_id = ?`;

const ofRun = (columns: string, table: string, order: string): string =>
  `SELECT ${columns} FROM ${table} WHERE run_id = ? ORDER BY ${order}`;
export const REVIEWS_OF_RUN = ofRun(REVIEWS.columns(), 'review_runs', 'started_at, review_run_id');
export const FINDINGS_OF_RUN = ofRun(FINDINGS.columns(), 'review_findings', 'review_run_id, finding_ordinal');
export const REPAIRS_OF_RUN = ofRun(REPAIRS.columns(), 'repair_runs', 'started_at, repair_run_id');
export const BINDINGS_OF_RUN = ofRun(BINDINGS.columns(), 'repair_execution_groups', 'repair_run_id, binding_ordinal');
export const ASSESSMENTS_OF_RUN = ofRun(
  ASSESSMENTS.columns(),
  'permission_review_assessments',
  'started_at, assessment_id',
);
export const OPEN_PHASES = `SELECT
  (SELECT COUNT(*) FROM review_runs WHERE run_id = ? AND status = 'started') AS reviews,
  (SELECT COUNT(*) FROM repair_runs WHERE run_id = ? AND status = 'started') AS repairs,
  (SELECT COUNT(*) FROM permission_review_assessments WHERE run_id = ? AND status = 'started') AS assessments`;

export const REVIEW_BY_KEY = `SELECT ${REVIEWS.columns()} FROM review_runs WHERE run_id = ? AND start_idempotency_key = ?`;
export const REPAIR_BY_KEY = `SELECT ${REPAIRS.columns()} FROM repair_runs WHERE run_id = ? AND start_idempotency_key = ?`;
export const ASSESSMENT_BY_KEY = `SELECT ${ASSESSMENTS.columns()} FROM permission_review_assessments
WHERE run_id = ? AND start_idempotency_key = ?`;
export const REVIEW_BY_AUDIT = `SELECT ${REVIEWS.columns()} FROM review_runs WHERE audit_id = ?`;
export const ASSESSMENT_BY_AUDIT = `SELECT ${ASSESSMENTS.columns()} FROM permission_review_assessments WHERE audit_id = ?`;
export const DECISION_ASSESSED = `SELECT 1 AS taken FROM permission_review_assessments WHERE decision_id = ? OR assessment_id = ?`;
export const FINDINGS_OF_REVIEW = `SELECT ${FINDINGS.columns()} FROM review_findings WHERE review_run_id = ?
ORDER BY finding_ordinal`;

// What an end writes, in the order of its text.
const ENDING = ['completion_idempotency_key', 'completion_request_sha256', 'status', 'completed_at'];
const ADVICE = ['assessment_json', 'assessment_envelope_json', 'assessment_digest', 'public_summary'];
export const REVIEW_END = tableCodec<AutoReview>('review_runs', [...ENDING, ...ADVICE, 'verdict', 'usage_json']);
export const ASSESSMENT_END = tableCodec<AutoAssessment>('permission_review_assessments', [
  ...ENDING,
  ...ADVICE,
  'outcome',
  'risk',
]);
export const REPAIR_END = tableCodec<AutoRepair>('repair_runs', [...ENDING, 'after_version_ids_json']);
/** Leaves `started`. */
export const END_REVIEW = `${REVIEW_END.update} WHERE review_run_id = ? AND status = 'started'`;
export const END_ASSESSMENT = `${ASSESSMENT_END.update} WHERE assessment_id = ? AND status = 'started'`;
export const END_REPAIR = `${REPAIR_END.update} WHERE repair_run_id = ? AND status = 'started'`;
export const GROW_REPAIR = `UPDATE repair_runs SET execution_group_ids_json = ? WHERE repair_run_id = ? AND status = 'started'`;
/** Leaves the state that is named. */
export const MOVE_FINDING = `UPDATE review_findings SET status = ?, updated_at = ? WHERE finding_id = ? AND status = ?`;
/** Leaves unsealed. */
export const SEAL_BINDING = `UPDATE repair_execution_groups SET ledger_event_count = ?, ledger_sha256 = ?, sealed_at = ?
WHERE repair_run_id = ? AND action_group_id = ? AND sealed_at IS NULL`;

export const BINDINGS_OF_REPAIR = `SELECT ${BINDINGS.columns()} FROM repair_execution_groups WHERE repair_run_id = ?
ORDER BY binding_ordinal`;
export const BINDING_BY_KEY = `SELECT ${BINDINGS.columns()} FROM repair_execution_groups
WHERE repair_run_id = ? AND idempotency_key = ?`;
export const BINDING_OF_GROUP = `SELECT ${BINDINGS.columns()} FROM repair_execution_groups WHERE action_group_id = ?`;

// Audits. The three partial indexes are used only where these very terms stand in a query.
const IS_AUDIT = "type IN ('auto_audit_started', 'auto_audit_completed')";
const AUDIT_ID = "payload_json ->> '$.audit_id'";
export const EVENTS_OF_AUDIT = `${EVENT} WHERE root_frame_id = ? AND ${IS_AUDIT} AND ${AUDIT_ID} = ? ORDER BY event_cursor`;

const auditEvents = (alias: string): string => `${alias}.type IN ('auto_audit_started', 'auto_audit_completed')`;
const auditId = (alias: string): string => `${alias}.payload_json ->> '$.audit_id'`;

/**
 * A page of audits, newest first. For each visible segment the inner query walks an index backwards from the cursor and
 * takes an event only if it is where its audit stands: no visible completion, and no later visible event of its own
 * type, is of the same audit. Around it, all events of the audits found: the join is a cross join, since only that keeps
 * the page outside, and finds each audit's events by their index instead of reading the whole log.
 */
const auditPage = (kind: string): string => `
SELECT ${EVENTS.columns('a.')}, h.event_cursor AS head_cursor
FROM (
  SELECT e.event_cursor, ${auditId('e')} AS audit_id
  FROM json_each(?) AS s JOIN auto_mode_events AS e ON e.event_id IN (
    SELECT x.event_id FROM auto_mode_events AS x
    WHERE x.branch_id = s.value ->> '$.branch' AND ${auditEvents('x')} ${kind}
      AND x.event_cursor > s.value ->> '$.after' AND x.event_cursor <= s.value ->> '$.upto'
      AND NOT EXISTS (
        SELECT 1 FROM auto_mode_events AS y JOIN json_each(?) AS t
        WHERE y.root_frame_id = x.root_frame_id AND ${auditEvents('y')} AND ${auditId('y')} = ${auditId('x')}
          AND (y.type = 'auto_audit_completed' OR x.type = 'auto_audit_started')
          AND (y.event_cursor > x.event_cursor OR y.type <> x.type)
          AND y.branch_id = t.value ->> '$.branch'
          AND y.event_cursor > t.value ->> '$.after' AND y.event_cursor <= t.value ->> '$.upto')
    ORDER BY x.event_cursor DESC LIMIT ?)
  ORDER BY e.event_cursor DESC LIMIT ?
) AS h CROSS JOIN auto_mode_events AS a
  ON a.root_frame_id = ? AND ${auditEvents('a')} AND ${auditId('a')} = h.audit_id
ORDER BY h.event_cursor DESC, a.event_cursor`;
/** Segments up to the cursor, all segments, limit twice, session. */
export const AUDIT_PAGE = auditPage('');
/** Segments up to the cursor, kind, all segments, limit twice, session. */
export const AUDIT_PAGE_OF_KIND = auditPage("AND x.payload_json ->> '$.subject_kind' = ?");

export const REPAIR_GROUPS = tableCodec<AutoRepair>('repair_runs', ['execution_group_ids_json']);
export const RUN_OF_BINDING = `SELECT ${RUNS.columns('r.')}, s.tenant_id
FROM auto_mode_runs r JOIN sessions s ON s.root_frame_id = r.root_frame_id WHERE r.run_id = ?`;

export const ADD_IMPORTED = `INSERT INTO imported_auto_records (root_frame_id, kind, position, body) VALUES (?, ?, ?, ?)`;
export const IMPORTED_RECORDS = `SELECT body FROM imported_auto_records WHERE root_frame_id = ? AND kind = ? ORDER BY position`;
export const DROP_IMPORTED_OF_SESSION = `DELETE FROM imported_auto_records WHERE root_frame_id = ?`;
/** Everything about a run goes with it. */
export const DROP_RUNS_OF_SESSION = `DELETE FROM auto_mode_runs WHERE root_frame_id = ?`;
