import { fail, SecretNames } from '../core/index.ts';
import { MAX_LIST_ROWS } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import { recordBroken } from './evidence.ts';
import { requireRecord } from './host-context.ts';
import type { OperationRecord, OtherAnswer, Principal, Scope, StoredReceipt, Verdict } from './model.ts';
import { type AnswerOf, answersOf } from './other-answers.ts';
import {
  BEYOND_NUMBERS,
  exact,
  numbersOf,
  operationOf,
  type OutboxRecord,
  readRow,
  wholeOf,
  type WholeOperation,
} from './rows.ts';
import { lookedFor, readWhole } from './results.ts';
import { operationNotFound } from './settle.ts';
import { storedDamage } from './stored-proof.ts';
import type { ReadTx, Row } from '../store/index.ts';

/** What is known about an operation's effect, in one word. */
export type KnownOutcome = 'not_tried' | 'in_progress' | 'unknown' | 'done' | 'not_done';

/** One operation as people read it. */
export interface OperationView {
  readonly statusRef: string;
  readonly tool: string;
  readonly subject: string;
  readonly idempotencyKey: string;
  readonly state: OperationRecord['state'];
  readonly known: KnownOutcome;
  readonly requestSha256: string;
  /** Without the secret fields that its tool names; `requestSha256` is of the whole. */
  readonly argumentsJson: string;
  readonly approvalId: string;
  readonly approverId: string;
  readonly createdAt: number;
  readonly completedAt: number | null;
  readonly attempts: number;
  readonly leaseOwner: string | null;
  readonly leaseUntil: number | null;
  readonly receipt: StoredReceipt | null;
  readonly verdict: Verdict | null;
  /** A receipt that turned up after the verdict: kept beside it, and it may contradict it. */
  readonly lateReceipt: StoredReceipt | null;
  /** What other deliveries of the same key answered, if that is not what the kept receipt says: look whether it happened twice. */
  readonly otherAnswers: readonly OtherAnswer[];
  /** Why its record cannot be believed, or null. What is known of it is then `unknown`, whatever its columns say. */
  readonly damage: string | null;
}

export interface OperationPage {
  readonly operations: readonly OperationView[];
  /** Pass it as `before` for the next page; null at the end. */
  readonly next: number | null;
}

export interface ListOptions {
  /** Only operations whose outcome is not known: not finished and not settled. */
  readonly open?: boolean;
  readonly before?: number;
  /** 1 to 200, else 50. */
  readonly limit?: number;
  /** Seconds since 1970: tells a running lease from one that is over. */
  readonly now: number;
}

/** What is known now: a delivery that nobody is carrying out any more, without receipt or verdict, is unknown. */
export function knownOutcome(operation: OperationRecord, outbox: OutboxRecord | null, now: number): KnownOutcome {
  if (operation.verdict) return operation.verdict.verdict;
  if (operation.state === 'succeeded') return 'done';
  if (operation.state === 'pending' && outbox?.state === 'pending' && outbox.attempts === 0) return 'not_tried';
  return outbox?.leaseUntil !== null && outbox && outbox.leaseUntil > now ? 'in_progress' : 'unknown';
}

interface ReadOperation {
  readonly whole: WholeOperation;
  /** Whether all of its numbers are what numbers here can be. */
  readonly isExact: boolean;
  readonly answers: readonly AnswerOf[];
  readonly secret: SecretNames;
}

/** Rows as they are stored, with what stands beside them and what is shown to nobody of them. */
async function readAll(context: OperationsContext, tx: ReadTx, rows: readonly Row[]): Promise<ReadOperation[]> {
  const answers = await answersBeside(tx, context, rows);
  const read = rows.map((row) => {
    const { plain, isExact } = numbersOf(row);
    return { whole: wholeOf(plain), isExact };
  });
  const kept = await context.secretFieldsOf?.(
    tx,
    read.map(({ whole }) => whole.operation),
  );
  return read.map(({ whole, isExact }, at) => {
    const { pk: own, scope, revisions } = whole.operation;
    const tools = [context.tools.current(scope.tool), context.tools.retired?.(scope.tool, revisions)];
    const named = tools.map((tool) => tool?.forbiddenOutputNames ?? []);
    const secret = new SecretNames(kept?.[at] ?? [], ...named);
    return { whole, isExact, answers: answers.filter(({ pk }) => pk === own), secret };
  });
}

/** A row as people read it, whatever somebody wrote into it: one that is damaged keeps no other from being shown. */
function viewOf({ whole, isExact, secret, answers }: ReadOperation, now: number): OperationView {
  const { operation, outbox, downstream, local } = whole;
  const damage = isExact ? storedDamage(whole) : recordBroken(BEYOND_NUMBERS).message;
  return {
    statusRef: operation.statusRef,
    tool: operation.scope.tool,
    subject: operation.scope.subject,
    idempotencyKey: operation.scope.key,
    state: operation.state,
    known: damage === null ? knownOutcome(operation, outbox, now) : 'unknown',
    requestSha256: operation.requestSha256,
    argumentsJson: secret.strikeOutOf(operation.argumentsJson),
    approvalId: operation.approvalId,
    approverId: operation.approverId,
    createdAt: operation.createdAt,
    completedAt: operation.completedAt,
    attempts: outbox?.attempts ?? 0,
    leaseOwner: outbox?.leaseOwner ?? null,
    leaseUntil: outbox?.leaseUntil ?? null,
    receipt: local,
    verdict: operation.verdict,
    lateReceipt: operation.verdict ? downstream : null,
    otherAnswers: answers.map(({ answer }) => answer),
    damage,
  };
}

/** What other deliveries of these operations answered; a ledger of operations alone has no place for it. */
async function answersBeside(
  tx: ReadTx,
  { withVerdicts }: OperationsContext,
  rows: readonly Row[],
): Promise<readonly AnswerOf[]> {
  const pks = rows.map((row) => numbersOf(row).plain['operation_pk'] as number);
  return withVerdicts ? answersOf(tx, pks) : [];
}

const DEFAULT_LIMIT = 50;

/** A tenant's operations, newest first, a page at a time. */
export async function listOperations(
  context: OperationsContext,
  principal: Principal,
  options: ListOptions,
): Promise<OperationPage> {
  requireRecord('principal', principal);
  requireRecord('options', options);
  const { open = false, before = Number.MAX_SAFE_INTEGER, limit = DEFAULT_LIMIT, now } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIST_ROWS)
    throw fail('INVALID_VALUE', `limit must be a whole number from 1 to ${MAX_LIST_ROWS}.`);
  if (!Number.isSafeInteger(before) || before < 1) throw fail('INVALID_VALUE', 'before must be a page mark.');
  return context.store.read('operations.list', async (tx) => {
    const rows = await tx.all(exact(context.queries.listPage(open)), [principal.tenant, before, limit + 1]);
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    const operations = (await readAll(context, tx, page)).map((read) => viewOf(read, now));
    return { operations, next: last ? Number(last['operation_pk']) : null };
  });
}

/** Everything stored about one operation of a tenant. Throws OPERATION_NOT_FOUND as `showOperation` does. */
export async function storedOperation(
  context: OperationsContext,
  principal: Principal,
  statusRef: string,
): Promise<WholeOperation> {
  requireRecord('principal', principal);
  const whole = await readWhole(context, statusRef, principal.tenant);
  if (!whole) throw operationNotFound();
  return whole;
}

/** The operation of this scope, or null. */
export async function operationUnderKey(context: OperationsContext, scope: Scope): Promise<OperationRecord | null> {
  requireRecord('scope', scope);
  const { tenant, subject, tool, key } = scope;
  const row = await context.store.read('operations.key', (tx) =>
    readRow(tx, context.queries.byScope, [tenant, subject, tool, key]),
  );
  return row ? operationOf(row) : null;
}

/** One operation of a tenant. Throws OPERATION_NOT_FOUND where there is none, or it is another tenant's. */
export async function showOperation(
  context: OperationsContext,
  principal: Principal,
  statusRef: string,
  now: number,
): Promise<OperationView> {
  requireRecord('principal', principal);
  const asked = lookedFor(statusRef);
  const read = await context.store.read('operations.read', async (tx) => {
    const row = await tx.get(exact(context.queries.wholeOfTenant), [asked, principal.tenant]);
    if (row === undefined) throw operationNotFound();
    return readAll(context, tx, [row]);
  });
  return viewOf(read[0] as ReadOperation, now);
}
