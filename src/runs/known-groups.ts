import { knownSince, outcomeOfResult } from '../calls/index.ts';
import type { NewEvent } from '../sessions/index.ts';
import type { Driving, RunsContext } from './context.ts';
import { groupsKnownTo, type GroupWithCalls } from './history.ts';

/** What the run may know, as the ledger tells it, with results that are known but not yet committed. */
export async function readGroups(
  context: RunsContext,
  { run }: Driving,
  unwritten: readonly NewEvent[],
): Promise<readonly GroupWithCalls[]> {
  const { calls } = context;
  const told = await calls.store.read('runs.history', (tx) => groupsKnownTo(tx, run.principal, run.place));
  const groups = await knownSince(calls, run.principal, told);
  return unwritten.length === 0 ? groups : groups.map((one) => withResults(one, unwritten));
}

function withResults(one: GroupWithCalls, events: readonly NewEvent[]): GroupWithCalls {
  const { group, calls } = one;
  const own = events.filter((event) => event.groupId === group.groupId);
  if (own.length === 0) return one;
  const known = calls.map((call) => {
    const event = own.find(({ toolCallId }) => toolCallId === call.callId);
    return event ? { ...call, outcome: outcomeOf(event) ?? call.outcome } : call;
  });
  return { ...one, calls: known };
}

const outcomeOf = (event: NewEvent) => outcomeOfResult(event.result ?? null);
