import type { ContextSchema } from '../store/index.ts';
import { AUTO_MODES, EVENT_TYPES, IMPORTED_KINDS, LIVE_STATUSES, TERMINAL_STATUSES } from './model.ts';

const oneOf = (column: string, words: readonly string[]): string =>
  `${column} IN (${words.map((word) => `'${word}'`).join(', ')})`;

/** What everything about a run repeats of it, and where it points. */
const SCOPE = `run_id TEXT NOT NULL, root_frame_id TEXT NOT NULL, branch_id TEXT NOT NULL, turn_id TEXT NOT NULL,
  execution_id TEXT NOT NULL`;
const SCOPE_COLUMNS = 'run_id, root_frame_id, branch_id, turn_id, execution_id';
const OF_RUN = `FOREIGN KEY (${SCOPE_COLUMNS}) REFERENCES auto_mode_runs (${SCOPE_COLUMNS}) ON DELETE CASCADE`;
const json = (column: string, need = 'NOT NULL'): string => `${column} TEXT ${need} CHECK (json_valid(${column}))`;
const digest = (column: string, need = 'NOT NULL'): string => `${column} TEXT ${need} CHECK (length(${column}) = 64)`;

const RUNS = `
CREATE TABLE auto_mode_runs (
  run_id TEXT PRIMARY KEY CHECK (length(run_id) BETWEEN 1 AND 512),
  idempotency_key TEXT NOT NULL,
  root_frame_id TEXT NOT NULL,
  branch_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (${oneOf('mode', AUTO_MODES)}),
  ${json('selection_json')},
  ${json('budgets_json')},
  ${digest('request_sha256')},
  owner_instance_id TEXT,
  trust_state TEXT NOT NULL CHECK (${oneOf('trust_state', ['local', 'quarantined_import'])}),
  status TEXT NOT NULL CHECK (${oneOf('status', [...LIVE_STATUSES, ...TERMINAL_STATUSES, 'unverified_import'])}),
  state_revision INTEGER NOT NULL CHECK (state_revision > 0),
  candidate_id TEXT,
  ${digest('candidate_snapshot_sha256', '')},
  ${digest('evidence_snapshot_sha256', '')},
  ${digest('artifact_set_sha256', '')},
  ${json('candidate_artifact_ids_json', '')},
  ${json('candidate_version_ids_json', '')},
  terminal_reason TEXT,
  stop_reason TEXT,
  terminal_idempotency_key TEXT,
  ${digest('terminal_request_sha256', '')},
  source_claimed_status TEXT,
  source_terminal_reason TEXT,
  abandoned_at INTEGER,
  abandoned_by_checkpoint_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  UNIQUE (root_frame_id, idempotency_key),
  UNIQUE (root_frame_id, branch_id, turn_id, execution_id),
  UNIQUE (${SCOPE_COLUMNS}),
  CHECK ((finished_at IS NULL) = (${oneOf('status', LIVE_STATUSES)})),
  CHECK (abandoned_by_checkpoint_id IS NULL OR abandoned_at IS NOT NULL),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE UNIQUE INDEX auto_mode_runs_one_active ON auto_mode_runs (root_frame_id, branch_id)
  WHERE trust_state = 'local' AND finished_at IS NULL AND abandoned_at IS NULL;
CREATE INDEX auto_mode_runs_open ON auto_mode_runs (run_id)
  WHERE trust_state = 'local' AND finished_at IS NULL AND abandoned_at IS NULL;
`;

const AUDIT = "type IN ('auto_audit_started', 'auto_audit_completed')";

/** A page of audits walks the two partial indexes backwards and finds each audit's events by the third. */
const EVENTS = `
CREATE TABLE auto_mode_events (
  event_id TEXT PRIMARY KEY CHECK (length(event_id) BETWEEN 1 AND 512),
  ${SCOPE},
  event_cursor INTEGER NOT NULL CHECK (event_cursor > 0),
  sequence INTEGER NOT NULL CHECK (sequence > 0),
  idempotency_key TEXT NOT NULL,
  type TEXT NOT NULL CHECK (${oneOf('type', EVENT_TYPES)}),
  ${digest('request_sha256')},
  ${json('payload_json')},
  ${digest('payload_sha256')},
  created_at INTEGER NOT NULL,
  UNIQUE (root_frame_id, event_cursor),
  UNIQUE (run_id, sequence),
  UNIQUE (run_id, idempotency_key),
  ${OF_RUN}
) STRICT;
CREATE UNIQUE INDEX auto_mode_events_one_terminal ON auto_mode_events (run_id) WHERE type = 'auto_run_terminal';
CREATE INDEX auto_mode_events_by_branch ON auto_mode_events (branch_id, event_cursor);
CREATE INDEX auto_mode_audits_by_branch ON auto_mode_events (branch_id, event_cursor) WHERE ${AUDIT};
CREATE INDEX auto_mode_audits_by_kind
  ON auto_mode_events (branch_id, payload_json ->> '$.subject_kind', event_cursor) WHERE ${AUDIT};
CREATE INDEX auto_mode_audits_by_id
  ON auto_mode_events (root_frame_id, payload_json ->> '$.audit_id', event_cursor) WHERE ${AUDIT};
`;

const STEPS = `start_idempotency_key TEXT NOT NULL,
  ${digest('start_request_sha256')},
  completion_idempotency_key TEXT,
  ${digest('completion_request_sha256', '')}`;
const STEP_RULES = `UNIQUE (run_id, start_idempotency_key),
  UNIQUE (run_id, completion_idempotency_key),
  CHECK ((status = 'started') = (completed_at IS NULL)),
  CHECK ((completion_idempotency_key IS NULL) = (completed_at IS NULL)),
  CHECK ((completion_request_sha256 IS NULL) = (completed_at IS NULL))`;
const AUDIT_STATES = oneOf('status', ['started', 'completed', 'unavailable', 'failed']);

const REVIEWS = `
CREATE TABLE review_runs (
  review_run_id TEXT PRIMARY KEY CHECK (length(review_run_id) BETWEEN 1 AND 512),
  audit_id TEXT NOT NULL UNIQUE CHECK (length(audit_id) BETWEEN 1 AND 512),
  ${SCOPE},
  ${STEPS},
  candidate_id TEXT NOT NULL,
  ${digest('candidate_snapshot_sha256')},
  ${digest('evidence_snapshot_sha256')},
  ${json('evidence_snapshot_json')},
  round_index INTEGER NOT NULL CHECK (round_index >= 0),
  attempt INTEGER NOT NULL CHECK (attempt > 0),
  ${json('reviewer_json')},
  ${digest('audit_request_digest')},
  status TEXT NOT NULL CHECK (${AUDIT_STATES}),
  verdict TEXT,
  ${json('assessment_json', '')},
  assessment_envelope_json TEXT,
  ${digest('assessment_digest', '')},
  ${json('usage_json', '')},
  public_summary TEXT,
  started_at INTEGER NOT NULL,
  completed_at INTEGER,
  UNIQUE (review_run_id, ${SCOPE_COLUMNS}),
  ${STEP_RULES},
  CHECK (verdict IS NOT 'pass' OR status = 'completed'),
  ${OF_RUN}
) STRICT;

CREATE TABLE review_findings (
  finding_id TEXT PRIMARY KEY CHECK (length(finding_id) BETWEEN 1 AND 512),
  review_run_id TEXT NOT NULL,
  ${SCOPE},
  candidate_id TEXT NOT NULL,
  finding_ordinal INTEGER NOT NULL CHECK (finding_ordinal >= 0),
  fingerprint TEXT NOT NULL,
  severity TEXT NOT NULL,
  category TEXT NOT NULL,
  claim TEXT NOT NULL,
  ${json('evidence_refs_json')},
  ${json('artifact_ids_json')},
  ${json('version_ids_json')},
  ${json('cell_ids_json')},
  status TEXT NOT NULL CHECK (${oneOf('status', ['open', 'claimed', 'addressed_pending_review', 'unaddressed'])}),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (review_run_id, fingerprint),
  UNIQUE (review_run_id, finding_ordinal),
  FOREIGN KEY (review_run_id, ${SCOPE_COLUMNS}) REFERENCES review_runs (review_run_id, ${SCOPE_COLUMNS})
    ON DELETE CASCADE
) STRICT;
CREATE INDEX review_findings_by_run ON review_findings (run_id, candidate_id);
`;

const REPAIRS = `
CREATE TABLE repair_runs (
  repair_run_id TEXT PRIMARY KEY CHECK (length(repair_run_id) BETWEEN 1 AND 512),
  ${SCOPE},
  ${STEPS},
  ${json('finding_ids_json')},
  ${json('before_version_ids_json')},
  ${json('after_version_ids_json', '')},
  ${json('execution_group_ids_json')},
  verification_review_run_id TEXT CHECK (verification_review_run_id IS NULL),
  checkpoint_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (${oneOf('status', ['started', 'completed', 'failed', 'outcome_unknown'])}),
  started_at INTEGER NOT NULL,
  completed_at INTEGER,
  UNIQUE (repair_run_id, ${SCOPE_COLUMNS}),
  ${STEP_RULES},
  ${OF_RUN}
) STRICT;
CREATE UNIQUE INDEX repair_runs_one_started ON repair_runs (run_id) WHERE status = 'started';

CREATE TABLE repair_execution_groups (
  repair_run_id TEXT NOT NULL,
  action_group_id TEXT NOT NULL UNIQUE REFERENCES action_groups (group_id),
  binding_ordinal INTEGER NOT NULL CHECK (binding_ordinal >= 0),
  action_group_kind TEXT NOT NULL,
  ${SCOPE},
  idempotency_key TEXT NOT NULL,
  ${digest('request_sha256')},
  bound_at INTEGER NOT NULL,
  ledger_event_count INTEGER,
  ${digest('ledger_sha256', '')},
  sealed_at INTEGER,
  PRIMARY KEY (repair_run_id, action_group_id),
  UNIQUE (repair_run_id, binding_ordinal),
  UNIQUE (repair_run_id, idempotency_key),
  CHECK ((sealed_at IS NULL) = (ledger_sha256 IS NULL)),
  CHECK ((sealed_at IS NULL) = (ledger_event_count IS NULL)),
  FOREIGN KEY (repair_run_id, ${SCOPE_COLUMNS}) REFERENCES repair_runs (repair_run_id, ${SCOPE_COLUMNS})
    ON DELETE CASCADE
) STRICT;
`;

const ASSESSMENTS = `
CREATE TABLE permission_review_assessments (
  assessment_id TEXT PRIMARY KEY CHECK (length(assessment_id) BETWEEN 1 AND 512),
  audit_id TEXT NOT NULL UNIQUE CHECK (length(audit_id) BETWEEN 1 AND 512),
  ${SCOPE},
  decision_id TEXT NOT NULL UNIQUE,
  ${digest('action_digest')},
  policy_version TEXT NOT NULL,
  ${STEPS},
  ${digest('audit_request_digest')},
  ${json('assessment_json', '')},
  assessment_envelope_json TEXT,
  ${digest('assessment_digest', '')},
  outcome TEXT,
  risk TEXT,
  public_summary TEXT,
  status TEXT NOT NULL CHECK (${AUDIT_STATES}),
  started_at INTEGER NOT NULL,
  completed_at INTEGER,
  ${STEP_RULES},
  ${OF_RUN}
) STRICT;
CREATE INDEX permission_review_assessments_by_run ON permission_review_assessments (run_id);
CREATE INDEX review_runs_by_run ON review_runs (run_id);
`;

/** What came with imported runs beside their events: documents, since nothing here can prove them. */
const IMPORTED = `
CREATE TABLE imported_auto_records (
  root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  kind TEXT NOT NULL CHECK (${oneOf('kind', IMPORTED_KINDS)}),
  position INTEGER NOT NULL CHECK (position >= 0),
  ${json('body')},
  PRIMARY KEY (root_frame_id, kind, position)
) STRICT, WITHOUT ROWID;
`;

const auditIdOnce = (name: string, table: string, other: string): string => `
CREATE TRIGGER ${name} BEFORE INSERT ON ${table}
WHEN EXISTS (SELECT 1 FROM ${other} WHERE audit_id = NEW.audit_id)
BEGIN SELECT RAISE(ABORT, 'duplicate global Auto Mode audit_id'); END;`;

const isSealed = (row: 'OLD' | 'NEW'): string =>
  `EXISTS (SELECT 1 FROM repair_execution_groups WHERE action_group_id = ${row}.group_id AND sealed_at IS NOT NULL)`;
const SESSION_STAYS = '(SELECT deleting_at FROM sessions WHERE root_frame_id = OLD.root_frame_id) IS NULL';
const sealGuard = (name: string, moment: string, when: string): string => `
CREATE TRIGGER ${name} BEFORE ${moment} WHEN ${when}
BEGIN SELECT RAISE(ABORT, 'repair action ledger is sealed'); END;`;

/** What a completed repair rests on never changes; only a session that is deleted whole takes it along. */
const GUARDS = [
  auditIdOnce('trg_review_audit_id_global', 'review_runs', 'permission_review_assessments'),
  auditIdOnce('trg_permission_audit_id_global', 'permission_review_assessments', 'review_runs'),
  sealGuard('trg_repair_ledger_sealed', 'INSERT ON action_events', isSealed('NEW')),
  sealGuard('trg_repair_event_update_sealed', 'UPDATE ON action_events', `${isSealed('OLD')} OR ${isSealed('NEW')}`),
  sealGuard('trg_repair_event_delete_sealed', 'DELETE ON action_events', `${isSealed('OLD')} AND ${SESSION_STAYS}`),
  sealGuard('trg_repair_attempt_insert_sealed', 'INSERT ON execution_attempts', isSealed('NEW')),
  sealGuard(
    'trg_repair_attempt_update_sealed',
    'UPDATE ON execution_attempts',
    `${isSealed('OLD')} OR ${isSealed('NEW')}`,
  ),
  sealGuard(
    'trg_repair_attempt_delete_sealed',
    'DELETE ON execution_attempts',
    `${isSealed('OLD')} AND ${SESSION_STAYS}`,
  ),
].join('\n');

export const autonomySchema: ContextSchema = {
  context: 'autonomy',
  migrations: [
    {
      number: 1,
      name: 'auto runs, reviews, repairs and assessments',
      sqlite: RUNS + EVENTS + REVIEWS + REPAIRS + ASSESSMENTS + IMPORTED + GUARDS,
      needs: [
        { context: 'sessions', number: 2 },
        { context: 'approvals', number: 1 },
      ],
    },
  ],
};
