import { isBlank, requireUnixSeconds } from '../core/index.ts';
import { readStoredJson, recordBroken, requireEvidence } from './evidence.ts';
import { requireRecord } from './host-context.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { OperationsContext } from './context.ts';
import type { ExpectedRequest } from './evidence.ts';
import type { OperationRecord, Receipt, Scope, StoredReceipt } from './model.ts';
import { keepOtherAnswer, tellTheSame } from './other-answers.ts';
import { type ReservedOperation, storedFacts } from './reserve.ts';
import {
  INSERT_DOWNSTREAM,
  INSERT_LOCAL,
  OPERATION_SUCCEEDED,
  OUTBOX_DELIVERED,
  READ_DOWNSTREAM,
  READ_LOCAL,
  RECEIPTS_OF_OTHERS,
} from './queries.ts';
import { bindReceipt, readRow, receiptOf, receiptParams, sameReceipt, wholeOf } from './rows.ts';

/**
 * Keeps the other side's proof, once per scope: the first one stands, its time included. A later one must agree with
 * it in digest, result, producer and effect revision; the one that is kept is returned.
 */
export async function keepDownstreamReceipt(
  tx: Tx,
  scope: Scope,
  receipt: StoredReceipt,
  now: number,
): Promise<StoredReceipt> {
  if (await insertDownstream(tx, scope, receipt, now)) return receipt;
  const row = await tx.get(READ_DOWNSTREAM, [scope.tenant, scope.subject, scope.tool, scope.key]);
  const kept = row && receiptOf(row, 'downstream');
  const agrees =
    kept &&
    kept.requestSha256 === receipt.requestSha256 &&
    kept.resultJson === receipt.resultJson &&
    kept.producerRevision === receipt.producerRevision &&
    kept.effectRevision === receipt.effectRevision;
  if (!agrees) throw recordBroken('another downstream receipt is kept for its scope');
  if (isBlank(kept.resourceRevision)) throw recordBroken('its downstream receipt has no resource revision');
  return kept;
}

/** Whether the receipt is the first of its scope, and is now kept. */
async function insertDownstream(tx: Tx, scope: Scope, receipt: StoredReceipt, now: number): Promise<boolean> {
  const { requestSha256, receiptId, downstreamRequestId, resultJson } = receipt;
  const inserted = await tx.run(INSERT_DOWNSTREAM, [
    scope.tenant,
    scope.subject,
    scope.tool,
    scope.key,
    requestSha256,
    receiptId,
    downstreamRequestId,
    resultJson,
    receipt.producerRevision,
    receipt.resourceRevision,
    receipt.observedAt,
    receipt.effectRevision,
    now,
  ]);
  return inserted.changes === 1;
}

/** The ids of a receipt, each of which no two operations can have. */
export type ReceiptIds = Pick<Receipt, 'receiptId' | 'downstreamRequestId'>;

/** Which of these ids the receipt of another operation has already. */
export async function takenIds(
  tx: ReadTx,
  { tenant, subject, tool, key }: Scope,
  { receiptId, downstreamRequestId }: ReceiptIds,
): Promise<Readonly<Record<keyof ReceiptIds, boolean>>> {
  const others = await tx.all(RECEIPTS_OF_OTHERS, [receiptId, downstreamRequestId, tenant, subject, tool, key]);
  return {
    receiptId: others.some((row) => row['receipt_id'] === receiptId),
    downstreamRequestId: others.some((row) => row['downstream_request_id'] === downstreamRequestId),
  };
}

/** What a downstream receipt must share with the request before it proves anything. */
export function downstreamFinding(receipt: StoredReceipt, expected: ExpectedRequest): string | null {
  if (receipt.requestSha256 !== expected.requestSha256) return 'its downstream receipt is for another request';
  if (receipt.producerRevision !== expected.contract.producer) return 'its downstream receipt has another producer';
  if (receipt.effectRevision !== expected.contract.effect) return 'its downstream receipt has another effect revision';
  return null;
}

async function keepLocalReceipt(tx: Tx, pk: number, receipt: StoredReceipt, now: number): Promise<void> {
  const inserted = await tx.run(INSERT_LOCAL, [pk, ...receiptParams(receipt), now]);
  if (inserted.changes === 1) return;
  const row = await tx.get(READ_LOCAL, [pk]);
  const kept = row && receiptOf(row, 'local');
  if (!kept || !sameReceipt(kept, receipt)) throw recordBroken('its local receipt differs from the downstream one');
}

export type RecordAnswer =
  /** Finished: receipt, operation and outbox row in this transaction, or `before`: found finished so, and not touched. */
  | { readonly kind: 'succeeded'; readonly before?: true }
  /** There is no downstream receipt. */
  | { readonly kind: 'no_receipt' }
  /** The receipt found is not the one whose output was checked: check this one and come again. */
  | { readonly kind: 'unchecked'; readonly receipt: StoredReceipt }
  /** A verdict stands: the receipt is kept beside it, nothing else changes. */
  | { readonly kind: 'settled' };

export interface RecordTerms {
  readonly statusRef: string;
  readonly expected: ExpectedRequest;
  /** The receipt whose output has been checked by the tool's rules, or null to find out what there is. */
  readonly checked: Receipt | null;
  /** Write the checked receipt as the downstream one, where the other side keeps its own elsewhere. */
  readonly keepChecked: boolean;
  /** The operation as this process reserved it: the row is then compared with it, column by column, where it is changed. */
  readonly reserved?: ReservedOperation;
  /** Seconds since 1970. */
  readonly now: number;
}

/** The first receipt of a scope stands; where the composed system has a place for it, what differs is kept beside it. */
async function downstreamNow(
  tx: Tx,
  context: OperationsContext,
  found: StoredReceipt | null,
  record: OperationRecord,
  terms: RecordTerms,
): Promise<StoredReceipt | null> {
  if (!terms.keepChecked || terms.checked === null) return found;
  const { expected, now } = terms;
  const bound = bindReceipt(terms.checked, expected.requestSha256, expected.contract.effect);
  if (found === null || !context.withVerdicts) return keepDownstreamReceipt(tx, record.scope, bound, now);
  if (!tellTheSame(found, bound) && (await keepOtherAnswer(tx, record.pk, bound, now))) {
    const { scope, statusRef } = record;
    await context.onChange?.(tx, { kind: 'answered_otherwise', tenant: scope.tenant, statusRef });
  }
  return found;
}

/** Whether the kept receipt says what was checked; ids and times are the other side's and need no rule of the tool. */
function isChecked(receipt: StoredReceipt, checked: Receipt | null): boolean {
  return (
    checked !== null &&
    checked.resultJson === receipt.resultJson &&
    checked.producerRevision === receipt.producerRevision &&
    checked.resourceRevision === receipt.resourceRevision &&
    checked.observedAt === receipt.observedAt
  );
}

async function finish(
  tx: Tx,
  context: OperationsContext,
  record: OperationRecord,
  receipt: StoredReceipt,
  now: number,
): Promise<RecordAnswer> {
  await keepLocalReceipt(tx, record.pk, receipt, now);
  const moved = await tx.run(OPERATION_SUCCEEDED, [now, now, record.pk]);
  if (moved.changes !== 1) throw recordBroken('the operation cannot be finished');
  await tx.run(OUTBOX_DELIVERED, [now, record.pk]);
  await context.onChange?.(tx, {
    kind: 'succeeded',
    tenant: record.scope.tenant,
    statusRef: record.statusRef,
  });
  return { kind: 'succeeded' };
}

/**
 * Writes down that an operation was carried out: both receipts, the operation and its outbox row change together or
 * not at all. The stored row is checked against the request first. A receipt for a settled operation is kept, and the
 * verdict stands. Throws OPERATION_RECORD_BROKEN where stored data does not fit.
 */
export async function record(tx: Tx, context: OperationsContext, terms: RecordTerms): Promise<RecordAnswer> {
  requireRecord('terms', terms);
  requireUnixSeconds('now', terms.now);
  if (!terms.reserved || !terms.checked || !terms.keepChecked) return recordStored(tx, context, terms, false);
  const done = await finishReserved(tx, context, terms, terms.reserved);
  return done === 'finished' ? { kind: 'succeeded' } : recordStored(tx, context, terms, done === 'receipt_kept');
}

/**
 * Finishes an operation that this process reserved, without reading it: whatever is not as it was stored leaves the
 * whole to `recordStored`, which finds out what it is.
 */
async function finishReserved(
  tx: Tx,
  context: OperationsContext,
  { expected, checked, now }: RecordTerms,
  reserved: ReservedOperation,
): Promise<'finished' | 'receipt_kept' | 'nothing'> {
  const receipt = checked && bindReceipt(checked, expected.requestSha256, expected.contract.effect);
  if (!receipt || downstreamFinding(receipt, expected) !== null) return 'nothing';
  if (!(await insertDownstream(tx, expected.scope, receipt, now))) return 'nothing';
  const facts = storedFacts(reserved.request, reserved.approval, reserved.reservedAt);
  const moved = await tx.run(context.queries.reservedSucceeded, [now, now, reserved.pk, ...facts, reserved.reservedAt]);
  if (moved.changes !== 1) return 'receipt_kept';
  await keepLocalReceipt(tx, reserved.pk, receipt, now);
  await tx.run(OUTBOX_DELIVERED, [now, reserved.pk]);
  await context.onChange?.(tx, { kind: 'succeeded', tenant: expected.scope.tenant, statusRef: reserved.statusRef });
  return 'finished';
}

/** `isNew`: the receipt was written as the downstream one a moment ago, in this transaction. */
async function recordStored(
  tx: Tx,
  context: OperationsContext,
  terms: RecordTerms,
  isNew: boolean,
): Promise<RecordAnswer> {
  const row = await readRow(tx, context.queries.whole, [terms.statusRef]);
  if (!row) throw recordBroken('it is gone');
  const { operation, outbox, downstream, local } = wholeOf(row);
  requireEvidence(operation, terms.expected, context);
  const receipt = await downstreamNow(tx, context, downstream, operation, terms);
  if (receipt === null) return { kind: operation.verdict ? 'settled' : 'no_receipt' };
  const finding = downstreamFinding(receipt, terms.expected);
  if (finding !== null) throw recordBroken(finding);
  if (operation.verdict) return keptLate(tx, context, operation, isNew || downstream === null);
  readStoredJson(receipt.resultJson, 'the downstream result');
  if (!isChecked(receipt, terms.checked)) return { kind: 'unchecked', receipt };
  const isFinished = operation.state === 'succeeded' && outbox?.state === 'delivered' && local !== null;
  if (isFinished && sameReceipt(local, receipt)) return { kind: 'succeeded', before: true };
  return finish(tx, context, operation, receipt, terms.now);
}

async function keptLate(
  tx: Tx,
  context: OperationsContext,
  { scope, statusRef }: OperationRecord,
  isNew: boolean,
): Promise<RecordAnswer> {
  if (isNew) await context.onChange?.(tx, { kind: 'receipt_kept', tenant: scope.tenant, statusRef });
  return { kind: 'settled' };
}
