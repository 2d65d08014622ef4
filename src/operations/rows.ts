import type { ReadTx, Row, SqlValue } from '../store/index.ts';
import { recordBroken } from './evidence.ts';
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
  readonly eventId: string;
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

/** Numbers as they are stored, whatever somebody stored: read as numbers, one beyond 2^53 would end the whole reading. */
export const exact = (text: string) => ({ text, integers: 'bigint' }) as const;
export const BEYOND_NUMBERS = 'a stored number is beyond 2^53';

/** The row with its integers as numbers; whether that is exact, for a number beyond 2^53 becomes the nearest below it. */
export function numbersOf(row: Row): { readonly plain: Row; readonly isExact: boolean } {
  const plain: Record<string, SqlValue> = {};
  let isExact = true;
  for (const [column, value] of Object.entries(row)) {
    if (typeof value !== 'bigint') plain[column] = value;
    else {
      const nearest = Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(value)));
      if (BigInt(nearest) !== value) isExact = false;
      plain[column] = nearest;
    }
  }
  return { plain, isExact };
}

/** One row, or undefined. Throws OPERATION_RECORD_BROKEN for a number that this program never writes. */
export async function readRow(tx: ReadTx, text: string, params: readonly SqlValue[]): Promise<Row | undefined> {
  const row = await tx.get(exact(text), params);
  if (row === undefined) return undefined;
  const { plain, isExact } = numbersOf(row);
  if (!isExact) throw recordBroken(BEYOND_NUMBERS);
  return plain;
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
    eventId: text(row, 'outbox_event_id'),
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
