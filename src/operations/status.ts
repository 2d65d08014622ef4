import { admitCall } from './admission.ts';
import { bindCall } from './bindings.ts';
import type { OperationsContext } from './context.ts';
import { callFingerprint, isStatusRef } from './digests.ts';
import { errorEnvelope, type ResultEnvelope } from './envelope.ts';
import type { OutcomeCode } from './error-catalogue.ts';
import { requireEvidence, sameIntent, sameRevisions, sameScope } from './evidence.ts';
import { requireRecord } from './host-context.ts';
import { askOtherSide } from './lookup.ts';
import { isFinalNotHappened } from './machine.ts';
import type { OperationRecord, Principal, ToolCall } from './model.ts';
import { type KeyedCall, type PreparedRequest, prepareRequest } from './request.ts';
import { answerSucceeded, readWhole } from './results.ts';
import type { WholeOperation } from './rows.ts';
import { settleFound } from './settle.ts';
import { recordReceipt, type StoredWork } from './stored-work.ts';

export interface StatusQuery {
  readonly statusRef: string;
  /** The digest of the request that the asker believes the operation to be. */
  readonly expectedRequestSha256: string;
  /** Seconds since 1970. */
  readonly now: number;
}

function answer(code: OutcomeCode, request: PreparedRequest, now: number, statusRef: string | null): ResultEnvelope {
  return errorEnvelope(code, request.principal, request.call, request.contract, now, statusRef);
}

function isFor(record: OperationRecord, principal: Principal): boolean {
  return record.scope.tenant === principal.tenant && record.scope.subject === principal.subject;
}

/** The request under the contract of the stored operation, where that one is retired and still known. */
function underStored(context: OperationsContext, request: PreparedRequest, record: OperationRecord): PreparedRequest {
  if (sameRevisions(record.revisions, request.contract)) return request;
  const retired = context.tools.retired?.(record.scope.tool, record.revisions);
  if (!retired) return request;
  return prepareRequest(request.principal, request.call as KeyedCall, retired, request.purpose);
}

function isSameQuestion(record: OperationRecord, request: PreparedRequest, query: StatusQuery): boolean {
  const { first } = record;
  const { call } = request;
  return (
    query.expectedRequestSha256 === request.requestSha256 &&
    sameScope(record.scope, request.scope) &&
    sameIntent(record, request) &&
    first.provider === call.provider &&
    first.apiFamily === call.apiFamily &&
    first.adapterRevision === call.adapterRevision
  );
}

function workOf(record: OperationRecord, request: PreparedRequest): StoredWork {
  return { row: record, tool: request.tool, input: request.call.arguments, expected: request };
}

type Found = 'succeeded' | 'no_receipt' | 'settled';

/** Settles an operation that the other side knows nothing of, once nothing under way can still take effect. */
async function settleNotHappened(
  context: OperationsContext,
  { operation, outbox }: WholeOperation,
  request: PreparedRequest,
  now: number,
): Promise<Found> {
  const leaseUntil = outbox?.leaseUntil ?? null;
  if (!context.withVerdicts || !isFinalNotHappened(leaseUntil, request.tool.settlesWithinSeconds, now))
    return 'no_receipt';
  const reason = 'the other side was asked after everything under way had ended, and it did not happen';
  const found = { verdict: 'not_done', source: 'status_query', decidedBy: request.contract.name, reason } as const;
  // What was answered is about what had been sent when it was asked.
  const overtaken = await settleFound(context, operation, found, { deliveries: outbox?.attempts ?? 0, now });
  return overtaken === 'lease_running' ? 'no_receipt' : (overtaken ?? 'settled');
}

async function reconcile(
  context: OperationsContext,
  whole: WholeOperation,
  request: PreparedRequest,
  now: number,
): Promise<Found> {
  const work = workOf(whole.operation, request);
  if (context.downstream?.home !== 'external') return recordReceipt(context, work, whole.downstream, false, now);
  if (whole.downstream) return recordReceipt(context, work, whole.downstream, false, now);
  const said = await askOtherSide(context, work, request.principal, now);
  if (said.kind === 'happened') return recordReceipt(context, work, said.receipt, true, now);
  return said.kind === 'not_happened' ? settleNotHappened(context, whole, request, now) : 'no_receipt';
}

async function findOwn(
  context: OperationsContext,
  principal: Principal,
  statusRef: unknown,
): Promise<WholeOperation | undefined> {
  if (!isStatusRef(statusRef)) return undefined;
  const whole = await readWhole(context, statusRef, principal.tenant);
  return whole && isFor(whole.operation, principal) ? whole : undefined;
}

async function answerQuestion(
  context: OperationsContext,
  whole: WholeOperation,
  request: PreparedRequest,
  query: StatusQuery,
): Promise<ResultEnvelope> {
  const { operation } = whole;
  const { statusRef, now } = query;
  if (!isSameQuestion(operation, request, query)) return answer('STATUS_CONFLICT', request, now, statusRef);
  requireEvidence(operation, request, context);
  if (operation.verdict) return answer('SETTLED', request, now, statusRef);
  if (operation.state === 'succeeded') return answerSucceeded(context, request, statusRef, 'receipt_reconciled', whole);
  const found = await reconcile(context, whole, request, now);
  if (found === 'succeeded') return answerSucceeded(context, request, statusRef, 'receipt_reconciled');
  return answer(found === 'settled' ? 'SETTLED' : 'OUTCOME_UNKNOWN', request, now, statusRef);
}

/**
 * Asks what became of an operation, under a call identity of its own and with the digest that the asker expects. A
 * receipt that is found finishes the operation; without one the outcome stays unknown. Throws as `dispatch` does.
 */
export async function queryStatus(
  context: OperationsContext,
  principal: Principal,
  call: ToolCall,
  query: StatusQuery,
): Promise<ResultEnvelope> {
  requireRecord('query', query);
  const { statusRef, now } = query;
  const admission = await admitCall(context, principal, call, now, 'query_status');
  if (admission.kind === 'refused') return admission.envelope;
  const whole = await findOwn(context, principal, statusRef);
  if (!whole) return answer('NOT_FOUND', admission.request, now, null);
  const request = underStored(context, admission.request, whole.operation);
  const fingerprint = callFingerprint(call, 'query_status', request.requestSha256);
  const bound = await context.store.write('operations.bind', (tx) => bindCall(tx, { ...request, fingerprint }, now));
  if (bound === 'conflict') return answer('CALL_ID_CONFLICT', request, now, null);
  return answerQuestion(context, whole, request, query);
}
