import { AMONG_INDEXED_REFS, AMONG_ORDERED_REFS } from './status-refs.ts';

const COLUMNS = [
  'operation_pk',
  'tenant_id',
  'subject_id',
  'tool_name',
  'idempotency_key',
  'request_sha256',
  'arguments_json',
  'input_schema_revision',
  'output_schema_revision',
  'effect_revision',
  'handler_revision',
  'producer_revision',
  'policy_revision',
  'approval_id',
  'approver_id',
  'approval_digest',
  'approval_expires_at',
  'approved_at',
  'first_operation_id',
  'first_call_id',
  'first_response_id',
  'first_provider',
  'first_api_family',
  'first_adapter_revision',
  'status_ref',
  'state',
  'created_at',
  'updated_at',
  'completed_at',
];
const OPERATION = COLUMNS.map((column) => `o.${column}`).join(', ');
const SCOPE = 'tenant_id = ? AND subject_id = ? AND tool_name = ? AND idempotency_key = ?';
const OUTBOX = `b.event_id AS outbox_event_id, b.payload_json AS outbox_payload, b.state AS outbox_state,
  b.lease_owner AS outbox_lease_owner, b.lease_until AS outbox_lease_until, b.attempt_count AS outbox_attempts`;

/** Eight fields that both receipts must share, and what they are called when joined to an operation. */
export const RECEIPT_FIELDS = [
  'receipt_id',
  'downstream_request_id',
  'request_sha256',
  'result_json',
  'producer_revision',
  'resource_revision',
  'observed_at',
  'effect_revision',
] as const;
const receiptColumns = (table: string, prefix: string) =>
  RECEIPT_FIELDS.map((field) => `${table}.${field} AS ${prefix}_${field}`).join(', ');
const JOIN_DOWNSTREAM = `LEFT JOIN downstream_receipts d ON d.tenant_id = o.tenant_id AND d.subject_id = o.subject_id
  AND d.tool_name = o.tool_name AND d.idempotency_key = o.idempotency_key`;
const JOIN_LOCAL = 'LEFT JOIN local_receipts l ON l.operation_pk = o.operation_pk';
const JOIN_OUTBOX = 'LEFT JOIN outbox b ON b.operation_pk = o.operation_pk';
const WHOLE = `${OUTBOX}, ${receiptColumns('d', 'downstream')}, ${receiptColumns('l', 'local')}`;

export const INSERT_BINDING = `INSERT INTO call_bindings
  (tenant_id, subject_id, provider, api_family, response_id, call_id, fingerprint_sha256, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
export const READ_BINDING = `SELECT fingerprint_sha256 FROM call_bindings
  WHERE tenant_id = ? AND subject_id = ? AND provider = ? AND api_family = ? AND response_id = ? AND call_id = ?`;

/** All but the number that SQLite gives, and the end, which is null. */
const RESERVED = COLUMNS.slice(1, -1);
export const INSERT_OPERATION = `INSERT INTO operations (${RESERVED.join(', ')})
  VALUES (${RESERVED.map(() => '?').join(', ')}) ON CONFLICT (tenant_id, subject_id, tool_name, idempotency_key) DO NOTHING`;
export const INSERT_OUTBOX = `INSERT INTO outbox
  (event_id, operation_pk, payload_json, state, lease_owner, lease_until, attempt_count, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export const LEASE_OUTBOX = `UPDATE outbox SET state = 'processing', lease_owner = ?, lease_until = ?,
  attempt_count = attempt_count + 1, updated_at = ?
  WHERE operation_pk = ? AND (state = 'pending' OR (state = 'processing' AND lease_until <= ?))`;
export const OPERATION_PROCESSING = `UPDATE operations SET state = 'processing', updated_at = ?
  WHERE operation_pk = ? AND state IN ('pending', 'processing')`;

export const INSERT_DOWNSTREAM = `INSERT INTO downstream_receipts
  (tenant_id, subject_id, tool_name, idempotency_key, request_sha256, receipt_id, downstream_request_id, result_json,
   producer_revision, resource_revision, observed_at, effect_revision, committed_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, subject_id, tool_name, idempotency_key) DO NOTHING`;
export const READ_DOWNSTREAM = `SELECT ${receiptColumns('d', 'downstream')} FROM downstream_receipts d WHERE ${SCOPE}`;
/** Receipts of other operations with one of two ids: receipt, request, scope. */
export const RECEIPTS_OF_OTHERS = `SELECT receipt_id, downstream_request_id FROM downstream_receipts
  WHERE (receipt_id = ? OR downstream_request_id = ?) AND NOT (${SCOPE}) LIMIT 2`;

export const INSERT_LOCAL = `INSERT INTO local_receipts
  (operation_pk, receipt_id, downstream_request_id, request_sha256, result_json, producer_revision, resource_revision,
   observed_at, effect_revision, reconciled_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (operation_pk) DO NOTHING`;
export const READ_LOCAL = `SELECT ${receiptColumns('l', 'local')} FROM local_receipts l WHERE operation_pk = ?`;
export const OPERATION_SUCCEEDED = `UPDATE operations SET state = 'succeeded', updated_at = ?, completed_at = ?
  WHERE operation_pk = ? AND state IN ('pending', 'processing', 'succeeded')`;
// One changed column, and nothing is changed.
const RESERVED_COLUMNS = COLUMNS.filter((column) => !['state', 'updated_at', 'completed_at'].includes(column));
const RESERVED_SUCCEEDED = `UPDATE operations SET state = 'succeeded', updated_at = ?, completed_at = ?
  WHERE ${RESERVED_COLUMNS.map((column) => `${column} = ?`).join(' AND ')} AND state IN ('pending', 'processing')`;
export const OUTBOX_DELIVERED = `UPDATE outbox SET state = 'delivered', lease_owner = NULL, lease_until = NULL,
  updated_at = ? WHERE operation_pk = ? AND state IN ('pending', 'processing')`;

export const COUNTS = `SELECT (SELECT count(*) FROM call_bindings) AS call_bindings,
  (SELECT count(*) FROM operations) AS operations, (SELECT count(*) FROM outbox) AS outbox,
  (SELECT count(*) FROM downstream_receipts) AS downstream_receipts,
  (SELECT count(*) FROM local_receipts) AS local_receipts`;

export const ORPHAN_OUTBOX = `SELECT b.operation_pk FROM outbox b
  WHERE NOT EXISTS (SELECT 1 FROM operations o WHERE o.operation_pk = b.operation_pk) ORDER BY b.operation_pk`;
export const ORPHAN_LOCAL = `SELECT l.operation_pk FROM local_receipts l
  WHERE NOT EXISTS (SELECT 1 FROM operations o WHERE o.operation_pk = l.operation_pk) ORDER BY l.operation_pk`;
export const ORPHAN_DOWNSTREAM = `SELECT d.tenant_id, d.subject_id, d.tool_name, d.idempotency_key, d.request_sha256
  FROM downstream_receipts d WHERE NOT EXISTS (SELECT 1 FROM operations o WHERE o.tenant_id = d.tenant_id
  AND o.subject_id = d.subject_id AND o.tool_name = d.tool_name AND o.idempotency_key = d.idempotency_key)
  ORDER BY d.tenant_id, d.subject_id, d.tool_name, d.idempotency_key`;

export const INSERT_VERDICT = `INSERT INTO operation_verdicts
  (operation_pk, verdict, source, decided_by, reason, decided_at) VALUES (?, ?, ?, ?, ?, ?)`;
// NOT EXISTS, not a left join: with the join SQLite prepares the statement anew at each use, which costs ten times as much.
// By its arguments, not its digest: that holds revisions, and what is unknown stays so when a tool gets others.
export const FIND_TWIN = `SELECT o.status_ref FROM operations o
  WHERE o.tenant_id = ? AND o.subject_id = ? AND o.tool_name = ?
  AND substr(o.arguments_json, 1, 128) = substr(?, 1, 128) AND o.arguments_json = ? AND o.state <> 'succeeded'
  AND o.idempotency_key <> ?
  AND NOT EXISTS (SELECT 1 FROM operation_verdicts v WHERE v.operation_pk = o.operation_pk) LIMIT 1`;

/** A write that needs nobody has no request, and its approval is named so. */
export const LIST_UNRESOLVED_APPROVED = `SELECT o.status_ref, o.arguments_json, o.approval_id FROM operations o
  WHERE o.tenant_id = ? AND o.subject_id = ? AND o.tool_name = ? AND o.state <> 'succeeded' AND o.idempotency_key <> ?
  AND o.approval_id NOT LIKE 'policy-%'
  AND NOT EXISTS (SELECT 1 FROM operation_verdicts v WHERE v.operation_pk = o.operation_pk)
  ORDER BY o.operation_pk DESC LIMIT ?`;

/** The reading statements, with the verdict where verdicts are installed. */
export interface OperationQueries {
  /** The operation alone. */
  readonly byScope: string;
  /** The operation with its outbox row. */
  readonly forLease: string;
  /** The operation with its outbox row and both receipts. */
  readonly whole: string;
  /** The same, where it is this tenant's: the second parameter. */
  readonly wholeOfTenant: string;
  readonly auditPage: string;
  /** Finishes an operation of which everything is still as its reserver stored it. */
  readonly reservedSucceeded: string;
  /** A row where the operation has its receipt or its verdict. */
  readonly isOver: string;
  listPage(open: boolean): string;
}

const NO_VERDICT = 'NOT EXISTS (SELECT 1 FROM operation_verdicts v WHERE v.operation_pk = operations.operation_pk)';
const VERDICT = ', v.verdict, v.source, v.decided_by, v.reason, v.decided_at';
const JOIN_VERDICT = 'LEFT JOIN operation_verdicts v ON v.operation_pk = o.operation_pk';

export function operationQueries(withVerdicts: boolean): OperationQueries {
  const verdict = withVerdicts ? VERDICT : '';
  const join = withVerdicts ? JOIN_VERDICT : '';
  const { from, where, ofTenant } = withVerdicts ? AMONG_ORDERED_REFS : AMONG_INDEXED_REFS;
  const whole = `SELECT ${OPERATION}${verdict}, ${WHOLE}`;
  const joins = `${JOIN_OUTBOX} ${JOIN_DOWNSTREAM} ${JOIN_LOCAL} ${join}`;
  const settled = 'EXISTS (SELECT 1 FROM operation_verdicts v WHERE v.operation_pk = o.operation_pk)';
  const unsettled = withVerdicts ? 'AND v.operation_pk IS NULL' : '';
  return {
    byScope: `SELECT ${OPERATION}${verdict} FROM operations o ${join} WHERE ${SCOPE.replaceAll(/(\w+) = /g, 'o.$1 = ')}`,
    forLease: `SELECT ${OPERATION}${verdict}, ${OUTBOX} ${from} ${JOIN_OUTBOX} ${join} ${where}`,
    whole: `${whole} ${from} ${joins} ${where}`,
    wholeOfTenant: `${whole} ${ofTenant.from} ${joins} ${ofTenant.where}`,
    reservedSucceeded: withVerdicts ? `${RESERVED_SUCCEEDED} AND ${NO_VERDICT}` : RESERVED_SUCCEEDED,
    isOver: `SELECT 1 ${from} ${where} AND (o.state = 'succeeded'${withVerdicts ? ` OR ${settled}` : ''})`,
    auditPage: `${whole} FROM operations o ${joins} WHERE o.operation_pk > ? ORDER BY o.operation_pk LIMIT ?`,
    listPage: (open) => `${whole} FROM operations o ${joins} WHERE o.tenant_id = ? AND o.operation_pk < ?
      ${open ? `AND o.state <> 'succeeded' ${unsettled}` : ''} ORDER BY o.operation_pk DESC LIMIT ?`,
  };
}
