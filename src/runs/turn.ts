import {
  type CallPlace,
  type Checked,
  prepareCall,
  propose,
  type Proposed,
  type ProposalTerms,
} from '../calls/index.ts';
import { type ModelMessage, type ModelReply, readTurn } from '../models/index.ts';
import type { NewEvent } from '../sessions/index.ts';
import { modelToolSchemas } from '../tools/index.ts';
import type { Driving, RunsContext } from './context.ts';
import { placeOf, writeResults } from './group.ts';
import { countTurn, moveRun } from './run-store.ts';

/** Asks the agent's model for one reply. Throws the codes of `readTurn`; it changes nothing. */
export function askModel(
  context: RunsContext,
  { agent, signal, listener }: Driving,
  messages: readonly ModelMessage[],
): Promise<ModelReply> {
  const tools = modelToolSchemas(context.calls.tools, agent.allowed);
  const request = { messages, tools, signal, ...(agent.settings ? { settings: agent.settings } : {}) };
  return readTurn(agent.model, request, {
    onEvent: (event) => {
      if (event.type === 'text') listener.onText?.(event.text);
    },
  });
}

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
  reply: ModelReply,
  unwritten: readonly NewEvent[],
): Promise<Proposed> {
  const { calls } = context;
  const place = placeOf(driving);
  const terms = termsOf(driving);
  const checked = await checkCalls(context, place, reply, terms);
  return calls.store.write('runs.reply', async (tx) => {
    await writeResults(tx, context, driving, unwritten);
    const proposed = await propose(tx, calls, place, replyToWrite(driving, reply, checked), terms);
    await countReply(tx, context, driving, reply);
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

async function countReply(
  tx: Parameters<typeof countTurn>[0],
  context: RunsContext,
  { run }: Driving,
  { usage }: ModelReply,
): Promise<void> {
  await countTurn(tx, run.runId, context.instanceId, {
    promptTokens: usage.inputTokens ?? 0,
    completionTokens: usage.outputTokens ?? 0,
    now: context.calls.clock.nowMs(),
  });
}
