import { rulesFor } from '../approvals/index.ts';
import { HoldfastError, unixSeconds } from '../core/index.ts';
import type { Filesystem } from '../effects/index.ts';
import type { Lease } from '../operations/index.ts';
import { appendEvent, type Principal, requireGroup, requireSession } from '../sessions/index.ts';
import { attemptExecute, type Invocation } from './attempt.ts';
import { exactScope, type ExactScope } from './call-scope.ts';
import { spanOfCall } from './call-span.ts';
import { classify, type Finding } from './classify.ts';
import type { CallsContext } from './context.ts';
import { leaseSecondsFor } from './begin.ts';
import { judge } from './gate.ts';
import { type Ending, finish, type Found, unknownOutcome } from './finish.ts';
import { allHold, lookAfter, lookLater, NO_LOOK } from './observe.ts';
import type { CallOutcome } from './outcome.ts';
import { currentRefusal, type Refusal, refusalNow } from './prepare.ts';
import { rescue } from './rescue.ts';
import { resultEvent, type ResultOf } from './result-event.ts';
import {
  deliveriesOf,
  endingOf,
  invocationOf,
  isFinalNotHappened,
  lookedAt,
  NOT_YET,
  outcomeOfStored,
  settleFound,
} from './settle.ts';
import { ledgerCalls } from './standing.ts';
import { askStatus } from './status.ts';
import type { ReadTx } from '../store/index.ts';
import type { ToolPrincipal } from '../tools/index.ts';
import { loadStored, type StoredCall } from './stored.ts';
import { isSealed, tellLate } from './tell-late.ts';

export interface Recovery {
  readonly filesystem: Filesystem;
  readonly signal: AbortSignal;
  /** Whether a call may be delivered again where its tool allows it. Never at the opening of a runtime. */
  readonly redeliver: boolean;
  /** Whose call it is, with the roles it has now. Default: the stored subject, with what is left of the roles of `principal`. */
  readonly requester?: ToolPrincipal;
  /** Asked in the transaction that begins a delivery: false where whoever wanted it may want it no more. */
  readonly isWanted?: (tx: ReadTx) => Promise<boolean>;
}

/** What recovery found out. `recorded`: the ledger's newest `result` of the call already says so. */
export interface Recovered {
  readonly outcome: CallOutcome;
  readonly recorded: boolean;
  /** Why it was not delivered again, where the tool's own rules refused it. */
  readonly refusal?: Refusal;
}

/**
 * Moves an interrupted call as far as it is safe to move it. What is stored comes first; then the tool is asked, where
 * it can be; then it is delivered again under the same key, where its `effect` allows that: an `idempotent` one once
 * the lease is over, a `reconcilable` one only when it is final that it did not happen, and neither once its approval
 * has expired. Everything else stays unknown.
 */
export async function recoverCall(
  context: CallsContext,
  principal: Principal,
  statusRef: string,
  recovery: Recovery,
): Promise<Recovered> {
  const known = await outcomeOfStored(context, principal, statusRef);
  if (known.state !== 'unknown') return { outcome: known, recorded: false };
  const stored = await loadStored(context, principal, statusRef);
  const invocation = invocationFor(principal, stored, recovery);
  const askedAt = unixSeconds(context.clock);
  const asked = await askStatus(stored.call, invocation);
  if (asked?.found === 'done') {
    const looked = await lookLater(context, lookedAt(principal, stored), recovery.filesystem, invocation);
    return settleFound(context, endingOf(principal, stored), { finding: asked, ...looked });
  }
  const isFinal = asked?.found === 'not_done' && isFinalNotHappened(stored, askedAt);
  const mayRepeat = recovery.redeliver && deliverable(stored, isFinal, unixSeconds(context.clock));
  if (mayRepeat) {
    const of = { call: stored.call, place: null, statusRef };
    return spanOfCall(context, of, () => redeliver(context, principal, stored, recovery));
  }
  if (isFinal)
    return settleFound(context, endingOf(principal, stored), { finding: asked, ...NO_LOOK, verified: false });
  return recovery.redeliver
    ? still(stored, whyNotSent(stored, asked, unixSeconds(context.clock)))
    : { outcome: known, recorded: false };
}

/** Why a call was not delivered again, for whoever wanted that. */
function whyNotSent(stored: StoredCall, asked: Finding | null, now: number): string {
  if (asked?.found === 'unknown') return asked.reason;
  if (asked?.found === 'not_done') return isHeld(stored, now) ? HELD : NOT_YET;
  if (stored.call.tool.effect === 'once')
    return 'It was not delivered again: its tool is one that can be neither repeated nor asked.';
  return isHeld(stored, now) ? HELD : 'It was not delivered again: its approval has expired.';
}

const HELD = 'It was not delivered again: the lease of the delivery before is not over.';

function invocationFor(principal: Principal, stored: StoredCall, { requester, signal }: Recovery): Invocation {
  const invocation = invocationOf(principal, stored);
  return { ...invocation, principal: requester ?? invocation.principal, signal };
}

function isHeld(stored: StoredCall, now: number): boolean {
  const until = stored.whole.outbox?.leaseUntil ?? null;
  return until !== null && until > now;
}

/** `isFinal`: the other side was asked, and it is final that the call did not happen. */
function deliverable(stored: StoredCall, isFinal: boolean, now: number): boolean {
  const { effect } = stored.call.tool;
  if (isHeld(stored, now) || now >= stored.whole.operation.approvalExpiresAt) return false;
  return effect === 'idempotent' || (effect === 'reconcilable' && isFinal);
}

async function redeliver(
  context: CallsContext,
  principal: Principal,
  stored: StoredCall,
  recovery: Recovery,
): Promise<Recovered> {
  const { call, groupId } = stored;
  // A delivery begins with a line of its group: one that is sealed takes none.
  if (await context.store.read('calls.sealed', (tx) => isSealed(tx, principal, groupId)))
    return still(stored, 'It was not delivered again: the repair that it was made for has ended.');
  const invocation = invocationFor(principal, stored, recovery);
  const { requester } = recovery;
  const had = { ...principal, subject: stored.whole.operation.scope.subject };
  const refusal = await (requester ? currentRefusal(call, requester) : refusalNow(context, call, had));
  if (refusal) return { ...still(stored, `It was not delivered again: ${refusal.reason}`), refusal };
  // Before the lease: a delivery that cannot be made is none, and keeps nobody else from the call.
  const scope = scopeOf(stored, recovery.filesystem);
  if (typeof scope === 'string') return still(stored, `It was not delivered again: ${scope}`);
  const held = await context.store.write('calls.lease', (tx) => lease(tx, context, principal, stored, recovery));
  if (typeof held === 'string') return notLeased(context, principal, stored, held);
  await context.faults.reach('outbox-claimed');
  const right = { untilMs: held.until * 1000, clock: context.clock };
  const attempt = await attemptExecute(call.tool, call.input, { ...invocation, lease: right });
  // Whoever leased it since may be delivering it: that this process has not is no verdict.
  if (attempt.ended === 'not_sent') return notLeased(context, principal, stored, attempt.reason);
  const finding = ofAllDeliveries(stored, await classify(call.tool, call.input, attempt));
  return conclude(context, principal, stored, { finding, scope, recovery, invocation, delivery: held.attemptCount });
}

/** The exact resources that it would touch now, or why they cannot be named. */
function scopeOf({ call }: StoredCall, filesystem: Filesystem): ExactScope | string {
  try {
    return exactScope(call.tool, call.input, filesystem);
  } catch (error) {
    if (error instanceof HoldfastError) return error.message;
    throw error;
  }
}

/** Whoever has it, or was first, may have settled it by now. */
async function notLeased(
  context: CallsContext,
  principal: Principal,
  stored: StoredCall,
  why: string,
): Promise<Recovered> {
  const outcome = await outcomeOfStored(context, principal, stored.statusRef);
  if (outcome.state !== 'unknown') return { outcome, recorded: false };
  return still(stored, why);
}

/**
 * What a repeated delivery says about the call. That it did nothing itself says nothing about the delivery before it:
 * only a tool that was asked first, and said finally that it did not happen, is known not to have done it.
 */
function ofAllDeliveries(stored: StoredCall, finding: Finding): Finding {
  if (finding.found !== 'not_done' || stored.call.tool.effect === 'reconcilable') return finding;
  const reason = `It was delivered again, and that did nothing (${finding.reason}); what was sent before may have.`;
  return { found: 'unknown', code: 'OUTCOME_UNKNOWN', reason };
}

const NOT_LEASED =
  'It was not delivered again: writes are paused, its approval has expired, or another worker has, or had, it.';

/**
 * Takes the lease for one delivery more than what was read, and was asked about, knows of. The reason where the call may
 * not, or need not, be delivered again by now.
 */
async function lease(
  tx: Parameters<CallsContext['operations']['lease']>[0],
  context: CallsContext,
  principal: Principal,
  stored: StoredCall,
  { isWanted }: Recovery,
): Promise<Lease | string> {
  const { statusRef, call, groupId } = stored;
  const now = unixSeconds(context.clock);
  if ((await context.pausedBecause(tx)) !== null || now >= stored.whole.operation.approvalExpiresAt) return NOT_LEASED;
  if (isWanted && !(await isWanted(tx))) return 'It was not delivered again: its run was stopped.';
  const denied = await deniedByRule(tx, context, principal, stored);
  if (denied !== null) return `It was not delivered again: ${denied}`;
  const seconds = leaseSecondsFor(call.tool.timeoutMs);
  const terms = { workerId: context.workerId, now, seconds, afterDeliveries: deliveriesOf(stored) };
  const answer = await context.operations.lease(tx, statusRef, terms);
  if (answer.kind !== 'leased') return NOT_LEASED;
  await appendEvent(tx, context.sessions, principal, {
    groupId,
    type: 'started',
    actionId: call.callId,
    toolCallId: call.callId,
    result: { status_ref: statusRef, attempt: answer.lease.attemptCount },
    sideEffectClass: call.tool.effect,
    resourceKeys: call.resourceKeys,
  });
  return answer.lease;
}

/** What a rule that denies the call by now says, whoever approved it; null where none does. */
async function deniedByRule(
  tx: ReadTx,
  context: CallsContext,
  principal: Principal,
  { call, groupId }: StoredCall,
): Promise<string | null> {
  const { rootFrameId } = await requireGroup(tx, principal, groupId);
  const { projectId } = await requireSession(tx, principal, rootFrameId);
  const rules = (await rulesFor(tx, principal, { projectId, rootFrameId })).filter(
    ({ decision }) => decision === 'deny',
  );
  if (rules.length === 0) return null;
  const verdict = judge(context, { principal }, call, rules, {});
  return verdict.decision === 'deny' ? `Denied by ${verdict.by}: ${verdict.reason}` : null;
}

function still({ statusRef, call: { tool } }: StoredCall, reason: string): Recovered {
  return { outcome: unknownOutcome({ statusRef, tool }, 'OUTCOME_UNKNOWN', reason), recorded: false };
}

interface Delivered {
  readonly finding: Finding;
  readonly scope: ExactScope;
  readonly recovery: Recovery;
  readonly invocation: Invocation;
  /** Which delivery of the call it was. */
  readonly delivery: number;
}

async function conclude(
  context: CallsContext,
  principal: Principal,
  stored: StoredCall,
  { finding, scope, recovery, invocation, delivery }: Delivered,
): Promise<Recovered> {
  const look =
    finding.found === 'done'
      ? await lookAfter(context, lookedAt(principal, stored), scope, recovery.filesystem, invocation)
      : NO_LOOK;
  const found: Found = { finding, ...look, verified: allHold(scope.obligations, look.seen) };
  const ending: Ending = { ...endingOf(principal, stored), settledBy: null, deliveries: delivery };
  try {
    const outcome = await context.store.write('calls.finish', (tx) => finish(tx, context, ending, found, tellLate));
    return { outcome, recorded: true };
  } catch (error) {
    return { outcome: await rescue(context, ending, finding, error), recorded: false };
  }
}

/** Whether the ledger has what became of a call: that is told once, by whoever wrote it down first. */
async function isTold(tx: ReadTx, principal: Principal, { groupId, callId }: ResultOf): Promise<boolean> {
  const call = (await ledgerCalls(tx, principal, groupId)).find((one) => one.callId === callId);
  return call?.outcome !== null && call?.outcome !== undefined && call.outcome.state !== 'unknown';
}

/**
 * Writes the `result` of a recovered call whose ledger does not say it yet, and answers the outcome that stands: what
 * was unknown to whoever asks may have been settled elsewhere meanwhile, and then that is written.
 */
export async function recordRecovered(
  context: CallsContext,
  principal: Principal,
  of: ResultOf,
  outcome: CallOutcome,
): Promise<CallOutcome> {
  const { statusRef } = of;
  const written = await context.store.write('calls.result', async (tx) => {
    if (outcome.state === 'unknown' && statusRef !== null && (await context.operations.isOver(tx, statusRef)))
      return false;
    if (!(await isTold(tx, principal, of))) await tellLate(tx, context.sessions, principal, resultEvent(of, outcome));
    return true;
  });
  if (written || statusRef === null) return outcome;
  return recordRecovered(context, principal, of, await outcomeOfStored(context, principal, statusRef));
}
