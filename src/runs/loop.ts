import { HoldfastError } from '../core/index.ts';
import type { NewEvent } from '../sessions/index.ts';
import { askModel } from './ask.ts';
import { allowanceOf, type Refusal } from './budgets.ts';
import { compactIfLong } from './compaction.ts';
import type { Driving, RunsContext } from './context.ts';
import { isFollowUp } from './follow-up.ts';
import { carryOutGroup, type GroupEnd } from './group.ts';
import { type GroupWithCalls, isReply, messagesOf } from './history.ts';
import { readGroups } from './known-groups.ts';
import { carryOutSideBranch } from './side-branch/composed.ts';
import { stand, standFailed } from './stand.ts';
import type { TurnBounds } from './supervision.ts';
import { carryOnReply, lastReply } from './take-up.ts';
import { commitReply, waits } from './turn.ts';

/**
 * Carries a run of this process on until it waits, ends, or is stopped. The ledger is the only memory: whatever was
 * written down is not done, and not asked of the model, again. A failure of the model, a used-up budget or an unknown
 * outcome ends it as `failed`; errors of the store are thrown, and leave it to be resumed.
 */
export async function drive(context: RunsContext, driving: Driving): Promise<void> {
  let known = await sideBranchFirst(context, driving);
  if (known === null) return;
  const last = lastReply(driving, known);
  let end: GroupEnd = { end: 'ended', unwritten: [] };
  if (last !== null) {
    end = await carryOnReply(context, driving, last);
    known = null;
  }
  for (;;) {
    if (end.end !== 'ended') return stand(context, driving, end);
    if (driving.signal.aborted) return stand(context, driving, { end: 'stopped', unwritten: end.unwritten });
    // What was read a moment ago stands as long as nothing was done: nobody else writes while this run has the pen.
    known ??= await readGroups(context, driving, end.unwritten);
    const next = await nextReply(context, driving, known, end.unwritten);
    if (next === null) return;
    end = next;
    known = null;
  }
}

/**
 * An open side branch has its turns before the main line. What the run may know after that; null where it has come to
 * its stand with it.
 */
async function sideBranchFirst(context: RunsContext, driving: Driving): Promise<readonly GroupWithCalls[] | null> {
  const refuse = ({ code, reason }: Refusal) => refused(context, driving, code, reason, []);
  try {
    return await carryOutSideBranch(context, driving, refuse);
  } catch (error) {
    await standAfter(context, driving, error, []);
    return null;
  }
}

/** Asks for one reply, writes it down, carries out its calls; null when the run has come to its stand with it. */
async function nextReply(
  context: RunsContext,
  driving: Driving,
  groups: readonly GroupWithCalls[],
  unwritten: readonly NewEvent[],
  mayCompact = true,
): Promise<GroupEnd | null> {
  const turns = turnsLeft(driving, groups);
  const allowance = await allowanceOf(context, driving);
  if (turns <= 0) return refused(context, driving, 'RUN_TURNS_USED_UP', turnsText(driving), unwritten);
  if (!allowance.allowed) return refused(context, driving, allowance.code, allowance.reason, unwritten);
  const bounds = await boundsOf(context, driving);
  if (bounds.refusal !== null) return refused(context, driving, 'RUN_BUDGET_USED_UP', bounds.refusal, unwritten);
  const withinMs = Math.min(allowance.withinMs, bounds.withinMs);
  try {
    const came = mayCompact ? await compactIfLong(context, driving, groups, unwritten, withinMs) : 'nothing';
    if (came === 'compacted') return { end: 'ended', unwritten: [] };
    // What was spent in vain counts against what the turn may spend; it has its whole history, and nobody asks again.
    if (came === 'no_summary') return await nextReply(context, driving, groups, unwritten, false);
    const messages = messagesOf(driving.agent.instructions, groups, driving.agent.model.id);
    const reply = await askModel(context, driving, messages, withinMs);
    const proposed = await commitReply(context, driving, messages, reply, unwritten, bounds.callsLeft);
    for (const standing of proposed.standings) driving.listener.onProposed?.(standing);
    if (reply.calls.length === 0 || waits(proposed)) return null;
    return await carryOutGroup(context, driving, proposed.groupId, proposed.standings);
  } catch (error) {
    await standAfter(context, driving, error, unwritten);
    return null;
  }
}

/** Writes down how the run stands after a turn that failed; throws on what is no failure of a turn. */
async function standAfter(
  context: RunsContext,
  driving: Driving,
  error: unknown,
  unwritten: readonly NewEvent[],
): Promise<void> {
  if (!(error instanceof HoldfastError) || !ENDING.has(error.code)) throw error;
  if (driving.signal.aborted) await stand(context, driving, { end: 'stopped', unwritten });
  else await standFailed(context, driving, error.code, error.message, unwritten);
}

/** What ends a run as `failed`: the model, its time, or a price that cannot be told. */
const ENDING: ReadonlySet<string> = new Set([
  'MODEL_FAILED',
  'MODEL_STOPPED',
  'MODEL_REPLY_INVALID',
  'MODEL_REPLY_TOO_LARGE',
  'TRANSCRIPT_ENDED',
  'TRANSCRIPT_MISMATCH',
  'RUN_BUDGET_USED_UP',
  'RUN_CONFIG_INVALID',
]);

const UNBOUNDED: TurnBounds = {
  refusal: null,
  callsLeft: Number.POSITIVE_INFINITY,
  withinMs: Number.POSITIVE_INFINITY,
};

async function boundsOf({ supervision }: RunsContext, { run }: Driving): Promise<TurnBounds> {
  return supervision && isFollowUp(run) ? supervision.boundsOf(run) : UNBOUNDED;
}

/** A follow-up shares the turn of the run before it: its own replies are those since it was told what to do. */
function turnsLeft({ run, agent }: Driving, groups: readonly GroupWithCalls[]): number {
  const turn = groups.filter(({ group }) => group.turnId === run.place.turnId);
  const told = turn.findLastIndex(({ group }) => group.kind === 'user');
  return agent.maxTurns - turn.slice(told + 1).filter(({ group }) => isReply(group)).length;
}

const turnsText = ({ agent }: Driving): string => `The run has used its ${agent.maxTurns} model turns.`;

async function refused(
  context: RunsContext,
  driving: Driving,
  code: string,
  message: string,
  unwritten: readonly NewEvent[],
): Promise<null> {
  await standFailed(context, driving, code, message, unwritten);
  return null;
}
