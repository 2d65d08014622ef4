import {
  type CallPlace,
  type Checked,
  prepareCall,
  propose,
  type Proposed,
  type ProposalTerms,
} from '../calls/index.ts';
import type { ModelMessage, ModelReply } from '../models/index.ts';
import type { NewEvent } from '../sessions/index.ts';
import { usageOf } from './budgets.ts';
import type { Driving, RunsContext } from './context.ts';
import { placeOf, writeResults } from './group.ts';
import { countTurn, moveRun } from './run-store.ts';

export function termsOf({ agent }: Pick<Driving, 'agent'>): ProposalTerms {
  return { allowed: agent.allowed, askForEach: agent.askForEach };
}

/**
 * Writes down a reply in one commit: the results before it that had no commit of their own, its text and calls, what
 * has to wait, and how the run now stands.
 */
export async function commitReply(
  context: RunsContext,
  driving: Driving,
  asked: readonly ModelMessage[],
  reply: ModelReply,
  unwritten: readonly NewEvent[],
): Promise<Proposed> {
  const { calls } = context;
  const place = placeOf(driving);
  const terms = termsOf(driving);
  const checked = await checkCalls(context, place, reply, terms);
  const used = usageOf(driving, asked, reply);
  return calls.store.write('runs.reply', async (tx) => {
    await writeResults(tx, context, driving, unwritten);
    const proposed = await propose(tx, calls, place, replyToWrite(driving, reply, checked), terms);
    await countTurn(tx, driving.run.runId, context.instanceId, { ...used, now: calls.clock.nowMs() });
    const waits = proposed.standings.some((standing) => standing.state === 'waiting');
    const now = calls.clock.nowMs();
    if (waits) await moveRun(tx, driving.run, context.instanceId, { status: 'waiting_confirmation' }, now);
    if (reply.calls.length === 0) {
      const completed = { status: 'completed', text: reply.text, finishedAt: now } as const;
      await moveRun(tx, driving.run, context.instanceId, completed, now);
    }
    return proposed;
  });
}

async function checkCalls(
  context: RunsContext,
  place: CallPlace,
  reply: ModelReply,
  terms: ProposalTerms,
): Promise<{ proposal: ModelReply['calls'][number]; checked: Checked }[]> {
  return Promise.all(
    reply.calls.map(async (proposal) => ({
      proposal,
      checked: await prepareCall(context.calls, place.principal, proposal, terms),
    })),
  );
}

function replyToWrite(
  { agent }: Driving,
  reply: ModelReply,
  calls: readonly { proposal: ModelReply['calls'][number]; checked: Checked }[],
) {
  return {
    kind: reply.calls.length === 0 ? 'finalize' : 'native_tools',
    text: reply.text === '' ? null : reply.text,
    model: agent.model.id,
    usage: { input_tokens: reply.usage.inputTokens, output_tokens: reply.usage.outputTokens },
    calls,
  } as const;
}
