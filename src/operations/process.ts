import { fail } from '../core/index.ts';
import { currentAccess, ruleHolds } from './access.ts';
import { DEFAULT_LEASE_SECONDS } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import { isStatusRef } from './digests.ts';
import type { DeliveryAnswer, DownstreamPort } from './downstream.ts';
import { recordBroken, requireEvidence } from './evidence.ts';
import {
  checkLeaseRequest,
  PROCESS_FAILURES,
  type ProcessFailure,
  requireFailureWord,
  requireRecord,
} from './host-context.ts';
import { lease } from './lease.ts';
import { type Lease, type OperationRecord, Principal, type ProcessOutcome } from './model.ts';
import { readDelivery } from './port-answers.ts';
import { mayBeSent } from './redelivery.ts';
import { settleFound } from './settle.ts';
import { readWork, recordReceipt, requestOf, type StoredWork } from './stored-work.ts';

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

interface LeaseAsked {
  readonly workerId: string;
  readonly now: number;
  readonly leaseSeconds: number;
}

/** Takes the lease in a transaction of its own; with `afterDeliveries` only where there was none since. */
export async function takeLease(
  context: OperationsContext,
  statusRef: string,
  { workerId, now, leaseSeconds: seconds }: LeaseAsked,
  afterDeliveries?: number,
) {
  requireLeaseAsked(statusRef, { workerId, now, leaseSeconds: seconds });
  const pinned = afterDeliveries === undefined ? {} : { afterDeliveries };
  return context.store.write('operations.lease', (tx) =>
    lease(tx, context, statusRef, { workerId, now, seconds, ...pinned }),
  );
}

function requireLeaseAsked(statusRef: unknown, { workerId, now, leaseSeconds }: LeaseAsked): void {
  requireStatusRef(statusRef);
  checkLeaseRequest(workerId, now, leaseSeconds);
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
  const { attemptCount: attempt, until: leaseUntil } = held;
  const request = { ...requestOf(work, current, terms.now), attempt, leaseUntil };
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
 * One worker's step: lease, check everything again as it is now, deliver, record. What was delivered before is sent again
 * only as far as its tool's `effect` allows that. Nothing is sent once the lease has
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
  const asked = { workerId, now, leaseSeconds };
  requireLeaseAsked(statusRef, asked);
  const repeat = await mayBeSent(context, statusRef, now);
  if (repeat.kind === 'not_sent') return repeat.word;
  const askedAtMs = context.clock.nowMs();
  const answer = await takeLease(context, statusRef, asked, repeat.afterDeliveries);
  if (answer.kind === 'not_leased') return answer.word;
  await context.faults.reach('outbox-claimed');
  if (failure === 'after_claim') return 'crashed_after_claim';
  const leftMs = (): number => askedAtMs + leaseSeconds * 1000 - context.clock.nowMs();
  return deliver(context, answer.lease, answer.record, { failure, now, leftMs });
}
