import { checkOneOf, type ContextSchema } from '../store/index.ts';

const REQUESTS = `
CREATE TABLE permission_requests (
  decision_id TEXT PRIMARY KEY CHECK (length(decision_id) BETWEEN 1 AND 512),
  tenant_id TEXT NOT NULL,
  root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  frame_id TEXT NOT NULL,
  project_id TEXT,
  branch_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  action_group_id TEXT NOT NULL REFERENCES action_groups (group_id),
  action_id TEXT NOT NULL,
  tool_call_id TEXT,
  run_id TEXT,
  tool TEXT NOT NULL CHECK (length(tool) BETWEEN 1 AND 512),
  tool_revision TEXT NOT NULL,
  target TEXT NOT NULL,
  side_effect_class TEXT NOT NULL,
  resource_keys TEXT NOT NULL,
  payload TEXT,
  dangerous INTEGER NOT NULL CHECK (dangerous IN (0, 1)),
  canonical_arguments TEXT NOT NULL,
  canonical_arguments_sha256 TEXT NOT NULL CHECK (length(canonical_arguments_sha256) = 64),
  action_digest TEXT NOT NULL CHECK (length(action_digest) = 64),
  request_sha256 TEXT NOT NULL CHECK (length(request_sha256) = 64),
  policy_revision TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  approver TEXT NOT NULL,
  editable TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  supersedes TEXT REFERENCES permission_requests (decision_id),
  state TEXT NOT NULL ${checkOneOf('state', 'pending', 'allowed', 'denied', 'timed_out', 'cancelled')},
  scope TEXT,
  pattern TEXT,
  message TEXT,
  resolution_context TEXT,
  resolved_at INTEGER,
  resolved_by TEXT,
  superseded_by TEXT,
  consumed_at INTEGER,
  consumed_by TEXT,
  revoked_at INTEGER,
  revoked_reason TEXT,
  continuation_required INTEGER NOT NULL DEFAULT 0 CHECK (continuation_required IN (0, 1)),
  continuation_expires_at INTEGER,
  continuation_consumed_at INTEGER,
  CHECK ((state = 'pending') = (resolved_at IS NULL)),
  CHECK (state NOT IN ('allowed', 'denied') OR resolved_by IS NOT NULL),
  CHECK (superseded_by IS NULL OR state = 'cancelled'),
  CHECK ((consumed_at IS NULL) = (consumed_by IS NULL)),
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL)),
  CHECK (state = 'allowed' OR (consumed_at IS NULL AND revoked_at IS NULL)),
  CHECK (consumed_at IS NULL OR revoked_at IS NULL)
) STRICT;
CREATE UNIQUE INDEX permission_requests_one_live_per_call ON permission_requests (action_group_id, action_id)
  WHERE state = 'pending' OR (state = 'allowed' AND consumed_at IS NULL AND revoked_at IS NULL);
CREATE INDEX permission_requests_by_tenant ON permission_requests (tenant_id, decision_id);
CREATE INDEX permission_requests_pending ON permission_requests (tenant_id, decision_id) WHERE state = 'pending';
CREATE INDEX permission_requests_by_group ON permission_requests (action_group_id, decision_id);
CREATE INDEX permission_requests_by_session ON permission_requests (root_frame_id);
CREATE INDEX permission_requests_due ON permission_requests (expires_at) WHERE expires_at IS NOT NULL
  AND (state = 'pending' OR (state = 'allowed' AND consumed_at IS NULL AND revoked_at IS NULL));

CREATE TABLE permission_rules (
  rule_id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  scope TEXT NOT NULL ${checkOneOf('scope', 'global', 'project', 'conversation')},
  scope_id TEXT NOT NULL,
  tool TEXT NOT NULL CHECK (length(tool) BETWEEN 1 AND 512),
  pattern TEXT NOT NULL,
  decision TEXT NOT NULL ${checkOneOf('decision', 'allow', 'ask', 'deny')},
  made_by_kind TEXT NOT NULL CHECK (made_by_kind IN ('person', 'import')),
  made_by TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (tenant_id, scope, scope_id, tool, pattern),
  CHECK ((scope = 'global') = (scope_id = '')),
  CHECK ((made_by_kind = 'person') = (made_by IS NOT NULL)),
  CHECK (made_by_kind = 'person' OR decision <> 'allow')
) STRICT;
`;

const GUARDS = `
CREATE TRIGGER trg_permission_action_immutable BEFORE UPDATE OF decision_id, tenant_id, root_frame_id, frame_id,
  project_id, branch_id, turn_id, action_group_id, action_id, tool_call_id, run_id, tool, tool_revision, target,
  side_effect_class, resource_keys, payload, dangerous, canonical_arguments, canonical_arguments_sha256, action_digest,
  request_sha256, policy_revision, requested_by, approver, editable, reason, created_at, expires_at, supersedes
ON permission_requests
BEGIN SELECT RAISE(ABORT, 'permission action identity is immutable'); END;

CREATE TRIGGER trg_permission_decided_once BEFORE UPDATE OF state, resolved_at, resolved_by ON permission_requests
WHEN OLD.state <> 'pending'
BEGIN SELECT RAISE(ABORT, 'a permission request is decided once'); END;

CREATE TRIGGER trg_permission_used_once BEFORE UPDATE OF consumed_at, consumed_by, revoked_at, revoked_reason
ON permission_requests WHEN OLD.consumed_at IS NOT NULL OR OLD.revoked_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a permission is used once'); END;

CREATE TRIGGER trg_permission_request_no_delete BEFORE DELETE ON permission_requests
WHEN (SELECT deleting_at FROM sessions WHERE root_frame_id = OLD.root_frame_id) IS NULL
BEGIN SELECT RAISE(ABORT, 'permission requests are kept'); END;
`;

/** A page of a run's batches reads the groups of that page, not every request of its session. */
const BY_RUN = `
CREATE INDEX permission_requests_by_run ON permission_requests (tenant_id, run_id, action_group_id)
  WHERE run_id IS NOT NULL;`;

export const approvalsSchema: ContextSchema = {
  context: 'approvals',
  migrations: [
    {
      number: 1,
      name: 'permission requests and rules',
      sqlite: REQUESTS + GUARDS,
      needs: [{ context: 'sessions', number: 1 }],
    },
    { number: 2, name: 'permission requests in the order of their run', sqlite: BY_RUN },
  ],
};
