import { unixSeconds } from '../core/index.ts';
import type { Filesystem } from '../effects/index.ts';
import type { ReservedOperation } from '../operations/index.ts';
import type { LedgerPlace } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { longestCallMs } from '../tools/index.ts';
import type { Invocation } from './attempt.ts';
import { begin, type Beginning, type Begun, KnownOperation, leaseSecondsFor, requestOfCall } from './begin.ts';
import { exactScope } from './call-scope.ts';
import { spanOfCall } from './call-span.ts';
import { classify, type Finding } from './classify.ts';
import type { CallsContext } from './context.ts';
import { notStarted, refusalOf } from './denials.ts';
import { type Ending, finish, type Found } from './finish.ts';
import { keyOfCall } from './identity.ts';
import type { CallAuthority, CallListener, CallPlace, PreparedCall } from './model.ts';
import { allHold, lookAfter, NO_LOOK } from './observe.ts';
import type { CallOutcome } from './outcome.ts';
import { refusalNow, refusedNow } from './prepare.ts';
import { readOutcome } from './read-outcome.ts';
import { rescue } from './rescue.ts';
import { attemptUntilAnswered, ofAllAttempts, type RetryTerms } from './retrying.ts';
import { askStatus } from './status.ts';
import { outcomeOfStored } from './settle.ts';

/** A call that may run now. */
export interface ReadyCall {
  readonly place: CallPlace;
  readonly groupId: string;
  readonly call: PreparedCall;
  /** The key that its host gave it: a second call under it is never begun. Without one the key is minted here. */
  readonly hostKey?: string;
  readonly authority: CallAuthority;
  readonly filesystem: Filesystem;
  /** Aborted when the run is stopped: what has started is then unknown until it is known. */
  readonly signal: AbortSignal;
  /** Where what has started may still answer after that: aborted when it is cancelled. Default: `signal`. */
  readonly underWay?: AbortSignal;
  readonly listener?: CallListener;
  /**
   * Written first in the transaction that begins a writing call, such as its proposal; undone with it when the call is
   * refused. Answers the `next` of the last line that it wrote in the call's group, where it knows that. What it throws
   * that is no error of ours is thrown on.
   */
  readonly opening?: (tx: Tx) => Promise<LedgerPlace | undefined>;
  /** Asked before each repetition of a writing call; false, or a throw: it is sent no more. */
  readonly mayRepeat?: () => Promise<boolean>;
}

export interface Executed {
  readonly outcome: CallOutcome;
  /** Whether its `result` stands on the action ledger already; else the caller writes it with its next commit. */
  readonly recorded: boolean;
  /** How often the tool was invoked again, as it declares. */
  readonly retries: number;
}

/**
 * Runs one call: a read without a commit, a write in exactly two. Never throws for what a tool does. Throws what the
 * store or broken records are guilty of before the tool was invoked; after that, an outcome that cannot be written
 * down is `unknown` (OUTCOME_NOT_DURABLE).
 */
export function executeCall(context: CallsContext, of: ReadyCall): Promise<Executed> {
  return spanOfCall(context, of, () => carryOut(context, of));
}

async function carryOut(context: CallsContext, of: ReadyCall): Promise<Executed> {
  if (of.signal.aborted) return early(notStarted('CALL_SKIPPED', 'The run was stopped before this call.'));
  const refusal = await refusalNow(context, of.call, of.place.principal);
  if (refusal) return early(refusedNow(refusal));
  return of.call.tool.effect === 'read' ? executeRead(context, of) : executeWrite(context, of);
}

const early = (outcome: CallOutcome): Executed => ({ outcome, recorded: false, retries: 0 });

function invocationOf(of: ReadyCall, key: string): Invocation {
  const { place, call, signal, underWay = signal, listener } = of;
  return {
    callId: call.callId,
    idempotencyKey: key,
    principal: place.principal,
    runId: place.runId,
    signal: underWay,
    timeoutMs: call.tool.timeoutMs,
    ...(call.pageUrl === null ? {} : { pageUrl: call.pageUrl }),
    onProgress: (update) => heard(() => listener?.onProgress?.(call.callId, update)),
  };
}

async function executeRead(context: CallsContext, of: ReadyCall): Promise<Executed> {
  const { tool, input } = of.call;
  const terms = retryTerms(context, of, async () => (await refusalNow(context, of.call, of.place.principal)) === null);
  const tried = await attemptUntilAnswered(tool, input, invocationOf(of, keyOfCall(of)), terms);
  return { outcome: await readOutcome(tool, input, tried), recorded: false, retries: tried.retries };
}

/** Whoever only listens has no say in a call that is under way, and takes its outcome from nobody by a throw. */
function heard(tell: () => void): void {
  try {
    tell();
  } catch {
    // The tool is not the one to be told.
  }
}

function retryTerms(context: CallsContext, of: ReadyCall, mayRepeat: () => Promise<boolean>): RetryTerms {
  const { callId, tool } = of.call;
  const onRetry = (retry: number, pauseMs: number): void =>
    heard(() => of.listener?.onCallRetry?.(callId, tool.name, retry, pauseMs));
  return { ids: context.sessions.ids, signal: of.signal, mayRepeat, onRetry };
}

/**
 * A writing call is sent again only while its lease runs, whoever asked may still do it, its approval holds, and nobody
 * has paused.
 */
async function maySendAgain(context: CallsContext, of: ReadyCall, begun: NewlyBegun): Promise<boolean> {
  if (context.clock.nowMs() >= begun.leaseUntilMs) return false;
  if (unixSeconds(context.clock) >= begun.operation.approval.expiresAt) return false;
  if (of.mayRepeat && !(await of.mayRepeat())) return false;
  if ((await refusalNow(context, of.call, of.place.principal)) !== null) return false;
  return (await context.store.read('calls.paused', (tx) => context.pausedBecause(tx))) === null;
}

type NewlyBegun = Extract<Begun, { kind: 'begun' }>;

async function executeWrite(context: CallsContext, of: ReadyCall): Promise<Executed> {
  const started = await start(context, of);
  if ('outcome' in started) return started;
  const { beginning, begun } = started;
  await context.faults.reach('intent-committed');
  if (begun.kind === 'known') return knownBefore(context, of, begun);
  await context.faults.reach('effect-about-to-send');
  const { tool, input } = of.call;
  const terms = retryTerms(context, of, () => maySendAgain(context, of, begun));
  const lease = { untilMs: begun.leaseUntilMs, clock: context.clock };
  const invocation = { ...invocationOf(of, beginning.request.scope.key), lease };
  const tried = await attemptUntilAnswered(tool, input, invocation, terms);
  await context.faults.reach('effect-sent');
  const { retries } = tried;
  const finding = ofAllAttempts(await classify(tool, input, tried.attempt), tried);
  const ending = endingOf(of, beginning, begun.operation, retries);
  return { outcome: await conclude(context, of, ending, beginning, finding), recorded: true, retries };
}

/** Everything that is worked out of a call before its first transaction. Throws `TOOL_INVALID` and the `RESOURCE_…` codes. */
export function beginningOf(of: ReadyCall): Beginning {
  return {
    ...of,
    scope: exactScope(of.call.tool, of.call.input, of.filesystem),
    request: requestOfCall(of),
    leaseSeconds: leaseSecondsFor(longestCallMs(of.call.tool)),
  };
}

async function start(
  context: CallsContext,
  of: ReadyCall,
): Promise<Executed | { readonly beginning: Beginning; readonly begun: Begun }> {
  try {
    const beginning = beginningOf(of);
    return { beginning, begun: await commitBeginning(context, beginning, of.opening) };
  } catch (error) {
    return early(refusalOf(error));
  }
}

async function commitBeginning(
  context: CallsContext,
  beginning: Beginning,
  opening: ReadyCall['opening'],
): Promise<Begun> {
  try {
    return await context.store.write('calls.begin', async (tx) => {
      const at = await opening?.(tx);
      return begin(tx, context, beginning, at);
    });
  } catch (error) {
    if (error instanceof KnownOperation) return { kind: 'known', operation: error.operation };
    throw error;
  }
}

/** The call was begun earlier, by this run or by one that was interrupted: its operation says what became of it. */
async function knownBefore(
  context: CallsContext,
  of: ReadyCall,
  begun: Extract<Begun, { kind: 'known' }>,
): Promise<Executed> {
  return early(await outcomeOfStored(context, of.place.principal, begun.operation.statusRef));
}

async function conclude(
  context: CallsContext,
  of: ReadyCall,
  ending: Ending,
  beginning: Beginning,
  finding: Finding,
): Promise<CallOutcome> {
  const asked =
    finding.found === 'unknown' ? await askStatus(ending, invocationOf(of, ending.request.scope.key)) : null;
  // A `not_happened` while the lease runs says nothing: the request may still be under way.
  if (asked?.found === 'done')
    return commitEnding(context, of, { ...ending, settledBy: 'status_query' }, beginning, asked);
  return commitEnding(context, of, ending, beginning, finding);
}

/** What the second transaction of a call needs. */
export function endingOf(of: ReadyCall, beginning: Beginning, reserved: ReservedOperation, retries: number): Ending {
  const { call, groupId, place } = of;
  return {
    principal: place.principal,
    statusRef: beginning.request.statusRef,
    reserved,
    effect: {
      run: { tenantId: place.principal.tenant, runId: place.runId },
      effectId: beginning.request.call.operationId,
    },
    request: beginning.request,
    tool: call.tool,
    input: call.input,
    result: {
      groupId,
      runId: place.runId,
      callId: call.callId,
      sideEffectClass: call.tool.effect,
      resourceKeys: call.resourceKeys,
      retries,
    },
    settledBy: null,
    // Whoever reserved it has made the first delivery, and can tell of no other.
    deliveries: 1,
  };
}

async function commitEnding(
  context: CallsContext,
  of: ReadyCall,
  ending: Ending,
  beginning: Beginning,
  finding: Finding,
): Promise<CallOutcome> {
  const { statusRef, request } = ending;
  const looked = { call: of.call, tenantId: of.place.principal.tenant, statusRef };
  const look =
    finding.found === 'done'
      ? await lookAfter(context, looked, beginning.scope, of.filesystem, invocationOf(of, request.scope.key))
      : NO_LOOK;
  const found: Found = { finding, ...look, verified: allHold(beginning.scope.obligations, look.seen) };
  await context.faults.reach('receipt-about-to-commit');
  try {
    const outcome = await context.store.write('calls.finish', (tx) => finish(tx, context, ending, found));
    await context.faults.reach('receipt-committed');
    return outcome;
  } catch (error) {
    return rescue(context, ending, finding, error);
  }
}
