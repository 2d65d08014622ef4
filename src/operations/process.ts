import { fail, type JsonObject } from '../core/index.ts';
import { currentAccess, ruleHolds } from './access.ts';
import { DEFAULT_LEASE_SECONDS } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import { effectIdentity, isStatusRef } from './digests.ts';
import type { DeliveryAnswer, DeliveryRequest, DownstreamPort } from './downstream.ts';
import { type ExpectedRequest, readStoredObject, recordBroken, requireEvidence, sameRevisions } from './evidence.ts';
import {
  checkLeaseRequest,
  PROCESS_FAILURES,
  type ProcessFailure,
  requireFailureWord,
  requireRecord,
} from './host-context.ts';
import { lease } from './lease.ts';
import {
  type Lease,
  type OperationRecord,
  type OperationTool,
  Principal,
  type ProcessOutcome,
  type Receipt,
} from './model.ts';
import { readDelivery } from './port-answers.ts';
import { record } from './record.ts';
import { expectedOfRow } from './request.ts';
import { checkedOutput } from './results.ts';
import { settleFound } from './settle.ts';

export interface ProcessOptions {
  readonly workerId: string;
  /** Seconds since 1970. */
  readonly now: number;
  readonly leaseSeconds?: number;
  /** Where a harness stops the code. */
  readonly failure?: ProcessFailure;
}

export function requireStatusRef(statusRef: unknown): string {
  if (!isStatusRef(statusRef)) throw fail('INVALID_VALUE', 'status_ref must be status_ and 32 hexadecimal digits.');
  return statusRef;
}

/** Takes the lease in a transaction of its own. */
export async function takeLease(
  context: OperationsContext,
  statusRef: string,
  terms: { readonly workerId: string; readonly now: number; readonly leaseSeconds: number },
) {
  requireStatusRef(statusRef);
  checkLeaseRequest(terms.workerId, terms.now, terms.leaseSeconds);
  return context.store.write('operations.lease', (tx) =>
    lease(tx, context, statusRef, { workerId: terms.workerId, now: terms.now, seconds: terms.leaseSeconds }),
  );
}

/** The tool that a stored operation was made for: as registered now, or a retired one of exactly its revisions. */
export function toolOfRecord(context: OperationsContext, row: OperationRecord): OperationTool | undefined {
  return toolAsItWas(context, row) ?? context.tools.current(row.scope.tool);
}

/** The tool of exactly the revisions that an operation was made under; undefined where the registry has it no more. */
export function toolAsItWas(context: OperationsContext, row: OperationRecord): OperationTool | undefined {
  const current = context.tools.current(row.scope.tool);
  if (current && sameRevisions(current.contract, row.revisions)) return current;
  return context.tools.retired?.(row.scope.tool, row.revisions);
}

/** A stored operation made ready to be carried out. */
export interface StoredWork {
  readonly row: OperationRecord;
  readonly tool: OperationTool;
  readonly input: JsonObject;
  readonly expected: ExpectedRequest;
}

async function readWork(context: OperationsContext, row: OperationRecord): Promise<StoredWork> {
  const tool = toolOfRecord(context, row);
  if (!tool || tool.effect === 'read') throw recordBroken('its tool is not registered');
  const input = readStoredObject(row.argumentsJson, 'the stored arguments');
  if ((await tool.checkArguments(input)).length > 0) throw recordBroken('its arguments break the input rules');
  return { row, tool, input, expected: expectedOfRow(row.scope, tool, input) };
}

function deliveryRequest(
  work: StoredWork,
  held: Lease,
  principal: Principal,
  now: number,
): Omit<DeliveryRequest, 'signal'> {
  const { row, tool, input, expected } = work;
  return {
    scope: row.scope,
    statusRef: row.statusRef,
    contract: tool.contract,
    tool,
    principal,
    input,
    requestSha256: expected.requestSha256,
    effectIdentity: effectIdentity(row.scope, expected.requestSha256),
    attempt: held.attemptCount,
    now,
    leaseUntil: held.until,
  };
}

/**
 * Records a receipt whose output has passed the tool's rules, in one transaction. Where another receipt is kept already,
 * that one is checked instead; a receipt that breaks the rules is OPERATION_RECORD_BROKEN and changes nothing.
 */
export async function recordReceipt(
  context: OperationsContext,
  work: StoredWork,
  receipt: Receipt | null,
  keepChecked: boolean,
  now: number,
): Promise<'succeeded' | 'no_receipt' | 'settled'> {
  let checked = receipt;
  for (;;) {
    if (checked) await checkedOutput(work.tool, work.input, checked, 'the downstream result');
    const terms = { statusRef: work.row.statusRef, expected: work.expected, checked, keepChecked, now };
    const answer = await context.store.write('operations.record', (tx) => record(tx, context, terms));
    if (answer.kind !== 'unchecked') return answer.kind;
    checked = answer.receipt;
  }
}

/** What a delivery that did nothing comes to, where the operation did not wait for its answer. */
const WORD_OF_OVERTAKEN = { succeeded: 'succeeded', settled: 'settled', lease_running: 'outcome_unknown' } as const;

async function finishDelivery(
  context: OperationsContext,
  port: DownstreamPort,
  work: StoredWork,
  answer: DeliveryAnswer,
  terms: { readonly failure: ProcessFailure; readonly now: number; readonly attempt: number },
): Promise<ProcessOutcome> {
  if (answer.kind === 'unknown') return 'outcome_unknown';
  if (answer.kind === 'not_done') {
    // That this delivery did nothing says nothing about an earlier one whose answer was lost.
    if (terms.attempt > 1) return 'outcome_unknown';
    const by = work.tool.contract.name;
    const found = { verdict: 'not_done', source: 'tool', decidedBy: by, reason: answer.reason } as const;
    const overtaken = await settleFound(context, work.row, found, { deliveries: terms.attempt, now: terms.now });
    return overtaken ? WORD_OF_OVERTAKEN[overtaken] : 'not_done';
  }
  if (terms.failure === 'after_downstream_commit') return 'outcome_unknown';
  await context.faults.reach('receipt-about-to-commit');
  const recorded = await recordReceipt(context, work, answer.receipt, port.home === 'external', terms.now);
  await context.faults.reach('receipt-committed');
  if (recorded === 'no_receipt') throw recordBroken('its downstream receipt is gone');
  return recorded;
}

function requirePort(context: OperationsContext): DownstreamPort {
  if (!context.downstream)
    throw fail('OPERATIONS_NOT_DELIVERING', 'This process has no way to the other side: it can record, not deliver.');
  return context.downstream;
}

async function deliver(
  context: OperationsContext,
  held: Lease,
  row: OperationRecord,
  terms: { readonly failure: ProcessFailure; readonly now: number; readonly leftMs: () => number },
): Promise<ProcessOutcome> {
  const work = await readWork(context, row);
  const presented = new Principal(row.scope.tenant, row.scope.subject);
  const current = await currentAccess(context.resolvePrincipal, presented, work.tool, work.input);
  if (!current) return 'authorization_denied';
  requireEvidence(row, work.expected, context);
  if (!(await ruleHolds(work.tool, current, work.input))) return 'business_rule_denied';
  const port = requirePort(context);
  await context.faults.reach('effect-about-to-send');
  const request = deliveryRequest(work, held, current, terms.now);
  const answer = readDelivery(await withinLease(terms.leftMs(), (signal) => port.deliver({ ...request, signal })));
  await context.faults.reach('effect-sent');
  return finishDelivery(context, port, work, answer, { ...terms, attempt: held.attemptCount });
}

/** Longer than any timer can be set. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Sends only while the lease runs, and waits no longer than it: a worker that was held up has no right any more, since
 * another may be delivering by now.
 */
async function withinLease(
  leftMs: number,
  send: (signal: AbortSignal) => Promise<DeliveryAnswer>,
): Promise<DeliveryAnswer> {
  if (leftMs <= 0) return { kind: 'unknown', reason: 'the lease had ended before it could be sent' };
  const over = Promise.withResolvers<DeliveryAnswer>();
  const ending = new AbortController();
  const atEnd = (): void => {
    over.resolve({ kind: 'unknown', reason: 'there was no answer before the lease ended' });
    ending.abort();
  };
  const timer = setTimeout(atEnd, Math.min(leftMs, LONGEST_TIMER_MS));
  try {
    return await Promise.race([send(ending.signal), over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * One worker's step: lease, check everything again as it is now, deliver, record. Nothing is sent once the lease has
 * ended, and what has not answered by then is unknown. A refusal or an error leaves the lease
 * running out; nothing is final but `succeeded`, `settled` and `not_done`. Throws what stored data, the port, an access
 * check or the store throw.
 */
export async function processOperation(
  context: OperationsContext,
  statusRef: string,
  options: ProcessOptions,
): Promise<ProcessOutcome> {
  requireRecord('options', options);
  const failure = requireFailureWord(options.failure ?? 'none', PROCESS_FAILURES);
  const { workerId, now, leaseSeconds = DEFAULT_LEASE_SECONDS } = options;
  const askedAtMs = context.clock.nowMs();
  const answer = await takeLease(context, statusRef, { workerId, now, leaseSeconds });
  if (answer.kind === 'not_leased') return answer.word;
  await context.faults.reach('outbox-claimed');
  if (failure === 'after_claim') return 'crashed_after_claim';
  const leftMs = (): number => askedAtMs + leaseSeconds * 1000 - context.clock.nowMs();
  return deliver(context, answer.lease, answer.record, { failure, now, leftMs });
}
