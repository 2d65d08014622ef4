import { fail, LIMITS, requireText } from '../../core/index.ts';
import { appendEvent, openGroup, type Principal } from '../../sessions/index.ts';
import { appendFeed } from '../../store/index.ts';
import { ask } from '../ask.ts';
import { allowanceOf, type Refusal, usageOf } from '../budgets.ts';
import { loadSnapshot } from '../config/snapshot.ts';
import type { Driving, RunsContext } from '../context.ts';
import { branchGroups, type GroupWithCalls, messagesOf } from '../history.ts';
import { readGroups } from '../known-groups.ts';
import type { RunRecord } from '../model.ts';
import * as sql from '../run-queries.ts';
import { countTurn, notOwned, requireRun, runBusy } from '../run-store.ts';
import { sideBranchesOfTurn } from '../turn-history.ts';
import type { SideBranch } from './model.ts';
import {
  hasEnded,
  messagesOfSideBranch,
  openedDocument,
  SIDE_BRANCH_GROUP,
  type ToldSideBranch,
  turnDocument,
} from './told.ts';

/** A short detour of a run, to be given its turns before the main line's next. */
export interface OpenSideBranch {
  /** A kind that is known: `compression`, `reflection`, `knowledge_eval`, or one of the host's. */
  readonly type: string;
  /** What the branch is asked to do. */
  readonly instruction: string;
  /** Its budget, 1 to 1,000; the agent's `sideBranchMaxTurns` where none is given. */
  readonly maxTurns?: number;
}

/**
 * Writes down a side branch of a run that nobody carries out, in one commit, and answers its id. Throws RUN_NOT_FOUND,
 * RUN_ENDED, RUN_BUSY (also while another branch of it is open), RUN_BRANCH_UNKNOWN, INVALID_VALUE.
 */
export async function openSideBranch(
  context: RunsContext,
  principal: Principal,
  runId: string,
  opening: OpenSideBranch,
): Promise<string> {
  const { store, sessions, clock } = context.calls;
  const { type } = opening;
  requireKnown(context, opening);
  const instruction = requireText('instruction', opening.instruction, LIMITS.runTaskCodePoints);
  return store.write('runs.side-branch-open', async (tx) => {
    const run = await requireRun(tx, principal, runId);
    requireAtRest(run, (await tx.get(sql.IS_CARRIED, [runId, clock.nowMs()])) !== undefined);
    const { rootFrameId, branchId, turnId } = run.place;
    const open = openBranchOf(await branchGroups(tx, principal, rootFrameId, branchId), turnId);
    if (open) throw anotherIsOpen(runId, open.at.group.groupId);
    const maxTurns = opening.maxTurns ?? loadSnapshot(run.context).config.sideBranchMaxTurns;
    if (!Number.isSafeInteger(maxTurns) || maxTurns < 1 || maxTurns > LIMITS.runSideBranchTurns)
      throw fail('INVALID_VALUE', `A side branch has 1 to ${LIMITS.runSideBranchTurns} turns.`);
    const group = { rootFrameId, branchId, turnId, kind: SIDE_BRANCH_GROUP };
    const { id: groupId } = await openGroup(tx, sessions, run.principal, group);
    await append(tx, context, run, groupId, 'side_branch_opened', openedDocument({ type, instruction, maxTurns }));
    return groupId;
  });
}

/** Where its kind is not known nobody would be told what a branch came to. */
function requireKnown({ sideBranches }: RunsContext, { type }: Pick<OpenSideBranch, 'type'>): void {
  if (!sideBranches.has(type)) throw fail('RUN_BRANCH_UNKNOWN', 'No side branch of this kind is registered.');
}

/** A run with an open side branch is taken where its kind is known, and stands as before elsewhere. RUN_BRANCH_UNKNOWN. */
export async function requireKnownBranch(context: RunsContext, { principal, place }: RunRecord): Promise<void> {
  const groups = await context.calls.store.read('runs.side-branch', (tx) => sideBranchesOfTurn(tx, principal, place));
  const open = openBranchOf(groups, place.turnId);
  if (open) requireKnown(context, open.branch);
}

function anotherIsOpen(runId: string, branchId: string): Error {
  return fail('RUN_BUSY', 'Another side branch of the run is open.', {
    details: { run_id: runId, branch_id: branchId },
    resolve: `It is given its turns when the run is carried on: holdfast runs resume ${runId}`,
  });
}

function requireAtRest({ runId, state: { status } }: RunRecord, carried: boolean): void {
  if (status === 'completed' || status === 'stopped') throw fail('RUN_ENDED', `The run is ${status}.`);
  if (carried) throw runBusy(runId);
}

interface OpenBranch {
  readonly at: GroupWithCalls;
  readonly branch: ToldSideBranch;
}

/** The side branch of the turn that is not closed yet; null where there is none. */
function openBranchOf(groups: readonly GroupWithCalls[], turnId: string): OpenBranch | null {
  const at = groups.findLast(({ group, side }) => group.turnId === turnId && side && !side.closed);
  return at?.side ? { at, branch: at.side } : null;
}

/**
 * Gives the open side branch of a run the turns that it has left, as its stored lines count them, and closes it. Each
 * turn is one commit with what it spent. Answers what the run may know after that; null where its budget does not allow
 * another turn: `refuse` was told why. RUN_BRANCH_UNKNOWN.
 */
export async function carryOutSideBranch(
  context: RunsContext,
  driving: Driving,
  refuse: (refusal: Refusal) => Promise<unknown>,
): Promise<readonly GroupWithCalls[] | null> {
  for (;;) {
    const groups = await readGroups(context, driving, []);
    const open = openBranchOf(groups, driving.run.place.turnId);
    if (open === null || driving.signal.aborted) return groups;
    const { at, branch } = open;
    requireKnown(context, branch);
    if (hasEnded(branch)) {
      await close(context, driving, at, branch, groups);
      continue;
    }
    const allowance = await allowanceOf(context, driving);
    if (!allowance.allowed) {
      await refuse(allowance);
      return null;
    }
    await takeTurn(context, driving, open, groups, allowance.withinMs);
  }
}

async function takeTurn(
  context: RunsContext,
  driving: Driving,
  { at, branch }: OpenBranch,
  groups: readonly GroupWithCalls[],
  withinMs: number,
): Promise<void> {
  const { agent, run } = driving;
  const before = groups.filter(({ group }) => group.position < at.group.position);
  const messages = [...messagesOf(agent.instructions, before, agent.model.id), ...messagesOfSideBranch(branch)];
  const reply = await ask(context, driving, { messages, tools: [], withinMs });
  const secretFieldsOf = (tool: string): readonly string[] => context.calls.tools.secretFieldsOf(tool);
  const used = { ...usageOf(driving, messages, reply), now: context.calls.clock.nowMs() };
  await context.calls.store.write('runs.side-branch-turn', async (tx) => {
    await append(tx, context, run, at.group.groupId, 'side_branch_turn', turnDocument(reply, secretFieldsOf));
    await countTurn(tx, run.runId, driving.owner, used);
  });
}

/** The host hears what the branch came to before it is closed, so at least once. */
async function close(
  context: RunsContext,
  { run, owner }: Driving,
  { group }: GroupWithCalls,
  told: ToldSideBranch,
  groups: readonly GroupWithCalls[],
): Promise<void> {
  const main = groups.findLast((one) => one.group.position < group.position);
  const branch: SideBranch = {
    type: told.type,
    branchId: group.groupId,
    startHeadSequence: main?.group.position ?? 0,
    startSequence: group.position,
    startIteration: 0,
    maxTurns: told.maxTurns,
    turnsUsed: told.turns.length,
  };
  const { text, cut } = told.turns.at(-1) ?? { text: null, cut: null };
  await context.sideBranches.get(told.type)?.onClosed?.({ traceId: run.runId, branch, text, cut });
  await context.calls.store.write('runs.side-branch-close', async (tx) => {
    const { changes } = await tx.run(sql.TOUCH_OWNED, [context.calls.clock.nowMs(), run.runId, owner]);
    if (changes !== 1) throw notOwned(run.runId);
    const said = { type: told.type, turns_used: told.turns.length };
    await append(tx, context, run, group.groupId, 'side_branch_closed', said);
    await appendFeed(tx, { tenantId: run.principal.tenant, kind: 'run.side_branch_closed', reference: run.runId });
  });
}

async function append(
  tx: Parameters<typeof appendEvent>[0],
  { calls }: RunsContext,
  { principal }: RunRecord,
  groupId: string,
  type: string,
  result: ReturnType<typeof openedDocument>,
): Promise<void> {
  await appendEvent(tx, calls.sessions, principal, { groupId, type, sideEffectClass: 'metadata_write', result });
}
