import {
  type CallStanding,
  ledgerResultOf,
  outcomeOfResult,
  recordRecovered,
  recoverCall,
  rejudge,
  resultEvent,
  standNow,
} from '../calls/index.ts';
import { HoldfastError } from '../core/index.ts';
import type { NewEvent } from '../sessions/index.ts';
import type { Driving, RunsContext } from './context.ts';
import { carryOutGroup, type GroupEnd, placeOf, writeResults } from './group.ts';
import { branchGroups, type GroupWithCalls, messagesOf } from './history.ts';
import type { RunEnd } from './run-store.ts';
import { moveRun } from './run-store.ts';
import { askModel, commitReply, termsOf } from './turn.ts';

/**
 * Carries a run of this process on until it waits, ends, or is stopped, and answers how it then stands. The ledger is
 * the only memory: whatever was written down is not done, and not asked of the model, again. A failure of the model or
 * an unknown outcome ends it as `failed`; errors of the store are thrown, and leave it to be resumed.
 */
export async function drive(context: RunsContext, driving: Driving): Promise<void> {
  let end = await carryOnLastGroup(context, driving);
  for (;;) {
    if (end.end !== 'ended') return stand(context, driving, end);
    if (driving.signal.aborted) return stand(context, driving, { end: 'stopped', unwritten: end.unwritten });
    const next = await nextReply(context, driving, end.unwritten);
    if (next === null) return;
    end = next;
  }
}

/** Asks for one reply, writes it down, carries out its calls; null when the run has ended with it. */
async function nextReply(
  context: RunsContext,
  driving: Driving,
  unwritten: readonly NewEvent[],
): Promise<GroupEnd | null> {
  const { run, agent } = driving;
  const groups = await readGroups(context, driving, unwritten);
  const replies = groups.filter(({ group }) => group.turnId === run.place.turnId && group.kind !== 'user').length;
  if (replies >= agent.maxTurns) {
    await fail(context, driving, 'RUN_TURNS_USED_UP', `The run has used its ${agent.maxTurns} model turns.`, unwritten);
    return null;
  }
  try {
    const reply = await askModel(context, driving, messagesOf(agent.instructions, groups));
    const proposed = await commitReply(context, driving, reply, unwritten);
    for (const standing of proposed.standings) driving.listener.onProposed?.(standing);
    if (reply.calls.length === 0) return null;
    return await carryOutGroup(context, driving, proposed.groupId, proposed.standings);
  } catch (error) {
    if (!(error instanceof HoldfastError) || !MODEL_FAILURES.has(error.code)) throw error;
    if (driving.signal.aborted) await stand(context, driving, { end: 'stopped', unwritten });
    else await fail(context, driving, error.code, error.message, unwritten);
    return null;
  }
}

const MODEL_FAILURES: ReadonlySet<string> = new Set([
  'MODEL_FAILED',
  'MODEL_STOPPED',
  'MODEL_REPLY_INVALID',
  'MODEL_REPLY_TOO_LARGE',
  'TRANSCRIPT_ENDED',
  'TRANSCRIPT_MISMATCH',
]);

/** The branch as the ledger tells it, with results that are known but not yet committed. */
async function readGroups(
  context: RunsContext,
  { run }: Driving,
  unwritten: readonly NewEvent[],
): Promise<readonly GroupWithCalls[]> {
  const { rootFrameId, branchId } = run.place;
  const groups = await context.calls.store.read('runs.history', (tx) =>
    branchGroups(tx, run.principal, rootFrameId, branchId),
  );
  return unwritten.length === 0 ? groups : groups.map((one) => withResults(one, unwritten));
}

function withResults({ group, calls }: GroupWithCalls, events: readonly NewEvent[]): GroupWithCalls {
  const own = events.filter((event) => event.groupId === group.groupId);
  if (own.length === 0) return { group, calls };
  const known = calls.map((call) => {
    const event = own.find((one) => one.toolCallId === call.callId);
    return event ? { ...call, outcome: outcomeOf(event) ?? call.outcome } : call;
  });
  return { group, calls: known };
}

const outcomeOf = (event: NewEvent) => outcomeOfResult(event.result ?? null);

/** Takes up the newest reply of the run where it was left: nothing that has an outcome is touched. */
async function carryOnLastGroup(context: RunsContext, driving: Driving): Promise<GroupEnd> {
  const groups = await readGroups(context, driving, []);
  const last = groups.findLast(({ group }) => group.turnId === driving.run.place.turnId);
  if (!last || last.group.kind !== 'native_tools') return { end: 'ended', unwritten: [] };
  const standings: CallStanding[] = [];
  for (const call of last.calls) standings.push(await standingOf(context, driving, last.group.groupId, call));
  const unknown = standings.find((one) => one.state === 'ended' && one.outcome.state === 'unknown');
  if (unknown?.state === 'ended' && unknown.outcome.state === 'unknown')
    return { end: 'unknown', outcome: unknown.outcome, unwritten: [] };
  return carryOutGroup(context, driving, last.group.groupId, standings);
}

async function standingOf(
  context: RunsContext,
  driving: Driving,
  groupId: string,
  call: GroupWithCalls['calls'][number],
): Promise<CallStanding> {
  const { callId, toolName } = call;
  if (call.outcome && call.outcome.state !== 'unknown')
    return { state: 'ended', callId, toolName, outcome: call.outcome };
  if (call.statusRef !== null) return recoverStarted(context, driving, groupId, call, call.statusRef);
  const place = placeOf(driving);
  const terms = termsOf(driving);
  const unstarted = await rejudge(context.calls, place, groupId, call, terms);
  if ('state' in unstarted) return endNow(context, driving, groupId, call, unstarted);
  const standing = await context.calls.store.write('runs.stand', (tx) =>
    standNow(tx, context.calls, { place, groupId }, unstarted, terms),
  );
  return standing.state === 'ended' ? endNow(context, driving, groupId, call, standing) : standing;
}

/** Writes the refusal of a call that can no longer start, unless the ledger has it. */
async function endNow(
  context: RunsContext,
  driving: Driving,
  groupId: string,
  call: GroupWithCalls['calls'][number],
  standing: Extract<CallStanding, { state: 'ended' }>,
): Promise<CallStanding> {
  const event = resultEvent(ledgerResultOf(groupId, driving.run.runId, call), standing.outcome);
  await context.calls.store.write('runs.refusal', (tx) => writeResults(tx, context, driving, [event]));
  return standing;
}

async function recoverStarted(
  context: RunsContext,
  driving: Driving,
  groupId: string,
  call: GroupWithCalls['calls'][number],
  statusRef: string,
): Promise<CallStanding> {
  const { principal } = driving.run;
  const recovery = { filesystem: context.filesystem, signal: driving.signal, redeliver: true };
  const { outcome, recorded } = await recoverCall(context.calls, principal, statusRef, recovery);
  const isNews = !(outcome.state === 'unknown' && call.hasResult);
  const of = ledgerResultOf(groupId, driving.run.runId, call);
  if (!recorded && isNews) await recordRecovered(context.calls, principal, of, outcome);
  if (isNews) driving.listener.onOutcome?.(call.callId, call.toolName, outcome);
  return { state: 'ended', callId: call.callId, toolName: call.toolName, outcome };
}

/** Writes down how the run stands now that it cannot go on by itself. */
async function stand(context: RunsContext, driving: Driving, end: Exclude<GroupEnd, { end: 'ended' }>): Promise<void> {
  const now = context.calls.clock.nowMs();
  switch (end.end) {
    case 'waiting':
      return standWaiting(context, driving, now);
    case 'unknown':
      return fail(context, driving, 'OUTCOME_UNKNOWN', unknownText(end.outcome.reason), end.unwritten);
    case 'stopped':
      return write(context, driving, { status: 'stopped', finishedAt: now }, end.unwritten);
  }
}

const unknownText = (reason: string): string => `The outcome of a call is unknown: ${reason}`;

/** A reply that was written down as waiting has moved the run already; one that is taken up again has not. */
async function standWaiting(context: RunsContext, driving: Driving, now: number): Promise<void> {
  try {
    await context.calls.store.write('runs.wait', (tx) =>
      moveRun(tx, driving.run, context.instanceId, { status: 'waiting_confirmation' }, now),
    );
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'RUN_NOT_OWNED')) throw error;
  }
}

function fail(
  context: RunsContext,
  driving: Driving,
  code: string,
  message: string,
  unwritten: readonly NewEvent[],
): Promise<void> {
  return write(context, driving, { status: 'failed', code, message }, unwritten);
}

async function write(
  context: RunsContext,
  driving: Driving,
  to: RunEnd,
  unwritten: readonly NewEvent[],
): Promise<void> {
  await context.calls.store.write('runs.stand', async (tx) => {
    await writeResults(tx, context, driving, unwritten);
    await moveRun(tx, driving.run, context.instanceId, to, context.calls.clock.nowMs());
  });
}
