import type { ModelReply } from '../models/index.ts';
import { appendEvent, openGroup, type NewEvent } from '../sessions/index.ts';
import { ask } from './ask.ts';
import { estimatedTokens, usageOf } from './budgets.ts';
import { compactionDocument, isShown, newestCompaction } from './compaction-record.ts';
import type { Driving, RunsContext } from './context.ts';
import { cutIn, cutNote } from './cut-reply.ts';
import { writeResults } from './group.ts';
import { type GroupWithCalls, isReply, messagesOf } from './history.ts';
import { countTurn } from './run-store.ts';

/** Replies at the end of a history that a summary never speaks for. */
const REPLIES_KEPT = 2;

const REQUEST =
  'Summarise the conversation so far for yourself: what was asked, what was found, which calls were made and what ' +
  'became of each, and what is left to do. Answer with the summary alone.';

/**
 * What came of it: `nothing` was done, or the history is compacted now. `no_summary`: the model was asked, which is
 * counted, and said nothing, so nothing is spoken for.
 */
export type Compacted = 'nothing' | 'compacted' | 'no_summary';

/**
 * Compacts the history of a run before a turn that would be too long: the model is asked for a summary, which is
 * written as a group of kind `compaction`. Nothing is deleted. A group with a call whose outcome is unknown, or not
 * there, is kept as it is, and so are the turn's request and the newest replies.
 */
export async function compactIfLong(
  context: RunsContext,
  driving: Driving,
  groups: readonly GroupWithCalls[],
  unwritten: readonly NewEvent[],
  withinMs: number,
): Promise<Compacted> {
  const { run, agent } = driving;
  const messages = messagesOf(agent.instructions, groups, agent.model.id);
  if (agent.compactAboveTokens === null || estimatedTokens(messages) <= agent.compactAboveTokens) return 'nothing';
  const plan = planCompaction(groups, run.place.turnId);
  if (plan === null) return 'nothing';
  const asked = [...messages, { role: 'user', text: REQUEST }] as const;
  const reply = await ask(context, driving, { messages: asked, tools: [], withinMs });
  const used = { ...usageOf(driving, asked, reply), now: context.calls.clock.nowMs() };
  if (reply.text.trim() === '') {
    await context.calls.store.write('runs.compact', (tx) => countTurn(tx, run.runId, driving.owner, used));
    return 'no_summary';
  }
  const { rootFrameId, branchId, turnId } = run.place;
  const result = compactionDocument({ summary: summaryOf(reply), ...plan });
  await context.calls.store.write('runs.compact', async (tx) => {
    await writeResults(tx, context, driving, unwritten);
    const group = { rootFrameId, branchId, turnId, kind: 'compaction', model: agent.model.id };
    const { id: groupId } = await openGroup(tx, context.calls.sessions, run.principal, group);
    const event = { groupId, type: 'compaction', sideEffectClass: 'metadata_write', result };
    await appendEvent(tx, context.calls.sessions, run.principal, event);
    await countTurn(tx, run.runId, driving.owner, used);
  });
  return 'compacted';
}

/** For the model as much as for the record: half a summary must not read as a whole one. */
function summaryOf({ text, finishReason }: ModelReply): string {
  const cut = cutIn(cutNote({ finishReason }));
  return cut === null ? text : `${text}\n[This summary was cut (${cut}): it may not be whole.]`;
}

/** Which groups a summary would speak for; null where it would speak for none that is shown now. */
export function planCompaction(
  groups: readonly GroupWithCalls[],
  turnId: string,
): { readonly coveredThrough: string; readonly kept: ReadonlySet<string> } | null {
  const replies = groups.filter(({ group }) => isReply(group));
  const last = replies.at(-1 - REPLIES_KEPT);
  if (!last) return null;
  const upTo = last.group.position;
  const before = newestCompaction(groups);
  const covered = groups.filter(({ group }) => group.position <= upTo && group.kind !== 'compaction');
  const kept = new Set(covered.filter((one) => mustStay(one, turnId)).map(({ group }) => group.groupId));
  const news = covered.some(({ group }) => !kept.has(group.groupId) && (before === null || isShown(before, group)));
  return news ? { coveredThrough: last.group.groupId, kept } : null;
}

function mustStay({ group, calls }: GroupWithCalls, turnId: string): boolean {
  if (group.kind === 'user') return group.turnId === turnId;
  return calls.some((call) => call.outcome === null || call.outcome.state === 'unknown');
}
