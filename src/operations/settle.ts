import { codePointsWithin, fail, isBlank, requireText, requireUnixSeconds, storableText } from '../core/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { MAX_IDENTIFIER_CHARS, MAX_REASON_CHARS } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import { isStatusRef } from './digests.ts';
import { requireRecord } from './host-context.ts';
import { refuseVerdict, type SettleRefusal } from './machine.ts';
import type { OperationRecord, Principal, Verdict, VerdictKind } from './model.ts';
import { INSERT_VERDICT } from './queries.ts';
import { readRow, wholeOf } from './rows.ts';
import { proveStored } from './stored-proof.ts';

function refusal(why: SettleRefusal, statusRef: string) {
  const show = `holdfast operations show ${statusRef}`;
  if (why === 'succeeded')
    return fail('OPERATION_SUCCEEDED', 'The operation has its receipt: there is nothing to settle.', {
      resolve: `Nothing has to be settled; to see the receipt: ${show}`,
    });
  if (why === 'settled')
    return fail('OPERATION_SETTLED', 'A verdict on this operation is already recorded.', {
      resolve: `A verdict never changes; to read it: ${show}`,
    });
  return fail('OPERATION_LEASE_RUNNING', 'A worker may be finishing the operation: wait until its lease is over.', {
    resolve: `Give the verdict again once the lease is over; to see when that is: ${show}`,
  });
}

export function operationNotFound() {
  return fail('OPERATION_NOT_FOUND', 'There is no such operation, or it is not yours.');
}

function requireVerdicts(context: OperationsContext): void {
  if (!context.withVerdicts)
    throw fail('VERDICTS_NOT_INSTALLED', 'This database holds operations alone: it has no place for verdicts.');
}

/** What a person says is kept for ever: it says something, and who said it. */
function requirePersonsWords({ verdict, decidedBy, reason, decidedAt }: Verdict): void {
  if (verdict !== 'done' && verdict !== 'not_done') throw fail('INVALID_VALUE', 'verdict must be done or not_done.');
  requireText('the person', decidedBy, MAX_IDENTIFIER_CHARS);
  requireText('reason', reason, MAX_REASON_CHARS);
  requireUnixSeconds('now', decidedAt);
}

/**
 * Records that an operation whose outcome was unknown did, or did not, happen. Final: no lease, delivery or status query
 * follows, and the key is never used again. A receipt that turns up later is kept beside the verdict. `ofDelivery`: how
 * many deliveries there were of which it is said; that says nothing of one that was sent after them. Throws
 * OPERATION_NOT_FOUND, OPERATION_RECORD_BROKEN where the stored operation does not fit itself, OPERATION_SUCCEEDED,
 * OPERATION_SETTLED, OPERATION_LEASE_RUNNING, VERDICTS_NOT_INSTALLED, and INVALID_VALUE for a person's verdict without a
 * reason.
 */
export async function settle(
  tx: Tx,
  context: OperationsContext,
  statusRef: string,
  tenant: string,
  verdict: Verdict,
  ofDelivery?: number,
): Promise<void> {
  const why = await settleUnlessOvertaken(tx, context, statusRef, tenant, verdict, ofDelivery);
  if (why) throw refusal(why, statusRef);
}

/** The same, answering why it was not recorded: another one was first, or is carrying the operation out. */
async function settleUnlessOvertaken(
  tx: Tx,
  context: OperationsContext,
  statusRef: string,
  tenant: string,
  verdict: Verdict,
  ofDelivery?: number,
): Promise<SettleRefusal | null> {
  requireVerdicts(context);
  requireRecord('verdict', verdict);
  if (verdict.source === 'person') requirePersonsWords(verdict);
  const { wholeOfTenant } = context.queries;
  const row = isStatusRef(statusRef) ? await readRow(tx, wholeOfTenant, [statusRef, tenant]) : undefined;
  const whole = row && wholeOf(row);
  if (!whole) throw operationNotFound();
  // A verdict is about what was asked: on a record that says something else by now, it would be about that.
  proveStored(whole, statusRef);
  const { operation: record, outbox } = whole;
  const facts = { state: record.state, settled: record.verdict !== null, leaseUntil: outbox?.leaseUntil ?? null };
  // The tool that answers holds the lease itself: only a person and a query have to wait for its end.
  const leaseUntil = verdict.source === 'tool' ? null : facts.leaseUntil;
  const isOvertaken = ofDelivery !== undefined && outbox !== null && outbox.attempts > ofDelivery;
  const why = refuseVerdict({ ...facts, leaseUntil }, verdict.decidedAt) ?? (isOvertaken ? 'lease_running' : null);
  if (why) return why;
  const { verdict: kind, source, decidedBy, decidedAt } = verdict;
  const reason = source === 'person' ? verdict.reason : boundedReason(verdict.reason);
  await tx.run(INSERT_VERDICT, [record.pk, kind, source, decidedBy, reason, decidedAt]);
  await context.onChange?.(tx, { kind: 'settled', tenant, statusRef });
  return null;
}

/** Whether an operation has its receipt or its verdict: what is found out later changes nothing of that. */
export async function isOver(tx: ReadTx, context: OperationsContext, statusRef: string): Promise<boolean> {
  return (await tx.get(context.queries.isOver, [statusRef])) !== undefined;
}

/**
 * What was found out about so many deliveries of an operation, recorded where verdicts are installed; elsewhere it stays
 * as it is. Answers why it was not recorded, where somebody else was first or delivers it again.
 */
export async function settleFound(
  context: OperationsContext,
  record: OperationRecord,
  found: Omit<Verdict, 'decidedAt'>,
  of: { readonly deliveries: number; readonly now: number },
): Promise<SettleRefusal | null> {
  if (!context.withVerdicts) return null;
  const verdict = { ...found, decidedAt: of.now };
  return context.store.write('operations.settle', (tx) =>
    settleUnlessOvertaken(tx, context, record.statusRef, record.scope.tenant, verdict, of.deliveries),
  );
}

// A tool's words are not the user's mistake: too long is cut, blank is said plainly, and what cannot be stored is marked.
function boundedReason(reason: string): string {
  if (isBlank(reason)) return 'no reason was given';
  const text = storableText(reason);
  return codePointsWithin(text, MAX_REASON_CHARS) ? text : Array.from(text).slice(0, MAX_REASON_CHARS).join('');
}

export interface PersonVerdict {
  readonly verdict: VerdictKind;
  /** Why, in the person's words: 1 to 2,000 code points. */
  readonly reason: string;
  /** Seconds since 1970. */
  readonly now: number;
}

/** A person's verdict on an operation of their tenant. */
export async function settleByPerson(
  context: OperationsContext,
  person: Principal,
  statusRef: string,
  said: PersonVerdict,
): Promise<void> {
  requireRecord('person', person);
  requireRecord('said', said);
  const { verdict: kind, reason, now: decidedAt } = said;
  const verdict: Verdict = { verdict: kind, source: 'person', decidedBy: person.subject, reason, decidedAt };
  requirePersonsWords(verdict);
  await context.store.write('operations.settle', (tx) => settle(tx, context, statusRef, person.tenant, verdict));
}
