import { checkOneOf, type ContextSchema } from '../store/index.ts';
import { SCHEMA_VERSION } from './bounds.ts';

// As strict as a pattern over 64 digits, and a tenth of its cost: every write of a row pays for its checks.
const hex64 = (column: string) =>
  `CHECK (length(${column}) = 64 AND unhex(${column}) IS NOT NULL AND lower(${column}) = ${column})`;

const CALL_BINDINGS = `
CREATE TABLE call_bindings (
  tenant_id TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  api_family TEXT NOT NULL,
  response_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  fingerprint_sha256 TEXT NOT NULL ${hex64('fingerprint_sha256')},
  created_at INTEGER NOT NULL CHECK (created_at >= 0),
  PRIMARY KEY (tenant_id, subject_id, provider, api_family, response_id, call_id)
) STRICT;`;

export const OPERATIONS = `
CREATE TABLE operations (
  operation_pk INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
  request_sha256 TEXT NOT NULL ${hex64('request_sha256')},
  arguments_json TEXT NOT NULL,
  input_schema_revision TEXT NOT NULL,
  output_schema_revision TEXT NOT NULL,
  effect_revision TEXT NOT NULL,
  handler_revision TEXT NOT NULL,
  producer_revision TEXT NOT NULL,
  policy_revision TEXT NOT NULL,
  approval_id TEXT NOT NULL,
  approver_id TEXT NOT NULL,
  approval_digest TEXT NOT NULL ${hex64('approval_digest')},
  approval_expires_at INTEGER NOT NULL CHECK (approval_expires_at >= 0),
  approved_at INTEGER NOT NULL CHECK (approved_at >= 0),
  first_operation_id TEXT NOT NULL,
  first_call_id TEXT NOT NULL,
  first_response_id TEXT NOT NULL,
  first_provider TEXT NOT NULL,
  first_api_family TEXT NOT NULL,
  first_adapter_revision TEXT NOT NULL,
  status_ref TEXT NOT NULL UNIQUE CHECK (
    length(status_ref) = 39 AND substr(status_ref, 1, 7) = 'status_' AND unhex(substr(status_ref, 8)) IS NOT NULL
    AND lower(status_ref) = status_ref
  ),
  state TEXT NOT NULL ${checkOneOf('state', 'pending', 'processing', 'succeeded')},
  created_at INTEGER NOT NULL CHECK (created_at >= 0),
  updated_at INTEGER NOT NULL CHECK (updated_at >= created_at),
  completed_at INTEGER CHECK (completed_at IS NULL OR completed_at >= created_at),
  UNIQUE (tenant_id, subject_id, tool_name, idempotency_key)
) STRICT;`;

export const OUTBOX = `
CREATE TABLE outbox (
  event_id TEXT NOT NULL PRIMARY KEY,
  operation_pk INTEGER NOT NULL UNIQUE REFERENCES operations (operation_pk) ON DELETE RESTRICT,
  payload_json TEXT NOT NULL,
  state TEXT NOT NULL ${checkOneOf('state', 'pending', 'processing', 'delivered')},
  lease_owner TEXT,
  lease_until INTEGER,
  attempt_count INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
  created_at INTEGER NOT NULL CHECK (created_at >= 0),
  updated_at INTEGER NOT NULL CHECK (updated_at >= created_at),
  CHECK (
    (state = 'processing' AND lease_owner IS NOT NULL AND lease_until IS NOT NULL)
    OR (state <> 'processing' AND lease_owner IS NULL AND lease_until IS NULL)
  )
) STRICT;`;

const DOWNSTREAM_RECEIPTS = `
CREATE TABLE downstream_receipts (
  downstream_pk INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  request_sha256 TEXT NOT NULL ${hex64('request_sha256')},
  receipt_id TEXT NOT NULL UNIQUE,
  downstream_request_id TEXT NOT NULL UNIQUE,
  result_json TEXT NOT NULL,
  producer_revision TEXT NOT NULL,
  resource_revision TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  effect_revision TEXT NOT NULL,
  committed_at INTEGER NOT NULL CHECK (committed_at >= 0),
  UNIQUE (tenant_id, subject_id, tool_name, idempotency_key)
) STRICT;`;

export const LOCAL_RECEIPTS = `
CREATE TABLE local_receipts (
  operation_pk INTEGER PRIMARY KEY REFERENCES operations (operation_pk) ON DELETE RESTRICT,
  receipt_id TEXT NOT NULL UNIQUE,
  downstream_request_id TEXT NOT NULL UNIQUE,
  request_sha256 TEXT NOT NULL ${hex64('request_sha256')},
  result_json TEXT NOT NULL,
  producer_revision TEXT NOT NULL,
  resource_revision TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  effect_revision TEXT NOT NULL,
  reconciled_at INTEGER NOT NULL CHECK (reconciled_at >= 0)
) STRICT;`;

/**
 * The bindings as one tree in the order of their key, written once a call instead of twice: a row and, in an index,
 * most of it again.
 */
const BINDINGS_BY_KEY = `
ALTER TABLE call_bindings RENAME TO call_bindings_by_row;
${CALL_BINDINGS.replace(') STRICT;', ') STRICT, WITHOUT ROWID;')}
INSERT INTO call_bindings SELECT * FROM call_bindings_by_row;
DROP TABLE call_bindings_by_row;`;

/** The five tables of the contracts; the sixth, `runtime_metadata`, is the store's. */
export const operationsSchema: ContextSchema = {
  context: 'operations',
  schemaVersion: SCHEMA_VERSION,
  migrations: [
    {
      number: 1,
      name: 'ledger, outbox and receipts',
      sqlite: [CALL_BINDINGS, OPERATIONS, OUTBOX, DOWNSTREAM_RECEIPTS, LOCAL_RECEIPTS].join('\n'),
    },
    { number: 2, name: 'call bindings in the order of their key', sqlite: BINDINGS_BY_KEY, carriesAsFound: true },
  ],
};
