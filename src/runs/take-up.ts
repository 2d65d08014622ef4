import { HoldfastError } from '../core/index.ts';
import {
  type CallStanding,
  ledgerResultOf,
  NOT_ASKABLE,
  outcomeOfStored,
  recordRecovered,
  type Recovered,
  recoverCall,
  rejudge,
  resultEvent,
  standNow,
} from '../calls/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { Driving, RunsContext } from './context.ts';
import { carryOutGroup, type GroupEnd, placeOf, writeResults } from './group.ts';
import type { GroupWithCalls } from './history.ts';
import { isStopAsked } from './run-store.ts';
import { isOfMainLine } from './side-branch/told.ts';
import { termsOf } from './turn.ts';

/** The newest group of the run, where it is a reply with calls: it may have been left before its end. */
export function lastReply({ run }: Pick<Driving, 'run'>, groups: readonly GroupWithCalls[]): GroupWithCalls | null {
  const last = groups.findLast(({ group }) => group.turnId === run.place.turnId && isOfMainLine(group));
  return last?.group.kind === 'native_tools' ? last : null;
}

/** Takes up a reply where it was left: nothing that has an outcome is touched. */
export async function carryOnReply(context: RunsContext, driving: Driving, last: GroupWithCalls): Promise<GroupEnd> {
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
  const found = await recovered(context, driving, statusRef);
  const isNews = !(found.outcome.state === 'unknown' && call.hasResult);
  const of = ledgerResultOf(groupId, driving.run.runId, call);
  const isWritten = found.recorded || !isNews;
  const outcome = isWritten ? found.outcome : await recordRecovered(context.calls, principal, of, found.outcome);
  if (isNews) driving.listener.onOutcome?.(call.callId, call.toolName, outcome);
  return { state: 'ended', callId: call.callId, toolName: call.toolName, outcome };
}

/** A tool that is gone, or that takes the stored arguments no longer, cannot be asked: what is stored is all that is known. */
async function recovered(context: RunsContext, driving: Driving, statusRef: string): Promise<Recovered> {
  const { run, signal, underWay, stopNow } = driving;
  const isWanted = async (tx: ReadTx): Promise<boolean> => {
    if (!(await isStopAsked(tx, run.runId, context.instanceId))) return !signal.aborted;
    stopNow();
    return false;
  };
  const recovery = { filesystem: context.filesystem, signal: underWay, redeliver: true, isWanted };
  try {
    return await recoverCall(context.calls, run.principal, statusRef, recovery);
  } catch (error) {
    if (!(error instanceof HoldfastError) || !NOT_ASKABLE.has(error.code)) throw error;
    const outcome = await outcomeOfStored(context.calls, run.principal, statusRef);
    const cannotAsk = 'Its tool is not registered as it was then, so nobody can be asked what became of it.';
    return { outcome: outcome.state === 'unknown' ? { ...outcome, reason: cannotAsk } : outcome, recorded: false };
  }
}
