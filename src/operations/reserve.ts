import { fail, requireUnixSeconds } from '../core/index.ts';
import type { SqlValue, Tx } from '../store/index.ts';
import { chooseApproval } from './approval.ts';
import { bindCall } from './bindings.ts';
import type { OperationsContext } from './context.ts';
import { callFingerprint, eventIdOfText, outboxText } from './digests.ts';
import { requireEvidence, sameIntent, sameRevisions } from './evidence.ts';
import { checkLeaseRequest, requireRecord } from './host-context.ts';
import { decideReplay, type ReplayDecision } from './machine.ts';
import type { OperationApproval, OperationRecord, OperationTool } from './model.ts';
import { INSERT_OPERATION, INSERT_OUTBOX } from './queries.ts';
import { type KeyedCall, type PreparedRequest, prepareRequest } from './request.ts';
import { operationOf, readRow } from './rows.ts';
import { orderRefsAfter } from './status-refs.ts';

/** The business rule's answer, asked before the transaction; `error` is what the rule threw, told only if it counts. */
export type RuleAnswer = { readonly holds: boolean } | { readonly error: unknown };

export interface ReserveTerms {
  readonly approvals: readonly OperationApproval[];
  readonly rule: RuleAnswer;
  /** Seconds since 1970. */
  readonly now: number;
  /** Leases the outbox row in the same commit. */
  readonly lease?: { readonly workerId: string; readonly seconds: number };
}

/** A stored operation as its reserver knows it: what the later steps need. */
export interface OperationHandle {
  readonly pk: number;
  readonly statusRef: string;
  readonly request: PreparedRequest;
}

/** An operation that this process has just stored, with all that it stored: the proof that `record` can rest on. */
export interface ReservedOperation extends OperationHandle {
  readonly approval: OperationApproval;
  /** Seconds since 1970. */
  readonly reservedAt: number;
}

export type ReservationRefusal =
  | 'CALL_ID_CONFLICT'
  | 'IDEMPOTENCY_CONFLICT'
  | 'BUSINESS_RULE_VIOLATION'
  | 'APPROVAL_REQUIRED'
  | 'APPROVAL_INVALID';

export type Reservation =
  | { readonly kind: 'refused'; readonly code: ReservationRefusal }
  | { readonly kind: 'reserved'; readonly operation: ReservedOperation }
  | {
      readonly kind: 'existing';
      readonly decision: ReplayDecision;
      readonly operation: OperationHandle;
      readonly record: OperationRecord;
    };

const refuse = (code: ReservationRefusal): Reservation => ({ kind: 'refused', code });

/** The request as it was under the contract that a stored operation was made under, where that is still known. */
function underStoredContract(
  context: OperationsContext,
  request: PreparedRequest,
  record: OperationRecord,
): PreparedRequest {
  if (sameRevisions(record.revisions, request.contract)) return request;
  const retired: OperationTool | undefined = context.tools.retired?.(record.scope.tool, record.revisions);
  return retired ? prepareRequest(request.principal, request.call as KeyedCall, retired, request.purpose) : request;
}

async function findByScope(
  tx: Tx,
  context: OperationsContext,
  request: PreparedRequest,
): Promise<OperationRecord | undefined> {
  const { tenant, subject, tool, key } = request.scope;
  const row = await readRow(tx, context.queries.byScope, [tenant, subject, tool, key]);
  return row && operationOf(row);
}

function sameProfile(record: OperationRecord, request: PreparedRequest): boolean {
  const { first } = record;
  const { call } = request;
  return (
    first.provider === call.provider &&
    first.apiFamily === call.apiFamily &&
    first.adapterRevision === call.adapterRevision
  );
}

function answerExisting(context: OperationsContext, record: OperationRecord, request: PreparedRequest): Reservation {
  if (!sameIntent(record, request) || !sameProfile(record, request)) return refuse('IDEMPOTENCY_CONFLICT');
  requireEvidence(record, request, context);
  return {
    kind: 'existing',
    decision: decideReplay(record.state, record.verdict !== null),
    operation: { pk: record.pk, statusRef: record.statusRef, request },
    record,
  };
}

/** What an operation is stored with, in the order of its columns from the scope to the status reference. */
export function storedFacts(request: PreparedRequest, approval: OperationApproval, now: number): SqlValue[] {
  const { scope, contract, call } = request;
  return [
    scope.tenant,
    scope.subject,
    scope.tool,
    scope.key,
    request.requestSha256,
    request.argumentsJson,
    contract.inputSchema,
    contract.outputSchema,
    contract.effect,
    contract.handler,
    contract.producer,
    contract.policy,
    approval.approvalId,
    approval.approverId,
    approval.digest,
    approval.expiresAt,
    now,
    call.operationId,
    call.callId,
    call.responseId,
    call.provider,
    call.apiFamily,
    call.adapterRevision,
    request.statusRef,
  ];
}

function operationParams(
  request: PreparedRequest,
  approval: OperationApproval,
  { now, lease }: ReserveTerms,
): SqlValue[] {
  return [...storedFacts(request, approval, now), lease ? 'processing' : 'pending', now, now];
}

async function insertOutbox(tx: Tx, pk: number, request: PreparedRequest, terms: ReserveTerms): Promise<void> {
  const payloadJson = outboxText(pk, request.requestSha256, request.scope.tool);
  const { lease, now } = terms;
  await tx.run(INSERT_OUTBOX, [
    eventIdOfText(payloadJson),
    pk,
    payloadJson,
    lease ? 'processing' : 'pending',
    lease?.workerId ?? null,
    lease ? now + lease.seconds : null,
    lease ? 1 : 0,
    now,
    now,
  ]);
}

/** What a composer gives wrongly stops before anything is written. */
function checkTerms(terms: ReserveTerms): void {
  requireRecord('terms', terms);
  const { approvals, rule, now, lease } = terms;
  requireRecord('rule', rule);
  if (!Array.isArray(approvals)) throw fail('INVALID_VALUE', 'approvals must be a list.');
  requireUnixSeconds('now', now);
  if (lease) checkLeaseRequest(lease.workerId, now, lease.seconds);
}

/** True alone: a promise of an answer says nothing yet. */
function holds(rule: RuleAnswer): boolean {
  const said: unknown = 'holds' in rule ? rule.holds : false;
  return said === true;
}

/** Why a new intent is refused, or the approval to keep with it. */
function admit(context: OperationsContext, request: PreparedRequest, terms: ReserveTerms) {
  if ('error' in terms.rule) throw terms.rule.error;
  if (!holds(terms.rule)) return 'BUSINESS_RULE_VIOLATION';
  if (terms.approvals.length === 0) return 'APPROVAL_REQUIRED';
  const { principal, call, contract, requestSha256 } = request;
  const question = { principal, call, contract, requestSha256, now: terms.now, isApprover: context.isApprover };
  return chooseApproval(terms.approvals, question) ?? 'APPROVAL_INVALID';
}

function isHopeful(terms: ReserveTerms): boolean {
  return holds(terms.rule) && terms.approvals.length > 0;
}

/** Inserts the operation and its outbox row, or answers nothing where the scope is taken. */
async function insertNew(
  tx: Tx,
  context: OperationsContext,
  request: PreparedRequest,
  approval: OperationApproval,
  terms: ReserveTerms,
): Promise<Reservation | undefined> {
  const inserted = await tx.run(INSERT_OPERATION, operationParams(request, approval, terms));
  if (inserted.changes === 0) return undefined;
  const pk = inserted.lastInsertRowid;
  await insertOutbox(tx, pk, request, terms);
  if (context.withVerdicts) await orderRefsAfter(tx, pk);
  const { statusRef } = request;
  return { kind: 'reserved', operation: { pk, statusRef, request, approval, reservedAt: terms.now } };
}

async function tell(tx: Tx, context: OperationsContext, reservation: Reservation): Promise<Reservation> {
  if (reservation.kind === 'reserved' && context.onChange) {
    const { request, statusRef } = reservation.operation;
    await context.onChange(tx, { kind: 'reserved', tenant: request.scope.tenant, statusRef });
  }
  return reservation;
}

/**
 * Accepts an intent, or says why not: binds the call identity, then finds the operation of this scope or stores a new
 * one with its outbox row, its approval and, with `lease`, its first lease. A refusal keeps the binding; an error keeps
 * nothing. Throws OPERATION_RECORD_BROKEN where what is stored for this scope does not fit, and INVALID_VALUE for terms that are
 * none.
 */
export async function reserve(
  tx: Tx,
  context: OperationsContext,
  asked: PreparedRequest,
  terms: ReserveTerms,
): Promise<Reservation> {
  checkTerms(terms);
  const bound = await bindCall(tx, asked, terms.now);
  if (bound === 'conflict') return reserveUnderRetired(tx, context, asked, terms);
  const hopeful = bound === 'new' && isHopeful(terms) ? admit(context, asked, terms) : undefined;
  if (typeof hopeful === 'object') {
    const stored = await insertNew(tx, context, asked, hopeful, terms);
    if (stored) return tell(tx, context, stored);
  }
  const record = await findByScope(tx, context, asked);
  if (record) return answerExisting(context, record, underStoredContract(context, asked, record));
  const admitted = hopeful ?? admit(context, asked, terms);
  if (typeof admitted === 'string') return refuse(admitted);
  const stored = await insertNew(tx, context, asked, admitted, terms);
  if (!stored) return refuse('IDEMPOTENCY_CONFLICT');
  return tell(tx, context, stored);
}

/** A repeat of a call that was bound under a contract since retired is the same call, where the contract is kept. */
async function reserveUnderRetired(
  tx: Tx,
  context: OperationsContext,
  asked: PreparedRequest,
  terms: ReserveTerms,
): Promise<Reservation> {
  const record = await findByScope(tx, context, asked);
  const request = record && underStoredContract(context, asked, record);
  if (!record || !request || request === asked) return refuse('CALL_ID_CONFLICT');
  const fingerprint = callFingerprint(asked.call, asked.purpose, request.requestSha256);
  const bound = await bindCall(tx, { ...asked, fingerprint }, terms.now);
  return bound === 'same' ? answerExisting(context, record, request) : refuse('CALL_ID_CONFLICT');
}
