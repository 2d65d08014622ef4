import {
  type CallPlace,
  type Checked,
  notStarted,
  prepareCall,
  propose,
  type Proposed,
  type ProposalTerms,
} from '../calls/index.ts';
import type { ModelMessage, ModelReply } from '../models/index.ts';
import type { NewEvent } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { usageOf } from './budgets.ts';
import type { Driving, RunsContext } from './context.ts';
import { cutNote } from './cut-reply.ts';
import { isFollowUp } from './follow-up.ts';
import { placeOf, writeResults } from './group.ts';
import { replyState } from './reply-state.ts';
import { countTurn, isStopAsked } from './run-store.ts';
import { comeToStand } from './stand.ts';

export function termsOf({ agent }: Pick<Driving, 'agent'>): ProposalTerms {
  return { allowed: agent.allowed, askForEach: agent.askForEach };
}

/**
 * Writes down a reply in one commit: the results before it that had no commit of their own, its text and calls, what
 * has to wait, and how the run now stands. A stop that was committed before it holds: nothing of its calls begins.
 */
export async function commitReply(
  context: RunsContext,
  driving: Driving,
  asked: readonly ModelMessage[],
  reply: ModelReply,
  unwritten: readonly NewEvent[],
  callsLeft = Number.POSITIVE_INFINITY,
): Promise<Proposed> {
  const { calls } = context;
  const place = placeOf(driving);
  const terms = termsOf(driving);
  const checked = withinBudget(await checkCalls(context, place, reply, terms), callsLeft);
  const used = usageOf(driving, asked, reply);
  return calls.store.write('runs.reply', async (tx) => {
    await writeResults(tx, context, driving, unwritten);
    const opened = openedBy(context, driving, reply);
    const proposed = await propose(tx, calls, place, { ...replyToWrite(driving, reply, checked), ...opened }, terms);
    await countTurn(tx, driving.run.runId, driving.owner, { ...used, now: calls.clock.nowMs() });
    if (waits(proposed)) await comeToStand(tx, context, driving, { status: 'waiting_confirmation' });
    else if (reply.calls.length === 0) {
      const completed = { status: 'completed', text: reply.text, finishedAt: calls.clock.nowMs() } as const;
      await comeToStand(tx, context, driving, completed);
    } else if (await isStopAsked(tx, driving.run.runId, driving.owner)) driving.stopNow();
    return proposed;
  });
}

/** Whether a person has to decide about one of the calls: the commit of the reply has written the run down as waiting. */
export function waits({ standings }: Pick<Proposed, 'standings'>): boolean {
  return standings.some(({ state }) => state === 'waiting');
}

/** A group in which a follow-up acts is told of before it holds anything. */
function openedBy({ supervision }: RunsContext, { run }: Driving, { calls }: ModelReply) {
  if (!supervision || calls.length === 0 || !isFollowUp(run)) return {};
  return { opened: (tx: Tx, groupId: string) => supervision.groupOpened(tx, run, groupId) };
}

interface CheckedCall {
  readonly proposal: ModelReply['calls'][number];
  readonly checked: Checked;
}

/** Calls beyond the budget are refused before anything of them is judged. */
function withinBudget(calls: readonly CheckedCall[], callsLeft: number): readonly CheckedCall[] {
  return calls.map((call, at) => {
    if (at < callsLeft || call.checked.kind === 'refused') return call;
    const { callId, tool } = call.checked.call;
    const outcome = notStarted('RUN_BUDGET_USED_UP', 'The supervised run has used its budget of calls.');
    return { ...call, checked: { kind: 'refused', callId, toolName: tool.name, outcome } };
  });
}

async function checkCalls(
  context: RunsContext,
  place: CallPlace,
  reply: ModelReply,
  terms: ProposalTerms,
): Promise<CheckedCall[]> {
  return Promise.all(
    reply.calls.map(async (proposal) => ({
      proposal,
      checked: await prepareCall(context.calls, place.principal, proposal, terms),
    })),
  );
}

function replyToWrite({ agent }: Driving, reply: ModelReply, calls: readonly CheckedCall[]) {
  return {
    kind: reply.calls.length === 0 ? 'finalize' : 'native_tools',
    text: reply.text === '' ? null : reply.text,
    model: agent.model.id,
    wireState: replyState(agent.model.id, reply),
    usage: { input_tokens: reply.usage.inputTokens, output_tokens: reply.usage.outputTokens, ...cutNote(reply) },
    calls,
  } as const;
}
