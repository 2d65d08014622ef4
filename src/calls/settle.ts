import type { Filesystem } from '../effects/index.ts';
import { fail, HoldfastError, JSON_PROFILES, readCanonicalJson, unixSeconds } from '../core/index.ts';
import {
  knownOutcome,
  Principal as OperationPrincipal,
  proveStored,
  type VerdictKind,
  type WholeOperation,
} from '../operations/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { Invocation } from './attempt.ts';
import type { CallsContext } from './context.ts';
import type { Finding } from './classify.ts';
import { type Ending, finish, type Found, keepReceipts, NotRecorded, settleEffects, unknownOutcome } from './finish.ts';
import { lookLater, NO_LOOK } from './observe.ts';
import type { CallOutcome } from './outcome.ts';
import { resultEvent, type ResultOf } from './result-event.ts';
import { isSentAgain, settlingCommand, verdictCommand } from './settling-command.ts';
import { ledgerCalls } from './standing.ts';
import { askStatus } from './status.ts';
import { loadStored, type StoredCall } from './stored.ts';
import { tellLate } from './tell-late.ts';

/** What is needed to read what is stored; with the tools that are known here it says better what settles it. */
export type StoredContext = Pick<CallsContext, 'operations' | 'clock'> & Partial<Pick<CallsContext, 'tools'>>;

/**
 * What an operation's own records say became of it, proved by each other, and nothing else: its tool need not be known
 * here. Asks nobody and writes nothing. Throws OPERATION_NOT_FOUND, OPERATION_RECORD_BROKEN.
 */
export async function outcomeOfStored(
  context: StoredContext,
  principal: Principal,
  statusRef: string,
): Promise<CallOutcome> {
  return outcomeOfWhole(context, await provedRecord(context, principal, statusRef));
}

/** An operation's record, proved from itself: nothing else is looked for by what it names. */
async function provedRecord(
  { operations }: Pick<CallsContext, 'operations'>,
  { tenant, subject }: Principal,
  statusRef: string,
): Promise<WholeOperation> {
  const whole = await operations.stored(new OperationPrincipal(tenant, subject), statusRef);
  proveStored(whole, statusRef);
  return whole;
}

function outcomeOfWhole({ clock, tools }: StoredContext, { operation, outbox, local }: WholeOperation): CallOutcome {
  const { statusRef, verdict, scope, revisions } = operation;
  const unknown = (reason: string): CallOutcome =>
    unknownOutcome({ statusRef, tool: tools?.revision(scope.tool, revisions) ?? null }, 'OUTCOME_UNKNOWN', reason);
  const receipt = local;
  switch (knownOutcome(operation, outbox, unixSeconds(clock))) {
    case 'done':
      return {
        state: 'done',
        output: receipt ? readCanonicalJson(receipt.resultJson, JSON_PROFILES.operations) : null,
        verified: false,
        settledBy: verdict ? verdictSource(verdict.source) : 'receipt',
      };
    case 'not_done':
      return {
        state: 'not_done',
        code: 'TOOL_NOT_DONE',
        reason: verdict?.reason ?? 'It did not happen.',
        settledBy: verdict ? verdictSource(verdict.source) : null,
      };
    case 'not_tried':
      return unknown('It was accepted; whether anybody tried is not known.');
    case 'in_progress':
      return unknown('A worker may be carrying it out right now.');
    case 'unknown':
      return unknown('It was interrupted before its answer was written down.');
  }
}

const verdictSource = (source: 'status_query' | 'person' | 'tool') => (source === 'tool' ? null : source);

export function endingOf(principal: Principal, stored: StoredCall): Ending {
  const { statusRef, request, call, groupId } = stored;
  return {
    principal,
    statusRef,
    request,
    tool: call.tool,
    input: call.input,
    result: {
      groupId,
      runId: null,
      callId: call.callId,
      sideEffectClass: call.tool.effect,
      resourceKeys: call.resourceKeys,
    },
    settledBy: 'status_query',
    deliveries: deliveriesOf(stored),
  };
}

/** How often a stored operation had been delivered when it was read. */
export const deliveriesOf = ({ whole }: StoredCall): number => whole.outbox?.attempts ?? 0;

/** What is looked at of a stored call. */
export const lookedAt = ({ tenant: tenantId }: Principal, { call, statusRef }: StoredCall) => ({
  call,
  tenantId,
  statusRef,
});

export function invocationOf(principal: Principal, stored: StoredCall): Invocation {
  return {
    callId: stored.call.callId,
    idempotencyKey: stored.whole.operation.scope.key,
    principal: { ...principal, subject: stored.whole.operation.scope.subject },
    runId: null,
    signal: new AbortController().signal,
    timeoutMs: stored.call.tool.timeoutMs,
  };
}

/** Told of a call that the other side knows nothing of while something under way could still reach it. */
export const NOT_YET = 'It has not happened yet; a request under way could still make it happen.';

/**
 * Asks the other side what became of an operation, through its tool's `status`, and writes down what that settles:
 * receipts and operation, effect and what is seen of it now, `result` on the ledger. `not_happened` is final only `settlesWithinMs` after the
 * lease ended. Answers the outcome as it is known afterwards. Throws OPERATION_NOT_FOUND, TOOL_UNKNOWN, TOOL_NOT_ASKABLE.
 */
export async function settleByStatus(
  context: CallsContext,
  principal: Principal,
  statusRef: string,
  filesystem: Filesystem,
): Promise<CallOutcome> {
  const known = await outcomeOfStored(context, principal, statusRef);
  if (known.state !== 'unknown') return known;
  const stored = await loadStored(context, principal, statusRef);
  if (!stored.call.tool.status)
    throw fail('TOOL_NOT_ASKABLE', `The tool ${stored.call.tool.name} cannot be asked what happened.`, {
      resolve: isSentAgain(stored.call.tool)
        ? `Have it sent again under its key, which its other side honours: ${settlingCommand(statusRef, stored.call.tool)}`
        : `Find out yourself, then say so: ${verdictCommand(statusRef)}`,
    });
  const invocation = invocationOf(principal, stored);
  const askedAt = unixSeconds(context.clock);
  const finding = await askStatus(stored.call, invocation);
  if (!finding || finding.found === 'unknown') {
    const later = await outcomeOfStored(context, principal, statusRef);
    return later.state === 'unknown' && finding ? { ...later, reason: finding.reason } : later;
  }
  if (finding.found === 'not_done' && !isFinalNotHappened(stored, askedAt)) return { ...known, reason: NOT_YET };
  const looked =
    finding.found === 'done'
      ? await lookLater(context, lookedAt(principal, stored), filesystem, invocation)
      : { ...NO_LOOK, verified: false };
  const found: Found = { finding, ...looked };
  return (await settleFound(context, endingOf(principal, stored), found)).outcome;
}

/** Writes down what was found out, or answers what somebody else wrote down first; `recorded` is false for that. */
export async function settleFound(
  context: CallsContext,
  ending: Ending,
  found: Found,
): Promise<{ readonly outcome: CallOutcome; readonly recorded: boolean }> {
  try {
    const outcome = await context.store.write('calls.settle', (tx) => finish(tx, context, ending, found, tellLate));
    return { outcome, recorded: true };
  } catch (error) {
    const outcome = await outcomeOfOvertaken(context, ending, found.finding, error);
    if (outcome === null) throw error;
    return { outcome, recorded: false };
  }
}

/** What a verdict is refused with where somebody else was first, or has the call in hand. */
const OVERTAKEN = new Set<string>(['OPERATION_SETTLED', 'OPERATION_SUCCEEDED', 'OPERATION_LEASE_RUNNING']);

/**
 * What is known of a call that somebody else settled, finished or took up while this process asked or delivered: what is
 * stored stands, and a receipt that this process has is kept beside a verdict. Null where the error is any other one.
 */
export async function outcomeOfOvertaken(
  context: CallsContext,
  ending: Ending,
  finding: Finding,
  error: unknown,
): Promise<CallOutcome | null> {
  const overtaken =
    error instanceof NotRecorded
      ? error.why !== 'no_receipt'
      : error instanceof HoldfastError && OVERTAKEN.has(error.code);
  if (!overtaken) return null;
  if (finding.found === 'done')
    await context.store.write('calls.receipts', (tx) => keepReceipts(tx, context, ending, finding.text));
  return outcomeOfStored(context, ending.principal, ending.statusRef);
}

/**
 * `not_happened` is final only when nothing under way could still take effect at the second `askedAt`, when the question
 * was put: what happened while the answer was on its way is not in it.
 */
export function isFinalNotHappened(stored: StoredCall, askedAt: number): boolean {
  const until = stored.whole.outbox?.leaseUntil ?? null;
  return until !== null && askedAt >= until + Math.ceil(stored.call.tool.settlesWithinMs / 1000);
}

/**
 * Records a person's verdict on a call whose outcome is unknown, with everything that hangs on it. Final. Its tool need
 * not be known here: what the call was stands on the ledger. Throws OPERATION_NOT_FOUND, OPERATION_SUCCEEDED, OPERATION_SETTLED, OPERATION_LEASE_RUNNING.
 */
export async function settleByPerson(
  context: CallsContext,
  principal: Principal,
  statusRef: string,
  said: { readonly verdict: VerdictKind; readonly reason: string },
): Promise<CallOutcome> {
  const of = await ledgerResultOfStored(context, principal, statusRef);
  const outcome: CallOutcome =
    said.verdict === 'done'
      ? { state: 'done', output: null, verified: false, settledBy: 'person' }
      : { state: 'not_done', code: 'TOOL_NOT_DONE', reason: said.reason, settledBy: 'person' };
  await context.store.write('calls.verdict', async (tx) => {
    const decidedAt = unixSeconds(context.clock);
    const verdict = { ...said, source: 'person', decidedBy: principal.subject, decidedAt } as const;
    await context.operations.settle(tx, statusRef, principal.tenant, verdict);
    const end =
      said.verdict === 'done'
        ? ({ execution: 'reported_success', impact: 'possible' } as const)
        : ({ execution: 'not_executed', impact: 'none' } as const);
    await settleEffects(tx, { principal, statusRef }, end);
    await tellLate(tx, context.sessions, principal, resultEvent(of, outcome));
  });
  return outcome;
}

/** The call of an operation as its `result` names it, from its ledger lines. Throws OPERATION_NOT_FOUND. */
export async function ledgerResultOfStored(
  context: CallsContext,
  principal: Principal,
  statusRef: string,
): Promise<ResultOf> {
  const { operation } = await provedRecord(context, principal, statusRef);
  const { callId, responseId: groupId } = operation.first;
  const calls = await context.store.read('calls.of-operation', (tx) => ledgerCalls(tx, principal, groupId));
  const call = calls.find((one) => one.callId === callId);
  if (!call) throw fail('OPERATION_RECORD_BROKEN', 'The call of the operation is not on the ledger.');
  const { sideEffectClass, resourceKeys } = call;
  return { groupId, runId: null, callId, sideEffectClass, resourceKeys, statusRef };
}
