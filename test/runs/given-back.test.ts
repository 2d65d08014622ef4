import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Run } from '../../src/app/index.ts';
import type { JsonObject } from '../../src/core/index.ts';
import type { Holdfast } from '../../src/index.ts';
import { branchGroups, messagesOf } from '../../src/runs/index.ts';
import { listGroups } from '../../src/sessions/index.ts';
import { editDocument, resealed } from '../archive/support/packages.ts';
import { readAll } from '../archive/support/read-all.ts';
import { noteTool, openDesk } from '../calls/desk.ts';
import { chatServer, chunk } from '../support/chat-server.ts';
import { assert, check } from '../support/index.ts';
import { DONE, finish, GIVEN_BACK, PLAIN, reasoningModel, repliesAsked, THINKING } from './reasoning-model.ts';

const reading = { tools: [noteTool({ effect: 'read' })] };
const SAID_SECRETLY = /Milk first|sig-0|sig-a|sealed-2|msg-1/;

async function groupsOf({ runtime }: Holdfast, run: Run) {
  const { sessionId } = run.view;
  return (await runtime.store.read('test', (tx) => listGroups(tx, runtime.principal, sessionId))).items;
}

check(
  'a model is given its own parts back on the next turn, in their order, with what its provider said',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const model = reasoningModel([THINKING, DONE]);
    const heard: string[] = [];
    const run = await holdfast
      .agent({ ...reading, model })
      .run('go', { listener: { onText: (text) => heard.push(text) } });
    assert.equal(run.status, 'completed');
    assert.deepEqual(repliesAsked(model), [GIVEN_BACK]);
    assert.deepEqual(heard, ['I take ', 'notes.', 'Done.']);
  },
);

check('a provider package sends its server back what the server said, as the server wants it', async (t) => {
  const signed = { extra_content: { google: { thought_signature: 'sig-of-a-server' } } };
  const call = { index: 0, id: 'call-a', type: 'function', function: { name: 'take_note', arguments: '{"note":"a"}' } };
  const server = await chatServer([
    {
      chunks: [
        chunk({ role: 'assistant', reasoning_content: 'Milk ' }),
        chunk({ reasoning_content: 'first.' }),
        chunk({ content: 'I note it.' }),
        chunk({ tool_calls: [{ ...call, ...signed }] }),
        chunk({}, 'tool_calls'),
      ],
    },
    { chunks: [chunk({ role: 'assistant', content: 'Done.' }), chunk({}, 'stop')] },
  ]);
  t.after(() => server.close());
  const { holdfast } = await openDesk(t);
  const model = createOpenAICompatible({ name: 'local', baseURL: server.url })('local-model');
  const run = await holdfast.agent({ ...reading, model }).run('go');
  assert.deepEqual([run.status, run.text], ['completed', 'Done.']);
  const messages = server.seen[1]?.body['messages'] as { role: string; tool_calls?: object[] }[];
  const said = messages.find(({ role }) => role === 'assistant');
  assert.ok(said);
  assert.deepEqual(
    { ...said, tool_calls: null },
    {
      role: 'assistant',
      content: 'I note it.',
      reasoning_content: 'Milk first.',
      tool_calls: null,
    },
  );
  assert.deepEqual(
    said.tool_calls?.map((one) => ('extra_content' in one ? one.extra_content : null)),
    [signed.extra_content],
  );
});

check('a reply of plain text and calls keeps nothing beside them', async (t) => {
  const { holdfast } = await openDesk(t);
  const plain = THINKING.filter(({ type }) => !type.startsWith('reasoning')).map((part) => {
    const { providerMetadata: _, ...bare } = { providerMetadata: undefined, ...part };
    return bare as typeof part;
  });
  const model = reasoningModel([plain, DONE]);
  const run = await holdfast.agent({ ...reading, model }).run('go');
  assert.deepEqual(repliesAsked(model), [PLAIN]);
  assert.ok((await groupsOf(holdfast, run)).every(({ wireState }) => wireState === null));
});

check('so it is after a kill, in another process and in the next run of the session', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  await holdfast.close();
  const program = join(import.meta.dirname, 'reasoning-program.ts');
  const { signal, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, dataDir]);
  assert.equal(signal, 'SIGKILL', String(stderr));
  const clock = { nowMs: () => Date.now() + 60_000 };
  const { holdfast: next } = await openDesk(t, { dataDir, clock });
  const [killed] = (await next.runtime.runs.list(next.runtime.principal, { limit: 10 })).items;
  assert.ok(killed);
  const model = reasoningModel([DONE, DONE]);
  const agent = next.agent({ ...reading, model });
  const run = await agent.resume(killed.runId);
  assert.equal(run.status, 'completed');
  assert.deepEqual(repliesAsked(model), [GIVEN_BACK]);
  await agent.run('again', { rootFrameId: run.view.sessionId });
  assert.deepEqual(repliesAsked(model), [GIVEN_BACK, [{ type: 'text', text: 'Done.' }]]);
});

check('another model in the session is given plain text and calls', async (t) => {
  const { holdfast } = await openDesk(t);
  const run = await holdfast.agent({ ...reading, name: 'one', model: reasoningModel([THINKING, DONE]) }).run('go');
  const other = reasoningModel([DONE], 'other');
  await holdfast.agent({ ...reading, name: 'two', model: other }).run('go on', { rootFrameId: run.view.sessionId });
  assert.deepEqual(repliesAsked(other)[0], PLAIN);
});

check('a run that goes on with its model under another name is told plain text and calls', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const tools = [noteTool({ needsApproval: true })];
  const run = await holdfast.agent({ tools, model: reasoningModel([THINKING]) }).run('go');
  for (const asked of run.pending) await run.reject(asked);
  const left = await run.wait();
  assert.equal(left.status, 'failed', 'the model has nothing more to say');
  await holdfast.close();
  const { holdfast: next } = await openDesk(t, { dataDir });
  const model = reasoningModel([DONE], 'renamed');
  const again = await next.agent({ tools, model }).resume(run.id, { adopt: true });
  assert.equal(again.status, 'completed');
  assert.deepEqual(repliesAsked(model), [PLAIN]);
});

check('what the model said stays as it said it where an approver edited one call and refused the other', async (t) => {
  const { holdfast } = await openDesk(t);
  const model = reasoningModel([THINKING, DONE]);
  const tools = [noteTool({ needsApproval: true, editable: ['note'] })];
  const run = await holdfast.agent({ model, tools }).run('go');
  const [milk, tea] = run.pending;
  await run.approve(milk, { editedArguments: { note: 'oats' } });
  await run.reject(tea, 'No tea.');
  assert.equal(run.status, 'completed');
  assert.deepEqual(repliesAsked(model), [GIVEN_BACK]);
  const results = JSON.stringify(model.doStreamCalls[1]?.prompt.at(-1));
  assert.match(results, /approver changed the arguments to .*oats/);
  assert.match(results, /No tea/);
});

check('reasoning that led to nothing is not given back: providers refuse it alone', async (t) => {
  const { holdfast } = await openDesk(t);
  const thought = [
    { type: 'reasoning-start', id: '9', providerMetadata: { p: { item: 'rs-9' } } },
    { type: 'reasoning-delta', id: '9', delta: 'endless' },
    { type: 'reasoning-end', id: '9' },
    finish('length'),
  ] as const;
  const model = reasoningModel([[...DONE.slice(0, -1), ...thought], DONE]);
  const agent = holdfast.agent({ ...reading, model });
  const run = await agent.run('go');
  await agent.run('again', { rootFrameId: run.view.sessionId });
  assert.deepEqual(repliesAsked(model), [[{ type: 'text', text: 'Done.' }]]);
});

check('nothing of it is shown, told to a listener or carried out in a package', async (t) => {
  const { holdfast } = await openDesk(t);
  const heard: unknown[] = [];
  const onText = (text: string): void => void heard.push(text);
  const tools = [noteTool({ effect: 'read', secretFields: ['note'] })];
  const run = await holdfast
    .agent({ tools, model: reasoningModel([THINKING, DONE]) })
    .run('go', { listener: { onText, onProposed: (standing) => heard.push(standing) } });
  assert.doesNotMatch(JSON.stringify([run.view, heard]), SAID_SECRETLY);
  assert.doesNotMatch(JSON.stringify(run.view), /milk/, 'nor what the tool calls secret');
  const { packages, principal } = holdfast.runtime;
  using exported = await packages.export(principal, run.view.sessionId);
  const texts = [...(await readAll(exported.data())).values()].map(String).join('\n');
  assert.match(texts, /I take notes/);
  assert.doesNotMatch(texts, SAID_SECRETLY);
});

check('a package that claims such a reply gives a model here nothing of it', async (t) => {
  const { holdfast } = await openDesk(t);
  const { store, packages, principal } = holdfast.runtime;
  const run = await holdfast.agent({ ...reading, model: reasoningModel([THINKING, DONE]) }).run('go');
  const own = (await groupsOf(holdfast, run)).find(({ wireState }) => wireState !== null);
  assert.ok(own);
  using exported = await packages.export(principal, run.view.sessionId);
  const files = await readAll(exported.data());
  files.delete('manifest.json');
  editDocument(files, 'ledger.json', (ledger) => {
    const groups = ledger['groups'] as JsonObject[];
    const group = groups.find(({ kind }) => kind === 'native_tools');
    if (group) group['wire_state'] = own.wireState;
  });
  const { root_frame_id: root } = await packages.import(principal, resealed(files));
  const groups = await store.read('test', (tx) => branchGroups(tx, principal, root, root));
  const replies = messagesOf(null, groups, 'p:thinker').filter((message) => message.role === 'assistant');
  assert.deepEqual(
    replies.map(({ text, calls, parts }) => [text, calls.length, parts]),
    [
      ['I take notes.', 2, undefined],
      ['Done.', 0, undefined],
    ],
  );
});
