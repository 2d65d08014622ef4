import {
  type CallOutcome,
  type CallPlace,
  type CallStanding,
  executeCall,
  type PreparedCall,
  resultEvent,
} from '../calls/index.ts';
import { fail, LIMITS } from '../core/index.ts';
import { appendEvent, type NewEvent } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { allEnded } from './all-ended.ts';
import { childOutcome, taskOf } from './child-call.ts';
import type { Driving, RunsContext } from './context.ts';
import { isStopAsked } from './run-store.ts';

/** What carrying out the calls of one reply came to. */
export type GroupEnd =
  /** A person has to decide, about a call of this reply or of a run below; nothing that waits was run. */
  | { readonly end: 'waiting'; readonly unwritten: readonly NewEvent[] }
  /** Every call has its outcome, and none is unknown. `unwritten` goes into the next commit. */
  | { readonly end: 'ended'; readonly unwritten: readonly NewEvent[] }
  /** A call's outcome is unknown: the calls behind it were not started. */
  | {
      readonly end: 'unknown';
      readonly outcome: Extract<CallOutcome, { state: 'unknown' }>;
      readonly unwritten: readonly NewEvent[];
    }
  /** The run was stopped; what had not started stays as it is. */
  | { readonly end: 'stopped'; readonly unwritten: readonly NewEvent[] };

export function placeOf({ run }: Pick<Driving, 'run'>): CallPlace {
  return { principal: run.principal, runId: run.runId, ...run.place };
}

type Ready = Extract<CallStanding, { state: 'ready' }>;

/**
 * Carries out the calls of one reply in the order of the reply. Neighbours whose tools allow it run side by side.
 * Nothing is run while one of them waits for a person, and nothing behind an unknown outcome.
 */
export async function carryOutGroup(
  context: RunsContext,
  driving: Driving,
  groupId: string,
  standings: readonly CallStanding[],
): Promise<GroupEnd> {
  if (standings.some((standing) => standing.state === 'waiting')) return { end: 'waiting', unwritten: [] };
  const unwritten: NewEvent[] = [];
  const ready = standings.filter((standing): standing is Ready => standing.state === 'ready');
  if (driving.agent.checkpoints === 'before_writes' && ready.some(({ call }) => call.tool.effect !== 'read'))
    await context.checkpoint?.(driving.run);
  for (const side of sideBySide(ready, driving)) {
    if (driving.signal.aborted) return { end: 'stopped', unwritten };
    const outcomes = await allEnded(side.map((one) => carryOutCall(context, driving, groupId, one)));
    for (const { event } of outcomes) if (event) unwritten.push(event);
    for (const { outcome } of outcomes) if (outcome?.state === 'unknown') return { end: 'unknown', outcome, unwritten };
    if (outcomes.some(({ outcome }) => outcome === null))
      return driving.signal.aborted ? { end: 'stopped', unwritten } : { end: 'waiting', unwritten };
  }
  return driving.signal.aborted ? { end: 'stopped', unwritten } : { end: 'ended', unwritten };
}

/** Cuts a list of calls into stretches that may run side by side; child runs only beside child runs. */
function sideBySide(ready: readonly Ready[], { agent }: Driving): Ready[][] {
  const isChild = ({ call }: Ready): boolean => agent.children.has(call.tool.name);
  const parallel = (one: Ready): boolean => (isChild(one) ? agent.childMode === 'parallel' : one.call.tool.parallel);
  const stretches: Ready[][] = [];
  for (const one of ready) {
    const last = stretches.at(-1);
    const first = last?.[0];
    const most = Math.min(LIMITS.runParallelCalls, isChild(one) ? agent.maxParallelChildren : LIMITS.runParallelCalls);
    const joins = first && isChild(first) === isChild(one) && parallel(first) && parallel(one);
    if (last && joins && last.length < most) last.push(one);
    else stretches.push([one]);
  }
  return stretches;
}

/** Null for a call that was not begun, or whose child run waits or is another process's: it has no outcome yet. */
type CarriedOut = { readonly outcome: CallOutcome | null; readonly event: NewEvent | null };
const NONE_YET: CarriedOut = { outcome: null, event: null };

async function carryOutCall(
  context: RunsContext,
  driving: Driving,
  groupId: string,
  { call, authority }: Ready,
): Promise<CarriedOut> {
  const { listener, signal, underWay } = driving;
  listener.onStarted?.(call.callId, call.tool.name);
  if (signal.aborted) return NONE_YET;
  const child = driving.agent.children.get(call.tool.name);
  if (child !== undefined) return carryOutChildCall(context, driving, groupId, call, child);
  const { filesystem } = context;
  const opening = async (tx: Tx): Promise<undefined> => {
    await refuseUnlessCarried(tx, driving);
    // Unwritten it can be begun by whoever resumes the run.
    signal.throwIfAborted();
  };
  const isStopped = () =>
    context.calls.store.read('runs.stop-asked', (tx) => isStopAsked(tx, driving.run.runId, driving.owner));
  const mayRepeat = async (): Promise<boolean> => !(await isStopped());
  const under = { filesystem, signal, underWay, listener, opening, mayRepeat };
  const ready = { place: placeOf(driving), groupId, call, authority, ...under };
  const executed = await executeCall(context.calls, ready).catch((error: unknown) => nullWhereHeld(signal, error));
  if (executed === null) return NONE_YET;
  const { outcome, recorded, retries } = executed;
  listener.onOutcome?.(call.callId, call.tool.name, outcome);
  return { outcome, event: recorded ? null : unwrittenResult(driving, groupId, call, outcome, retries) };
}

function nullWhereHeld(signal: AbortSignal, error: unknown): null {
  if (signal.aborted && error === signal.reason) return null;
  throw error;
}

/**
 * In the transaction that begins a write: none begins once a stop of its run is committed, or once the run is carried
 * out by another process. CALL_SKIPPED, RUN_NOT_OWNED.
 */
async function refuseUnlessCarried(tx: Tx, { run, owner, stopNow }: Driving): Promise<void> {
  if (!(await isStopAsked(tx, run.runId, owner))) return;
  stopNow();
  throw fail('CALL_SKIPPED', 'The run was stopped before this call.', { resolve: `holdfast runs resume ${run.runId}` });
}

async function carryOutChildCall(
  context: RunsContext,
  driving: Driving,
  groupId: string,
  call: PreparedCall,
  agent: string,
): Promise<CarriedOut> {
  const outcome = await childOutcome(context, driving, { groupId, callId: call.callId, agent, task: taskOf(call) });
  if (outcome === null) return NONE_YET;
  driving.listener.onOutcome?.(call.callId, call.tool.name, outcome);
  return { outcome, event: unwrittenResult(driving, groupId, call, outcome) };
}

function unwrittenResult(
  driving: Driving,
  groupId: string,
  call: PreparedCall,
  outcome: CallOutcome,
  retries = 0,
): NewEvent {
  const { callId, tool, resourceKeys } = call;
  const statusRef = outcome.state === 'unknown' ? outcome.statusRef : null;
  const of = {
    groupId,
    runId: driving.run.runId,
    callId,
    sideEffectClass: tool.effect,
    resourceKeys,
    statusRef,
    retries,
  };
  return resultEvent(of, outcome);
}

/** Writes results that had no commit of their own. */
export async function writeResults(
  tx: Tx,
  context: RunsContext,
  driving: Pick<Driving, 'run'>,
  events: readonly NewEvent[],
): Promise<void> {
  for (const event of events) await appendEvent(tx, context.calls.sessions, driving.run.principal, event);
}
