import { isJsonObject } from '../core/index.ts';
import type { Tx } from '../store/index.ts';
import type { OperationsContext } from './context.ts';
import { eventIdOfText, outboxPayload } from './digests.ts';
import { readStoredJson, recordBroken } from './evidence.ts';
import { checkLeaseRequest, requireRecord } from './host-context.ts';
import { decideLease, notLeased } from './machine.ts';
import type { Lease, OperationRecord, ProcessOutcome } from './model.ts';
import { LEASE_OUTBOX, OPERATION_PROCESSING } from './queries.ts';
import { operationOf, type OutboxRecord, outboxOf, readRow, wholeOf } from './rows.ts';
import { sortedText } from './sorted-json.ts';
import { proveStored } from './stored-proof.ts';

export interface LeaseTerms {
  readonly workerId: string;
  /** Seconds since 1970. */
  readonly now: number;
  readonly seconds: number;
  /** How many deliveries there are of which whoever wants to deliver again knows: one more, and nothing is granted. */
  readonly afterDeliveries?: number;
}

export type LeaseAnswer =
  | { readonly kind: 'leased'; readonly lease: Lease; readonly record: OperationRecord }
  | { readonly kind: 'not_leased'; readonly word: ProcessOutcome };

/**
 * What is wrong with an outbox row, or null: its payload must be strict, canonical, an object of exactly the operation's
 * own facts, and its event id the one that is made from it.
 */
export function payloadFinding(outbox: OutboxRecord, record: OperationRecord): string | null {
  const expected = outboxPayload(record.pk, record.requestSha256, record.scope.tool);
  const canonical = sortedText(expected);
  if (outbox.payloadJson === canonical)
    return outbox.eventId === eventIdOfText(canonical) ? null : "the outbox row's event id is not the computed one";
  const value = readStoredJson(outbox.payloadJson, 'the outbox payload');
  const fields = Object.keys(expected);
  if (
    !isJsonObject(value) ||
    Object.keys(value).length !== fields.length ||
    !fields.every((f) => Object.hasOwn(value, f))
  )
    return 'the outbox payload has other fields than the four';
  return 'the outbox payload is about another operation';
}

async function grant(tx: Tx, record: OperationRecord, outbox: OutboxRecord, terms: LeaseTerms): Promise<Lease> {
  const until = terms.now + terms.seconds;
  const leased = await tx.run(LEASE_OUTBOX, [terms.workerId, until, terms.now, record.pk, terms.now]);
  if (leased.changes !== 1) throw recordBroken('the outbox row cannot be leased');
  await tx.run(OPERATION_PROCESSING, [terms.now, record.pk]);
  return {
    operationPk: record.pk,
    statusRef: record.statusRef,
    workerId: terms.workerId,
    requestSha256: record.requestSha256,
    toolName: record.scope.tool,
    attemptCount: outbox.attempts + 1,
    until,
  };
}

/**
 * Takes the time-limited right to carry an operation out. Nothing is granted while a lease runs, whoever holds it; a
 * lease is over at its end second. Settled and delivered rows give nothing.
 */
export async function lease(
  tx: Tx,
  context: OperationsContext,
  statusRef: string,
  terms: LeaseTerms,
): Promise<LeaseAnswer> {
  const row = await readRow(tx, context.queries.forLease, [statusRef]);
  const outbox = row && outboxOf(row);
  if (!row || !outbox) return { kind: 'not_leased', word: notLeased('absent', null) };
  const record = operationOf(row);
  const facts = { outbox: outbox.state, leaseUntil: outbox.leaseUntil, settled: record.verdict !== null };
  const { now, afterDeliveries = outbox.attempts } = terms;
  const decision = decideLease(facts, now);
  if (decision === 'grant' && outbox.attempts !== afterDeliveries)
    return { kind: 'not_leased', word: notLeased('held', record.state) };
  if (decision !== 'grant') return { kind: 'not_leased', word: notLeased(decision, record.state) };
  const finding = payloadFinding(outbox, record);
  if (finding !== null) throw recordBroken(finding);
  const granted = await grant(tx, record, outbox, terms);
  await context.onChange?.(tx, { kind: 'leased', tenant: record.scope.tenant, statusRef });
  return { kind: 'leased', lease: granted, record };
}

/**
 * The same for whoever carries the operation out by its own means: the record is proved first, since what is delivered
 * comes from it. Throws OPERATION_RECORD_BROKEN where it does not fit itself, and INVALID_VALUE for terms that are none; then
 * nothing is written.
 */
export async function leaseProved(
  tx: Tx,
  context: OperationsContext,
  statusRef: string,
  terms: LeaseTerms,
): Promise<LeaseAnswer> {
  requireRecord('terms', terms);
  checkLeaseRequest(terms.workerId, terms.now, terms.seconds);
  const row = await readRow(tx, context.queries.whole, [statusRef]);
  if (row) proveStored(wholeOf(row), statusRef);
  return lease(tx, context, statusRef, terms);
}
