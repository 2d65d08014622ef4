import { checkOneOf, type ContextSchema } from '../store/index.ts';
import { CHECKPOINT_TABLES } from './checkpoint-tables.ts';
import { RECORD_TABLES, RECORDS_TRAVEL_WHOLE } from './records/tables.ts';
import { CONTENT_TABLES, WORKSPACE_TABLES } from './workspace/tables.ts';

const SESSIONS = `
CREATE TABLE sessions (
  root_frame_id TEXT PRIMARY KEY CHECK (length(root_frame_id) BETWEEN 1 AND 512),
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL REFERENCES projects (project_id),
  kind TEXT NOT NULL CHECK (length(kind) BETWEEN 1 AND 64),
  origin TEXT NOT NULL CHECK (origin IN ('local', 'import')),
  name TEXT,
  task_summary TEXT,
  attributes TEXT NOT NULL CHECK (json_valid(attributes)),
  active_branch_id TEXT NOT NULL,
  ticket_counter INTEGER NOT NULL DEFAULT 0,
  deleting_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_tenant ON sessions (tenant_id, root_frame_id);
CREATE INDEX sessions_by_project ON sessions (project_id, root_frame_id);

CREATE TABLE session_branches (
  branch_id TEXT PRIMARY KEY CHECK (length(branch_id) BETWEEN 1 AND 512),
  root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  parent_branch_id TEXT REFERENCES session_branches (branch_id),
  base_checkpoint_id TEXT,
  head_checkpoint_id TEXT,
  name TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (root_frame_id, branch_id),
  CHECK ((parent_branch_id IS NULL) = (branch_id = root_frame_id)),
  CHECK ((parent_branch_id IS NULL) = (base_checkpoint_id IS NULL)),
  CHECK (parent_branch_id IS NULL OR (parent_branch_id <> branch_id AND head_checkpoint_id IS NOT NULL))
) STRICT;

CREATE TABLE session_settings (
  root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 512),
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (root_frame_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_tickets (
  ticket_id TEXT PRIMARY KEY,
  root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  number INTEGER NOT NULL CHECK (number > 0),
  owner TEXT NOT NULL CHECK (length(owner) BETWEEN 1 AND 512),
  reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 512),
  state TEXT NOT NULL CHECK (state IN ('queued', 'held')),
  queued_at INTEGER NOT NULL,
  held_at INTEGER,
  lease_until INTEGER NOT NULL,
  UNIQUE (root_frame_id, number),
  CHECK ((state = 'held') = (held_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX session_tickets_one_holder ON session_tickets (root_frame_id) WHERE state = 'held';
`;

const LEDGER = `
CREATE TABLE action_groups (
  group_id TEXT PRIMARY KEY CHECK (length(group_id) BETWEEN 1 AND 512),
  root_frame_id TEXT NOT NULL,
  branch_id TEXT NOT NULL,
  turn_id TEXT NOT NULL CHECK (length(turn_id) BETWEEN 1 AND 512),
  ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
  position INTEGER NOT NULL CHECK (position > 0),
  kind TEXT NOT NULL CHECK (length(kind) BETWEEN 1 AND 64),
  provider TEXT,
  model TEXT,
  wire_state TEXT CHECK (wire_state IS NULL OR json_valid(wire_state)),
  assistant_content TEXT,
  assistant_message TEXT CHECK (assistant_message IS NULL OR json_valid(assistant_message)),
  usage TEXT CHECK (usage IS NULL OR json_valid(usage)),
  cost_usd REAL,
  sealed_at INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (branch_id, ordinal),
  UNIQUE (root_frame_id, position),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE INDEX action_groups_by_turn ON action_groups (root_frame_id, turn_id, position);

CREATE TABLE action_events (
  event_id TEXT PRIMARY KEY CHECK (length(event_id) BETWEEN 1 AND 512),
  group_id TEXT NOT NULL REFERENCES action_groups (group_id),
  root_frame_id TEXT NOT NULL,
  sequence INTEGER NOT NULL CHECK (sequence >= 0),
  position INTEGER NOT NULL CHECK (position > 0),
  type TEXT NOT NULL CHECK (length(type) BETWEEN 1 AND 64),
  action_id TEXT,
  tool_call_id TEXT,
  wire_id TEXT,
  canonical_arguments TEXT,
  raw_arguments TEXT,
  result TEXT,
  side_effect_class TEXT,
  resource_keys TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (group_id, sequence),
  UNIQUE (root_frame_id, position)
) STRICT;

CREATE TABLE messages (
  message_id TEXT PRIMARY KEY CHECK (length(message_id) BETWEEN 1 AND 512),
  root_frame_id TEXT NOT NULL,
  branch_id TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq > 0),
  role TEXT NOT NULL ${checkOneOf('role', 'user', 'assistant', 'tool', 'system')},
  content TEXT NOT NULL,
  metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
  group_id TEXT REFERENCES action_groups (group_id),
  event_id TEXT REFERENCES action_events (event_id),
  created_at INTEGER NOT NULL,
  UNIQUE (root_frame_id, seq),
  CHECK (event_id IS NULL OR group_id IS NOT NULL),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE UNIQUE INDEX messages_one_per_event ON messages (event_id) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX messages_one_per_group ON messages (group_id) WHERE group_id IS NOT NULL AND event_id IS NULL;
`;

const DELETING = '(SELECT deleting_at FROM sessions WHERE root_frame_id = OLD.root_frame_id)';
const sealed = (row: 'OLD' | 'NEW') => `(SELECT sealed_at FROM action_groups WHERE group_id = ${row}.group_id)`;

/**
 * The ledger is append-only. Two things step aside: a session that is being deleted whole, and a sealed group, whose
 * guards belong to whoever sealed it.
 */
const GUARDS = `
CREATE TRIGGER trg_action_event_no_update BEFORE UPDATE ON action_events
WHEN ${DELETING} IS NULL AND ${sealed('OLD')} IS NULL AND ${sealed('NEW')} IS NULL
BEGIN SELECT RAISE(ABORT, 'action ledger is append-only'); END;
CREATE TRIGGER trg_action_event_no_delete BEFORE DELETE ON action_events
WHEN ${DELETING} IS NULL AND ${sealed('OLD')} IS NULL
BEGIN SELECT RAISE(ABORT, 'action ledger is append-only'); END;
CREATE TRIGGER trg_action_group_no_update BEFORE UPDATE OF group_id, root_frame_id, branch_id, turn_id, ordinal,
  position, kind, provider, model, wire_state, assistant_content, assistant_message, usage, cost_usd, created_at
ON action_groups WHEN ${DELETING} IS NULL
BEGIN SELECT RAISE(ABORT, 'action ledger is append-only'); END;
CREATE TRIGGER trg_action_group_seal_once BEFORE UPDATE OF sealed_at ON action_groups
WHEN OLD.sealed_at IS NOT NULL OR NEW.sealed_at IS NULL
BEGIN SELECT RAISE(ABORT, 'action ledger is sealed'); END;
CREATE TRIGGER trg_action_group_no_delete BEFORE DELETE ON action_groups
WHEN ${DELETING} IS NULL
BEGIN SELECT RAISE(ABORT, 'action ledger is append-only'); END;
CREATE TRIGGER trg_message_shows_ledger BEFORE UPDATE OF message_id, root_frame_id, branch_id, seq, role, content,
  group_id, event_id, created_at
ON messages WHEN OLD.group_id IS NOT NULL AND ${DELETING} IS NULL
BEGIN SELECT RAISE(ABORT, 'a message that shows the ledger is immutable'); END;
`;

/**
 * Groups are looked up by id, by their place on the branch and by their place in the session. Two indexes more were
 * written with every group, and asked only by readers whom the session's own order serves as well.
 */
const GROUPS_IN_TWO_ORDERS = `
DROP INDEX action_groups_by_turn;
DROP INDEX action_groups_by_branch;
`;

export const sessionsSchema: ContextSchema = {
  context: 'sessions',
  migrations: [
    { number: 1, name: 'sessions and action ledger', sqlite: SESSIONS + LEDGER + GUARDS },
    { number: 2, name: 'checkpoints, restore operations and attempts', sqlite: CHECKPOINT_TABLES },
    { number: 3, name: 'workspace trees and packs', sqlite: WORKSPACE_TABLES },
    { number: 4, name: 'artifacts, deliveries, notebook and side records', sqlite: RECORD_TABLES },
    { number: 5, name: 'records keep what travels with them', sqlite: RECORDS_TRAVEL_WHOLE },
    { number: 6, name: 'bytes of artifact versions are kept', sqlite: CONTENT_TABLES },
    { number: 7, name: 'action groups in two orders', sqlite: GROUPS_IN_TWO_ORDERS },
  ],
};
