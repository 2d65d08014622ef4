import { settleByPerson } from '../../src/calls/index.ts';
import { planCompaction } from '../../src/runs/compaction.ts';
import { branchGroups, messagesOf } from '../../src/runs/index.ts';
import type { ModelFunction, ModelMessage } from '../../src/index.ts';
import { assert, check } from '../support/index.ts';
import { noteTool, openDesk } from '../calls/desk.ts';

const LONG = 'x'.repeat(400);

/** Calls so many times, one call a reply, and keeps each conversation that it was shown. */
function talkative(replies: number, seen: (readonly ModelMessage[])[], name = 'take_note'): ModelFunction {
  let made = 0;
  return ({ messages, tools }) => {
    seen.push(messages);
    if (tools.length === 0) return 'SUMMARY';
    made += 1;
    if (made > replies) return 'done';
    return { calls: [{ callId: `c${made}`, toolName: name, arguments: { note: `${made} ${LONG}` } }] };
  };
}

/** Every call that a model is shown has its answer, and every answer its call. */
function assertPaired(messages: readonly ModelMessage[]): void {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.calls.map((c) => c.callId) : []));
  const answers = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []));
  assert.deepEqual(answers, calls);
}

check('a long history is compacted, the request and the newest replies stay, and nothing is deleted', async (t) => {
  const { holdfast } = await openDesk(t);
  const seen: (readonly ModelMessage[])[] = [];
  const tools = [noteTool({ effect: 'read' })];
  const run = await holdfast.agent({ model: talkative(8, seen), tools, compactAboveTokens: 600 }).run('the task');
  assert.equal(run.status, 'completed');
  const last = seen.at(-1) ?? [];
  assert.ok(last.some((message) => message.text.includes('[Summary of what came before]\nSUMMARY')));
  assert.ok(last.some((message) => message.role === 'user' && message.text === 'the task'));
  assert.ok(last.length < 12, `without a summary there would be 18 messages, not ${last.length}`);
  assert.equal(run.view.calls.length, 8);
  for (const messages of seen) assertPaired(messages);
});

check('a call that is not settled is never compacted away, until it is settled', async (t) => {
  let laterMs = 0;
  const { holdfast } = await openDesk(t, { clock: { nowMs: () => Date.now() + laterMs } });
  const seen: (readonly ModelMessage[])[] = [];
  const odd = noteTool({
    execute: () => {
      throw new Error('gone');
    },
  });
  const first = await holdfast.agent({ name: 'first', model: talkative(1, []), tools: [odd] }).run('one');
  assert.equal(first.status, 'failed');
  const rootFrameId = first.view.sessionId;
  const look = noteTool({ name: 'look', effect: 'read' });
  const model = talkative(6, seen, 'look');
  const run = await holdfast.agent({ name: 'second', model, tools: [look], compactAboveTokens: 500 }).run('two', {
    rootFrameId,
  });
  assert.equal(run.status, 'completed');
  const last = seen.at(-1) ?? [];
  assert.ok(last.some(({ text }) => text.includes('SUMMARY')));
  assert.ok(last.some((message) => message.role === 'tool' && message.text.startsWith('OUTCOME UNKNOWN')));
  assertPaired(last);
  const { calls, principal, store } = holdfast.runtime;
  laterMs = 120_000;
  const said = { verdict: 'not_done', reason: 'I looked.' } as const;
  await settleByPerson(calls, principal, first.view.calls[0]?.statusRef ?? '', said);
  const groups = await store.read('test', (tx) => branchGroups(tx, principal, rootFrameId, rootFrameId));
  const plan = planCompaction(groups, run.id);
  assert.equal(plan?.kept.size, 0);
  assertPaired(messagesOf(null, groups));
});

check('a summary without a word compacts nothing, is counted, and nobody asks for it again in that turn', async (t) => {
  const { holdfast } = await openDesk(t);
  const tools = [noteTool({ effect: 'read' })];
  const asked = { replies: 0, summaries: 0 };
  const reply = talkative(6, []);
  const model: ModelFunction = (request) => {
    if (request.tools.length > 0) asked.replies += 1;
    else asked.summaries += 1;
    assert.ok(asked.summaries <= 8, 'the run would ask for summaries for ever');
    if (request.tools.length > 0) return reply(request);
    return asked.summaries % 2 === 1 ? '' : ' \n';
  };
  const agent = { model, tools, compactAboveTokens: 300, retries: { most: 0 } };
  const run = await holdfast.agent({ ...agent, name: 'whole' }).run('the task');
  assert.equal(run.status, 'completed');
  assert.ok(asked.summaries > 0 && asked.summaries < asked.replies);
  assert.equal(run.view.turnsUsed, asked.replies + asked.summaries, 'what was asked in vain counts, too');
  // What was spent on it is seen before the turn that follows.
  let replies = 0;
  const budgets = { maxTokens: 50_000 };
  const dear: ModelFunction = (request) => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    if (request.tools.length === 0) return { text: '', usage: { inputTokens: 60_000, outputTokens: 1 } };
    replies += 1;
    return { calls: [{ callId: `c${replies}`, toolName: 'take_note', arguments: { note: LONG } }], usage };
  };
  const stopped = await holdfast.agent({ ...agent, name: 'spent', tools, model: dear, budgets }).run('the task');
  assert.deepEqual([stopped.status, stopped.view.turnsUsed], ['failed', replies + 1]);
});

check('that a summary was cut is told with it', async (t) => {
  const { holdfast } = await openDesk(t);
  const seen: (readonly ModelMessage[])[] = [];
  const reply = talkative(6, seen);
  const model: ModelFunction = (request) =>
    request.tools.length > 0 ? reply(request) : { text: 'SUMM', finishReason: 'length' };
  const tools = [noteTool({ effect: 'read' })];
  await holdfast.agent({ model, tools, compactAboveTokens: 300 }).run('the task');
  const summary = (seen.at(-1) ?? []).find(({ text }) => text.includes('SUMM'))?.text ?? '';
  assert.match(summary, /SUMM\n\[This summary was cut \(length\): it may not be whole\.\]$/);
});
