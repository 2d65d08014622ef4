import { checkOneOf } from '../../store/index.ts';
const NO_DELETE = '(SELECT deleting_at FROM sessions WHERE root_frame_id = OLD.root_frame_id) IS NULL';

/** What every table of records begins with: its session, and its place among those of its kind. */
const PLACE = `root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  position INTEGER NOT NULL CHECK (position > 0)`;

/** A record that is written once and stays until its session goes. */
const immutable = (table: string): string => `
CREATE TRIGGER trg_${table}_immutable BEFORE UPDATE ON ${table}
BEGIN SELECT RAISE(ABORT, 'a record of this kind is immutable'); END;
CREATE TRIGGER trg_${table}_no_delete BEFORE DELETE ON ${table} WHEN ${NO_DELETE}
BEGIN SELECT RAISE(ABORT, 'a record of this kind is kept'); END;
`;

const json = (column: string): string => `${column} TEXT CHECK (${column} IS NULL OR json_valid(${column}))`;
const NAME = 'CHECK (length(KEY) BETWEEN 1 AND 512)';
const key = (column: string): string => `${column} TEXT PRIMARY KEY ${NAME.replace('KEY', column)}`;

const GENERATIONS = `
CREATE TABLE kernel_generations (
  ${key('generation_id')},
  ${PLACE},
  branch_id TEXT NOT NULL,
  language TEXT,
  ordinal INTEGER,
  parent_generation_id TEXT,
  environment_manifest_id TEXT,
  bootstrap_manifest_id TEXT,
  ${json('environment')},
  ${json('bootstrap')},
  worker_pid INTEGER,
  owner_instance_id TEXT,
  state TEXT NOT NULL,
  started_at INTEGER,
  last_activity_at INTEGER,
  ended_at INTEGER,
  ended_reason TEXT,
  recovered_from_generation_id TEXT,
  UNIQUE (root_frame_id, position),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE TRIGGER trg_kernel_generation_ends_once BEFORE UPDATE ON kernel_generations WHEN OLD.ended_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a generation that has ended is immutable'); END;

CREATE TABLE environment_snapshots (
  ${key('snapshot_id')},
  ${PLACE},
  kind TEXT,
  python_version TEXT,
  implementation TEXT,
  platform TEXT,
  package_count INTEGER,
  ${json('packages')},
  ${json('remote')},
  interpreter TEXT,
  environment_name TEXT,
  generation_id TEXT REFERENCES kernel_generations (generation_id),
  generation_confidence TEXT,
  ${json('packages_unavailable')},
  provenance TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (root_frame_id, position)
) STRICT;
CREATE INDEX environment_snapshots_by_generation ON environment_snapshots (generation_id);
${immutable('environment_snapshots')}
CREATE TABLE recovery_journal (
  ${PLACE},
  entry_id TEXT NOT NULL CHECK (length(entry_id) BETWEEN 1 AND 512),
  recovery_id TEXT NOT NULL,
  branch_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  source_generation_id TEXT,
  candidate_generation_id TEXT,
  phase TEXT,
  status TEXT,
  ${json('detail')},
  created_at INTEGER NOT NULL,
  PRIMARY KEY (root_frame_id, entry_id),
  UNIQUE (root_frame_id, position)
) STRICT;
${immutable('recovery_journal')}`;

const CELLS = `
CREATE TABLE cells (
  ${key('producing_cell_id')},
  ${PLACE},
  branch_id TEXT,
  cell_seq INTEGER,
  cell_index INTEGER,
  state_revision INTEGER NOT NULL CHECK (state_revision > 0),
  kernel_id TEXT,
  language TEXT,
  status TEXT,
  origin TEXT,
  code TEXT NOT NULL,
  code_hash TEXT,
  visibility TEXT,
  pin INTEGER CHECK (pin IN (0, 1)),
  replay_policy TEXT,
  ${json('variable_reads')},
  ${json('variable_writes')},
  ${json('variable_deletes')},
  mutation_uncertain INTEGER CHECK (mutation_uncertain IN (0, 1)),
  stdout TEXT,
  stderr TEXT,
  ${json('error')},
  ${json('figures')},
  ${json('files_read')},
  ${json('files_written')},
  interrupted INTEGER,
  wall_s REAL,
  cpu_s REAL,
  peak_rss_kb INTEGER,
  created_at INTEGER NOT NULL,
  generation_id TEXT REFERENCES kernel_generations (generation_id),
  UNIQUE (root_frame_id, position),
  UNIQUE (root_frame_id, state_revision),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE INDEX cells_by_generation ON cells (generation_id) WHERE generation_id IS NOT NULL;
CREATE TRIGGER trg_cell_ends_once BEFORE UPDATE ON cells
WHEN OLD.status IS NOT 'running' AND (NEW.code IS NOT OLD.code OR NEW.status IS NOT OLD.status
  OR NEW.stdout IS NOT OLD.stdout OR NEW.stderr IS NOT OLD.stderr OR NEW.error IS NOT OLD.error
  OR NEW.figures IS NOT OLD.figures OR NEW.files_read IS NOT OLD.files_read
  OR NEW.files_written IS NOT OLD.files_written OR NEW.generation_id IS NOT OLD.generation_id
  OR NEW.replay_policy IS NOT OLD.replay_policy OR NEW.variable_reads IS NOT OLD.variable_reads
  OR NEW.variable_writes IS NOT OLD.variable_writes OR NEW.variable_deletes IS NOT OLD.variable_deletes)
BEGIN SELECT RAISE(ABORT, 'a cell that has ended is immutable'); END;
CREATE TRIGGER trg_cell_keeps_its_place BEFORE UPDATE OF producing_cell_id, root_frame_id, branch_id, position,
  state_revision, created_at ON cells
WHEN NEW.producing_cell_id <> OLD.producing_cell_id OR NEW.root_frame_id <> OLD.root_frame_id
  OR NEW.branch_id IS NOT OLD.branch_id OR NEW.position <> OLD.position OR NEW.state_revision <> OLD.state_revision
  OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ABORT, 'a cell keeps its place'); END;
CREATE TRIGGER trg_cell_no_delete BEFORE DELETE ON cells WHEN ${NO_DELETE}
BEGIN SELECT RAISE(ABORT, 'a record of this kind is kept'); END;
`;

const ARTIFACTS = `
CREATE TABLE artifacts (
  ${key('artifact_id')},
  ${PLACE},
  filename TEXT NOT NULL,
  content_type TEXT,
  is_user_upload INTEGER,
  priority INTEGER,
  created_at INTEGER NOT NULL,
  latest_version_id TEXT,
  UNIQUE (root_frame_id, position),
  UNIQUE (root_frame_id, artifact_id)
) STRICT;

CREATE TABLE artifact_versions (
  ${key('version_id')},
  ${PLACE},
  artifact_id TEXT NOT NULL,
  filename TEXT NOT NULL,
  content_type TEXT,
  size_bytes INTEGER CHECK (size_bytes >= 0),
  checksum TEXT,
  producing_cell_id TEXT REFERENCES cells (producing_cell_id),
  frame_id TEXT,
  created_at INTEGER NOT NULL,
  env_snapshot_id TEXT REFERENCES environment_snapshots (snapshot_id),
  source TEXT,
  available INTEGER NOT NULL CHECK (available IN (0, 1)),
  snapshot_sha256 TEXT CHECK (snapshot_sha256 IS NULL OR length(snapshot_sha256) = 64),
  bytes_name TEXT,
  UNIQUE (root_frame_id, position),
  UNIQUE (root_frame_id, version_id),
  CHECK (available = 0 OR (snapshot_sha256 IS NOT NULL AND size_bytes IS NOT NULL AND checksum = snapshot_sha256)),
  FOREIGN KEY (root_frame_id, artifact_id) REFERENCES artifacts (root_frame_id, artifact_id)
) STRICT;
CREATE INDEX artifact_versions_by_artifact ON artifact_versions (root_frame_id, artifact_id, position);
CREATE INDEX artifact_versions_by_cell ON artifact_versions (producing_cell_id) WHERE producing_cell_id IS NOT NULL;
CREATE INDEX artifact_versions_by_environment ON artifact_versions (env_snapshot_id) WHERE env_snapshot_id IS NOT NULL;
${immutable('artifact_versions')}
CREATE TABLE lineage_edges (
  ${PLACE},
  input_version_id TEXT NOT NULL,
  output_version_id TEXT NOT NULL,
  producing_cell_id TEXT REFERENCES cells (producing_cell_id),
  PRIMARY KEY (root_frame_id, position),
  CHECK (input_version_id <> output_version_id),
  FOREIGN KEY (root_frame_id, input_version_id) REFERENCES artifact_versions (root_frame_id, version_id),
  FOREIGN KEY (root_frame_id, output_version_id) REFERENCES artifact_versions (root_frame_id, version_id)
) STRICT;
CREATE UNIQUE INDEX lineage_edges_once ON lineage_edges (root_frame_id, output_version_id, input_version_id,
  COALESCE(producing_cell_id, ''));
CREATE INDEX lineage_edges_by_input ON lineage_edges (root_frame_id, input_version_id);
CREATE INDEX lineage_edges_by_cell ON lineage_edges (producing_cell_id) WHERE producing_cell_id IS NOT NULL;
${immutable('lineage_edges')}`;

const DELIVERIES = `
CREATE TABLE completion_deliveries (
  ${key('delivery_id')},
  ${PLACE},
  message_id TEXT NOT NULL UNIQUE REFERENCES messages (message_id),
  branch_id TEXT NOT NULL,
  frame_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('committed', 'published')),
  created_at INTEGER NOT NULL,
  published_at INTEGER,
  manifest_sha256 TEXT NOT NULL CHECK (length(manifest_sha256) = 64),
  content_sha256 TEXT NOT NULL CHECK (length(content_sha256) = 64),
  manifest TEXT NOT NULL CHECK (json_valid(manifest)),
  idempotency_key TEXT NOT NULL,
  UNIQUE (root_frame_id, position),
  UNIQUE (root_frame_id, idempotency_key),
  CHECK ((status = 'published') = (published_at IS NOT NULL)),
  CHECK (published_at IS NULL OR published_at >= created_at),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE TRIGGER trg_completion_delivery_only_published BEFORE UPDATE ON completion_deliveries
WHEN OLD.status <> 'committed' OR NEW.status <> 'published' OR NEW.delivery_id <> OLD.delivery_id
  OR NEW.message_id <> OLD.message_id OR NEW.manifest <> OLD.manifest OR NEW.manifest_sha256 <> OLD.manifest_sha256
  OR NEW.content_sha256 <> OLD.content_sha256 OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ABORT, 'a delivery is published once and changes in nothing else'); END;
CREATE TRIGGER trg_completion_delivery_no_delete BEFORE DELETE ON completion_deliveries WHEN ${NO_DELETE}
BEGIN SELECT RAISE(ABORT, 'a record of this kind is kept'); END;

CREATE TABLE completion_delivery_artifacts (
  delivery_id TEXT NOT NULL REFERENCES completion_deliveries (delivery_id),
  ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
  root_frame_id TEXT NOT NULL,
  artifact_id TEXT NOT NULL,
  version_id TEXT NOT NULL,
  PRIMARY KEY (delivery_id, ordinal),
  UNIQUE (delivery_id, version_id),
  FOREIGN KEY (root_frame_id, version_id) REFERENCES artifact_versions (root_frame_id, version_id)
) STRICT;
CREATE INDEX completion_delivery_artifacts_by_version ON completion_delivery_artifacts (root_frame_id, version_id);
${immutable('completion_delivery_artifacts')}`;

const SIDE_RECORDS = `
CREATE TABLE plans (
  ${key('plan_id')},
  ${PLACE},
  frame_id TEXT,
  project_id TEXT,
  title TEXT,
  rationale TEXT,
  ${json('confidence')},
  ${json('steps')},
  status TEXT NOT NULL ${checkOneOf('status', 'draft', 'executing', 'paused', 'completed', 'failed', 'discarded')},
  ${json('step_status')},
  artifact_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  UNIQUE (root_frame_id, position)
) STRICT;

CREATE TABLE review_steps (
  ${key('step_id')},
  ${PLACE},
  seq INTEGER,
  kind TEXT NOT NULL CHECK (kind IN ('review', 'review_settings')),
  title TEXT,
  summary TEXT,
  ${json('input')},
  ${json('output')},
  status TEXT,
  frame_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  UNIQUE (root_frame_id, position)
) STRICT;

CREATE TABLE annotations (
  ${key('annotation_id')},
  ${PLACE},
  artifact_id TEXT,
  artifact_name TEXT,
  rel_x REAL,
  rel_y REAL,
  version_id TEXT,
  checksum TEXT,
  number INTEGER,
  body TEXT NOT NULL,
  reservation_id TEXT,
  status TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  UNIQUE (root_frame_id, position)
) STRICT;

CREATE TABLE memories (
  ${key('memory_id')},
  ${PLACE},
  project_id TEXT,
  block TEXT NOT NULL,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  UNIQUE (root_frame_id, position)
) STRICT;

CREATE TABLE capability_states (
  ${PLACE},
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('project', 'session')),
  scope_id TEXT NOT NULL,
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  ${json('metadata')},
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  PRIMARY KEY (root_frame_id, scope, kind, name),
  UNIQUE (root_frame_id, position)
) STRICT;

CREATE TABLE past_operations (
  ${PLACE},
  operation_id TEXT NOT NULL CHECK (length(operation_id) BETWEEN 1 AND 512),
  branch_id TEXT,
  kind TEXT NOT NULL,
  source_checkpoint_id TEXT,
  target_checkpoint_id TEXT,
  status TEXT,
  ${json('preview')},
  error TEXT,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  PRIMARY KEY (root_frame_id, operation_id),
  UNIQUE (root_frame_id, position)
) STRICT;
${immutable('past_operations')}
CREATE TABLE checkpoint_states (
  checkpoint_id TEXT PRIMARY KEY REFERENCES session_checkpoints (checkpoint_id),
  ${PLACE},
  branch_id TEXT NOT NULL,
  project_id TEXT NOT NULL,
  schema_version INTEGER NOT NULL CHECK (schema_version = 1),
  state_sha256 TEXT NOT NULL CHECK (length(state_sha256) = 64),
  source_checkpoint_id TEXT,
  trust_state TEXT NOT NULL CHECK (trust_state IN ('local', 'quarantined_import')),
  import_source_sha256 TEXT,
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (json_valid(state)),
  UNIQUE (root_frame_id, position)
) STRICT;
${immutable('checkpoint_states')}`;

/** The tables of what a session is made of beside its history; those that others name come first. */
export const RECORD_TABLES = GENERATIONS + CELLS + ARTIFACTS + DELIVERIES + SIDE_RECORDS;

/** An artifact has one name, which no other artifact of the session has, and its versions have it too. */
const ARTIFACT_NAMES = `
CREATE UNIQUE INDEX artifacts_by_name ON artifacts (root_frame_id, filename COLLATE NOCASE);
CREATE TRIGGER trg_artifact_keeps_its_name BEFORE UPDATE OF artifact_id, root_frame_id, filename, created_at ON artifacts
WHEN NEW.artifact_id <> OLD.artifact_id OR NEW.root_frame_id <> OLD.root_frame_id OR NEW.filename <> OLD.filename
  OR NEW.created_at <> OLD.created_at
BEGIN SELECT RAISE(ABORT, 'an artifact keeps its name'); END;
CREATE TRIGGER trg_artifact_version_has_its_name BEFORE INSERT ON artifact_versions
WHEN NEW.filename <> (SELECT filename FROM artifacts WHERE artifact_id = NEW.artifact_id)
BEGIN SELECT RAISE(ABORT, 'a version has the name of its artifact'); END;
`;

/** What documents of other programs say beyond the columns: it travels on with its record. */
const MORE_COLUMNS = [
  'kernel_generations',
  'environment_snapshots',
  'recovery_journal',
  'cells',
  'artifacts',
  'artifact_versions',
  'lineage_edges',
  'completion_deliveries',
  'plans',
  'review_steps',
  'annotations',
  'memories',
  'capability_states',
  'past_operations',
  'checkpoint_states',
]
  .map((table) => `ALTER TABLE ${table} ADD COLUMN ${json('more')};`)
  .join('\n');

/** What lets every record leave in a package and come in from one. */
export const RECORDS_TRAVEL_WHOLE = MORE_COLUMNS + ARTIFACT_NAMES;

/** The same tables, those that name others first: the order in which a session's records go. */
export const RECORD_TABLES_TO_CLEAR = [
  'completion_delivery_artifacts',
  'completion_deliveries',
  'lineage_edges',
  'artifact_versions',
  'artifacts',
  'checkpoint_states',
  'past_operations',
  'capability_states',
  'memories',
  'annotations',
  'review_steps',
  'plans',
  'cells',
  'environment_snapshots',
  'recovery_journal',
  'kernel_generations',
] as const;
