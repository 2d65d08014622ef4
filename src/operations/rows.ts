import type { Row, SqlValue } from '../store/index.ts';
import type {
  OperationRecord,
  OperationState,
  OutboxState,
  Receipt,
  Scope,
  StoredReceipt,
  Verdict,
  VerdictKind,
  VerdictSource,
} from './model.ts';

/** The outbox row beside an operation, or null where it is missing. */
export interface OutboxRecord {
  readonly payloadJson: string;
  readonly state: OutboxState;
  readonly leaseOwner: string | null;
  readonly leaseUntil: number | null;
  readonly attempts: number;
}

/** Everything that is stored about one operation. */
export interface WholeOperation {
  readonly operation: OperationRecord;
  readonly outbox: OutboxRecord | null;
  readonly downstream: StoredReceipt | null;
  readonly local: StoredReceipt | null;
}

const text = (row: Row, column: string) => row[column] as string;
const integer = (row: Row, column: string) => row[column] as number;

function verdictOf(row: Row): Verdict | null {
  if (row['verdict'] === undefined || row['verdict'] === null) return null;
  return {
    verdict: row['verdict'] as VerdictKind,
    source: row['source'] as VerdictSource,
    decidedBy: text(row, 'decided_by'),
    reason: text(row, 'reason'),
    decidedAt: integer(row, 'decided_at'),
  };
}

export function scopeOf(row: Row): Scope {
  return {
    tenant: text(row, 'tenant_id'),
    subject: text(row, 'subject_id'),
    tool: text(row, 'tool_name'),
    key: text(row, 'idempotency_key'),
  };
}

export function operationOf(row: Row): OperationRecord {
  return {
    pk: integer(row, 'operation_pk'),
    scope: scopeOf(row),
    requestSha256: text(row, 'request_sha256'),
    argumentsJson: text(row, 'arguments_json'),
    revisions: {
      inputSchema: text(row, 'input_schema_revision'),
      outputSchema: text(row, 'output_schema_revision'),
      effect: text(row, 'effect_revision'),
      handler: text(row, 'handler_revision'),
      producer: text(row, 'producer_revision'),
      policy: text(row, 'policy_revision'),
    },
    approvalId: text(row, 'approval_id'),
    approverId: text(row, 'approver_id'),
    approvalDigest: text(row, 'approval_digest'),
    approvalExpiresAt: integer(row, 'approval_expires_at'),
    approvedAt: integer(row, 'approved_at'),
    first: {
      operationId: text(row, 'first_operation_id'),
      callId: text(row, 'first_call_id'),
      responseId: text(row, 'first_response_id'),
      provider: text(row, 'first_provider'),
      apiFamily: text(row, 'first_api_family'),
      adapterRevision: text(row, 'first_adapter_revision'),
    },
    statusRef: text(row, 'status_ref'),
    state: row['state'] as OperationState,
    createdAt: integer(row, 'created_at'),
    updatedAt: integer(row, 'updated_at'),
    completedAt: row['completed_at'] as number | null,
    verdict: verdictOf(row),
  };
}

export function outboxOf(row: Row): OutboxRecord | null {
  if (row['outbox_event_id'] === null) return null;
  return {
    payloadJson: text(row, 'outbox_payload'),
    state: row['outbox_state'] as OutboxState,
    leaseOwner: row['outbox_lease_owner'] as string | null,
    leaseUntil: row['outbox_lease_until'] as number | null,
    attempts: integer(row, 'outbox_attempts'),
  };
}

export function receiptOf(row: Row, prefix: 'downstream' | 'local'): StoredReceipt | null {
  if (row[`${prefix}_receipt_id`] === null) return null;
  return {
    receiptId: text(row, `${prefix}_receipt_id`),
    downstreamRequestId: text(row, `${prefix}_downstream_request_id`),
    requestSha256: text(row, `${prefix}_request_sha256`),
    resultJson: text(row, `${prefix}_result_json`),
    producerRevision: text(row, `${prefix}_producer_revision`),
    resourceRevision: text(row, `${prefix}_resource_revision`),
    observedAt: text(row, `${prefix}_observed_at`),
    effectRevision: text(row, `${prefix}_effect_revision`),
  };
}

export function wholeOf(row: Row): WholeOperation {
  return {
    operation: operationOf(row),
    outbox: outboxOf(row),
    downstream: receiptOf(row, 'downstream'),
    local: receiptOf(row, 'local'),
  };
}

export function receiptParams(receipt: StoredReceipt): SqlValue[] {
  return [
    receipt.receiptId,
    receipt.downstreamRequestId,
    receipt.requestSha256,
    receipt.resultJson,
    receipt.producerRevision,
    receipt.resourceRevision,
    receipt.observedAt,
    receipt.effectRevision,
  ];
}

/** The eight fields that the downstream and the local receipt must share. */
export function sameReceipt(a: StoredReceipt, b: StoredReceipt): boolean {
  const right = receiptParams(b);
  return receiptParams(a).every((value, i) => value === right[i]);
}

export function bindReceipt(receipt: Receipt, requestSha256: string, effectRevision: string): StoredReceipt {
  return { ...receipt, requestSha256, effectRevision };
}
