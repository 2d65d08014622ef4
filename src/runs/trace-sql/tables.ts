import { checkOneOf, type Migration } from '../../store/index.ts';

/** What belongs to a trace of the trace store. Messages, events and attachments are only ever added. */
const RECORDS = `
CREATE TABLE trace_messages (
  trace_id TEXT NOT NULL REFERENCES traces (trace_id),
  sequence INTEGER NOT NULL CHECK (sequence BETWEEN 1 AND 999999),
  role TEXT NOT NULL ${checkOneOf('role', 'user', 'assistant', 'tool')},
  content TEXT NOT NULL CHECK (json_valid(content)),
  parent_sequence INTEGER CHECK (parent_sequence >= 0),
  branch_type TEXT,
  branch_id TEXT,
  prompt_tokens INTEGER CHECK (prompt_tokens >= 0),
  completion_tokens INTEGER CHECK (completion_tokens >= 0),
  created_at_ms INTEGER NOT NULL,
  CHECK ((branch_type IS NULL) = (branch_id IS NULL)),
  PRIMARY KEY (trace_id, sequence)
) STRICT;

CREATE TABLE trace_events (
  trace_id TEXT NOT NULL REFERENCES traces (trace_id),
  event_id INTEGER NOT NULL CHECK (event_id >= 1),
  type TEXT NOT NULL CHECK (type <> ''),
  data TEXT NOT NULL CHECK (json_type(data) = 'object'),
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (trace_id, event_id)
) STRICT;

CREATE TABLE trace_goals (
  trace_id TEXT PRIMARY KEY REFERENCES traces (trace_id),
  tree TEXT NOT NULL CHECK (json_type(tree) = 'object'),
  updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE trace_attachments (
  trace_id TEXT NOT NULL REFERENCES traces (trace_id),
  name TEXT NOT NULL CHECK (name GLOB 'attachments/[0-9][0-9][0-9][0-9][0-9][0-9].*'),
  bytes BLOB NOT NULL,
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (trace_id, name)
) STRICT;
`;

const ONLY_ADDED = ['trace_messages', 'trace_events', 'trace_attachments']
  .map(
    (table) => `
CREATE TRIGGER ${table}_never_change BEFORE UPDATE ON ${table}
BEGIN SELECT RAISE(ABORT, 'records of a trace never change'); END;
CREATE TRIGGER ${table}_never_go BEFORE DELETE ON ${table}
BEGIN SELECT RAISE(ABORT, 'records of a trace are never deleted'); END;`,
  )
  .join('');

/** The tables that a trace has in the trace store alone: a run of the composed system has its session's instead. */
export const traceRecordsMigration: Migration = { number: 2, name: 'trace records', sqlite: RECORDS + ONLY_ADDED };
