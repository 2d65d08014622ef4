import { checkOneOf } from '../store/index.ts';
const NO_DELETE = '(SELECT deleting_at FROM sessions WHERE root_frame_id = OLD.root_frame_id) IS NULL';

/** Checkpoints never change; restore operations end once; attempts only go forward. */
export const CHECKPOINT_TABLES = `
CREATE INDEX action_groups_by_branch ON action_groups (branch_id, position);

CREATE TABLE session_checkpoints (
  checkpoint_id TEXT PRIMARY KEY CHECK (length(checkpoint_id) BETWEEN 1 AND 512),
  root_frame_id TEXT NOT NULL,
  branch_id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number > 0),
  parent_checkpoint_id TEXT REFERENCES session_checkpoints (checkpoint_id),
  source_kind TEXT CHECK (source_kind IN ('cell', 'message')),
  source_id TEXT,
  internal INTEGER NOT NULL CHECK (internal IN (0, 1)),
  reason TEXT NOT NULL,
  action_cursor INTEGER CHECK (action_cursor >= 0),
  message_cursor INTEGER CHECK (message_cursor >= 0),
  cell_cursor INTEGER CHECK (cell_cursor >= 0),
  auto_event_cursor INTEGER CHECK (auto_event_cursor >= 0),
  workspace_tree_id TEXT CHECK (workspace_tree_id IS NULL OR length(workspace_tree_id) = 64),
  artifact_versions TEXT,
  environment_pins TEXT,
  generation_refs TEXT,
  capability_state TEXT,
  permission_state TEXT,
  recovery_recipe TEXT,
  metadata TEXT NOT NULL CHECK (json_valid(metadata)),
  created_at INTEGER NOT NULL,
  UNIQUE (root_frame_id, number),
  CHECK ((source_kind IS NULL) = (source_id IS NULL)),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE INDEX session_checkpoints_by_branch ON session_checkpoints (branch_id, number);
CREATE INDEX session_checkpoints_by_parent ON session_checkpoints (parent_checkpoint_id);
CREATE INDEX session_checkpoints_by_tree ON session_checkpoints (workspace_tree_id) WHERE workspace_tree_id IS NOT NULL;
CREATE TRIGGER trg_checkpoint_immutable BEFORE UPDATE ON session_checkpoints
BEGIN SELECT RAISE(ABORT, 'a checkpoint is immutable'); END;
CREATE TRIGGER trg_checkpoint_no_delete BEFORE DELETE ON session_checkpoints WHEN ${NO_DELETE}
BEGIN SELECT RAISE(ABORT, 'a checkpoint is kept'); END;

CREATE TABLE restore_operations (
  operation_id TEXT PRIMARY KEY,
  root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  branch_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('revert', 'activate')),
  source_checkpoint_id TEXT,
  target_checkpoint_id TEXT NOT NULL REFERENCES session_checkpoints (checkpoint_id),
  status TEXT NOT NULL ${checkOneOf('status', 'running', 'completed', 'rolled_back')},
  preview TEXT,
  error TEXT,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  CHECK ((status = 'running') = (finished_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX restore_operations_one_running ON restore_operations (root_frame_id) WHERE status = 'running';
CREATE INDEX restore_operations_by_session ON restore_operations (root_frame_id, operation_id);
CREATE TRIGGER trg_restore_operation_ends_once BEFORE UPDATE ON restore_operations WHEN OLD.status <> 'running'
BEGIN SELECT RAISE(ABORT, 'a restore operation ends once'); END;

CREATE TABLE execution_attempts (
  attempt_id TEXT PRIMARY KEY CHECK (length(attempt_id) BETWEEN 1 AND 512),
  group_id TEXT NOT NULL REFERENCES action_groups (group_id),
  root_frame_id TEXT NOT NULL,
  producing_cell_id TEXT NOT NULL CHECK (length(producing_cell_id) BETWEEN 1 AND 512),
  attempt_ordinal INTEGER NOT NULL CHECK (attempt_ordinal >= 0),
  state_revision INTEGER NOT NULL CHECK (state_revision > 0),
  generation_id TEXT,
  owner_instance_id TEXT,
  allocated_at INTEGER NOT NULL,
  started_at INTEGER,
  response_at INTEGER,
  capture_at INTEGER,
  finished_at INTEGER,
  terminal_state TEXT,
  error TEXT,
  replayed_from_cell_id TEXT,
  UNIQUE (producing_cell_id, attempt_ordinal),
  CHECK (response_at IS NULL OR started_at IS NOT NULL),
  CHECK (capture_at IS NULL OR response_at IS NOT NULL),
  CHECK ((finished_at IS NULL) = (terminal_state IS NULL)),
  CHECK (terminal_state NOT IN ('completed', 'succeeded', 'ok') OR capture_at IS NOT NULL)
) STRICT;
CREATE INDEX execution_attempts_by_group ON execution_attempts (group_id, attempt_ordinal);
CREATE INDEX execution_attempts_open ON execution_attempts (owner_instance_id) WHERE finished_at IS NULL;
CREATE TRIGGER trg_execution_attempt_no_delete BEFORE DELETE ON execution_attempts
WHEN ${NO_DELETE} AND (SELECT sealed_at FROM action_groups WHERE group_id = OLD.group_id) IS NULL
BEGIN SELECT RAISE(ABORT, 'execution attempts are kept'); END;
`;
