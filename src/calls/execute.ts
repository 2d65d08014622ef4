import type { Filesystem } from '../effects/index.ts';
import type { ReservedOperation } from '../operations/index.ts';
import type { Tx } from '../store/index.ts';
import { attemptExecute, type Invocation } from './attempt.ts';
import { begin, type Beginning, type Begun, KnownOperation, leaseSecondsFor, requestOfCall } from './begin.ts';
import { exactScope } from './call-scope.ts';
import { spanOfCall } from './call-span.ts';
import { classify, type Finding } from './classify.ts';
import type { CallsContext } from './context.ts';
import { notStarted, refusalOf } from './denials.ts';
import { type Ending, finish, type Found } from './finish.ts';
import { effectIdOf, keyOfCall } from './identity.ts';
import type { CallAuthority, CallListener, CallPlace, PreparedCall } from './model.ts';
import { allHold, lookAfter } from './observe.ts';
import type { CallOutcome } from './outcome.ts';
import { currentRefusal, refusedNow } from './prepare.ts';
import { readOutcome } from './read-outcome.ts';
import { rescue } from './rescue.ts';
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
  readonly listener?: CallListener;
  /**
   * Written first in the transaction that begins a writing call, such as its proposal; undone with it when the call is
   * refused. What it throws that is no error of ours is thrown on.
   */
  readonly opening?: (tx: Tx) => Promise<void>;
}

export interface Executed {
  readonly outcome: CallOutcome;
  /** Whether its `result` stands on the action ledger already; else the caller writes it with its next commit. */
  readonly recorded: boolean;
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
  const refusal = await currentRefusal(of.call, of.place.principal);
  if (refusal) return early(refusedNow(refusal));
  return of.call.tool.effect === 'read' ? early(await executeRead(of)) : executeWrite(context, of);
}

const early = (outcome: CallOutcome): Executed => ({ outcome, recorded: false });

function invocationOf(of: ReadyCall): Invocation {
  const { place, call, signal, listener } = of;
  return {
    callId: call.callId,
    idempotencyKey: keyOfCall(of),
    principal: place.principal,
    runId: place.runId,
    signal,
    timeoutMs: call.tool.timeoutMs,
    ...(call.pageUrl === null ? {} : { pageUrl: call.pageUrl }),
    onProgress: (update) => listener?.onProgress?.(call.callId, update),
  };
}

async function executeRead(of: ReadyCall): Promise<CallOutcome> {
  const { tool, input } = of.call;
  return readOutcome(tool, input, await attemptExecute(tool, input, invocationOf(of)));
}

async function executeWrite(context: CallsContext, of: ReadyCall): Promise<Executed> {
  const started = await start(context, of);
  if ('outcome' in started) return started;
  const { beginning, begun } = started;
  await context.faults.reach('intent-committed');
  if (begun.kind === 'known') return knownBefore(context, of, begun);
  await context.faults.reach('effect-about-to-send');
  const attempt = await attemptExecute(of.call.tool, of.call.input, invocationOf(of));
  await context.faults.reach('effect-sent');
  const finding = await classify(of.call.tool, of.call.input, attempt);
  return { outcome: await conclude(context, of, beginning, begun.operation, finding), recorded: true };
}

async function start(
  context: CallsContext,
  of: ReadyCall,
): Promise<Executed | { readonly beginning: Beginning; readonly begun: Begun }> {
  try {
    const beginning: Beginning = {
      ...of,
      scope: exactScope(of.call.tool, of.call.input, of.filesystem),
      request: requestOfCall(of),
      leaseSeconds: leaseSecondsFor(of.call.tool.timeoutMs),
    };
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
      await opening?.(tx);
      return begin(tx, context, beginning);
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
  beginning: Beginning,
  reserved: ReservedOperation,
  finding: Finding,
): Promise<CallOutcome> {
  const ending = endingOf(of, beginning, reserved);
  const asked = finding.found === 'unknown' ? await askStatus(ending, invocationOf(of)) : null;
  // A `not_happened` while the lease runs says nothing: the request may still be under way.
  if (asked?.found === 'done')
    return commitEnding(context, of, { ...ending, settledBy: 'status_query' }, beginning, asked);
  return commitEnding(context, of, ending, beginning, finding);
}

function endingOf(of: ReadyCall, beginning: Beginning, reserved: ReservedOperation): Ending {
  const { call, groupId, place } = of;
  return {
    principal: place.principal,
    statusRef: beginning.request.statusRef,
    reserved,
    effect: {
      run: { tenantId: place.principal.tenant, runId: place.runId },
      effectId: effectIdOf(place, groupId, call.callId),
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
    },
    settledBy: null,
  };
}

async function commitEnding(
  context: CallsContext,
  of: ReadyCall,
  ending: Ending,
  beginning: Beginning,
  finding: Finding,
): Promise<CallOutcome> {
  const seen =
    finding.found === 'done' ? await lookAfter(of.call, beginning.scope, of.filesystem, invocationOf(of)) : [];
  const found: Found = { finding, seen, verified: allHold(beginning.scope.obligations, seen) };
  await context.faults.reach('receipt-about-to-commit');
  try {
    const outcome = await context.store.write('calls.finish', (tx) => finish(tx, context, ending, found));
    await context.faults.reach('receipt-committed');
    return outcome;
  } catch (error) {
    return rescue(context, ending, finding, error);
  }
}
