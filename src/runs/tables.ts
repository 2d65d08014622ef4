import { checkOneOf, type ContextSchema } from '../store/index.ts';
import { traceRecordsMigration } from './trace-sql/tables.ts';

/**
 * The record of a run: what the contracts call a trace. One row serves both uses of the SQL home. A run of the
 * composed system stands on a branch of a session (`root_frame_id`, `branch_id`, `turn_id`); its messages, calls and
 * events are the session's, so its counters stay 0. A trace of the trace store alone has no place in a session; its
 * messages and events are rows of `trace_messages` and `trace_events`.
 */
const TRACES = `
CREATE TABLE traces (
  trace_id TEXT PRIMARY KEY CHECK (length(trace_id) BETWEEN 1 AND 255),
  tenant_id TEXT NOT NULL,
  project_id TEXT NOT NULL REFERENCES projects (project_id),
  mode TEXT NOT NULL CHECK (length(mode) BETWEEN 1 AND 64),
  task TEXT,
  model TEXT,
  uid TEXT,
  agent_type TEXT,
  parent_trace_id TEXT,
  context TEXT NOT NULL CHECK (json_valid(context)),
  status TEXT NOT NULL ${checkOneOf('status', 'running', 'waiting_confirmation', 'completed', 'failed', 'stopped')},
  error_code TEXT,
  error_message TEXT,
  result_text TEXT,
  head_sequence INTEGER NOT NULL DEFAULT 0 CHECK (head_sequence >= 0),
  last_sequence INTEGER NOT NULL DEFAULT 0 CHECK (last_sequence >= 0),
  last_event_id INTEGER NOT NULL DEFAULT 0 CHECK (last_event_id >= 0),
  total_messages INTEGER NOT NULL DEFAULT 0 CHECK (total_messages >= 0),
  total_prompt_tokens INTEGER NOT NULL DEFAULT 0 CHECK (total_prompt_tokens >= 0),
  total_completion_tokens INTEGER NOT NULL DEFAULT 0 CHECK (total_completion_tokens >= 0),
  total_cost_usd REAL NOT NULL DEFAULT 0 CHECK (total_cost_usd >= 0),
  turns_used INTEGER NOT NULL DEFAULT 0 CHECK (turns_used >= 0),
  root_frame_id TEXT,
  branch_id TEXT,
  turn_id TEXT,
  subject_id TEXT,
  roles TEXT CHECK (roles IS NULL OR json_valid(roles)),
  agent TEXT,
  owner_instance_id TEXT,
  stop_requested_at INTEGER,
  created_at INTEGER NOT NULL CHECK (created_at >= 0),
  updated_at INTEGER NOT NULL CHECK (updated_at >= created_at),
  finished_at INTEGER,
  CHECK ((root_frame_id IS NULL) = (branch_id IS NULL) AND (root_frame_id IS NULL) = (turn_id IS NULL)),
  CHECK (status NOT IN ('completed', 'stopped') OR finished_at IS NOT NULL),
  FOREIGN KEY (root_frame_id, branch_id) REFERENCES session_branches (root_frame_id, branch_id)
) STRICT;
CREATE INDEX traces_by_tenant ON traces (tenant_id, trace_id);
CREATE INDEX traces_by_session ON traces (root_frame_id, trace_id) WHERE root_frame_id IS NOT NULL;
CREATE UNIQUE INDEX traces_one_per_turn ON traces (root_frame_id, branch_id, turn_id)
  WHERE root_frame_id IS NOT NULL AND parent_trace_id IS NULL;
CREATE INDEX traces_unfinished ON traces (status, owner_instance_id)
  WHERE status IN ('running', 'waiting_confirmation');
`;

/** Which call of its parent began a run: one child a call, however often the call is taken up. */
const CHILDREN = `
ALTER TABLE traces ADD COLUMN parent_call TEXT CHECK (parent_call IS NULL OR length(parent_call) BETWEEN 1 AND 800);
CREATE UNIQUE INDEX traces_by_parent ON traces (parent_trace_id, parent_call) WHERE parent_trace_id IS NOT NULL;
`;

/** The tables of runs, and those of the trace store. */
export const runsSchema: ContextSchema = {
  context: 'runs',
  migrations: [
    {
      number: 1,
      name: 'traces',
      needs: [
        { context: 'roots', number: 1 },
        { context: 'sessions', number: 1 },
      ],
      sqlite: TRACES,
    },
    traceRecordsMigration,
    { number: 3, name: 'child runs', sqlite: CHILDREN },
  ],
};
