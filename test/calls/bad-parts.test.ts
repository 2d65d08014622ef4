import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connectMcp, mcpTools } from '../../src/mcp/index.ts';
import { type ModelFunction, NotDone, tool } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

const SERVER = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'odd-server.ts');

/** A run whose one writing call goes to a real server, a child process, that misbehaves in it. */
async function runOn(t: TestContext, mode: string) {
  const log = join(await temporaryFolder(t), 'log');
  const server = { command: process.execPath, args: [SERVER, mode, log] };
  const connection = await connectMcp({ name: 'odd', server });
  t.after(() => connection.close());
  // Only a server that never answers is waited for to the end.
  const timeoutMs = mode === 'half' || mode === 'hang' ? 500 : 60_000;
  const { tools } = await mcpTools(connection, { write: { effect: 'once', needsApproval: false, timeoutMs } });
  const { holdfast } = await openDesk(t);
  const model: ModelFunction = ({ messages }) =>
    messages.at(-1)?.role === 'user'
      ? { calls: [{ callId: 'write-1', toolName: 'odd__write', arguments: { a: 1 } }] }
      : 'done';
  const run = await holdfast.agent({ model, tools }).run('go');
  return { run, connection, log };
}

for (const [mode, told] of [
  ['garbage', /TOOL_THREW.*The MCP server/],
  ['doubled', /TOOL_THREW.*The MCP server/],
  ['huge', /TOOL_THREW.*The MCP server/],
  ['half', /TOOL_TIMED_OUT/],
  ['hang', /TOOL_TIMED_OUT/],
  ['dies', /TOOL_THREW.*The MCP server ended/],
] as const)
  check(`a server that answers a writing call with ${mode} leaves it unknown, asked once`, async (t) => {
    const { run, log } = await runOn(t, mode);
    const outcome = run.view.calls[0]?.outcome;
    assert.equal(outcome?.state, 'unknown');
    assert.match(JSON.stringify(outcome), told);
    assert.equal(run.view.outcome, 'unknown');
    if (mode === 'dies') assert.equal(readFileSync(log, 'utf8'), 'written\n');
  });

check('arguments of 10 MB reach neither a tool nor the store, and the run says why', async (t) => {
  const { holdfast } = await openDesk(t);
  let ran = 0;
  const tool = noteTool({ execute: () => ({ at: (ran += 1) }) });
  const run = await holdfast
    .agent({ model: callsThenDone([{ note: 'x'.repeat(10 * 1024 * 1024) }]), tools: [tool] })
    .run('go');
  const { status, reason, calls } = run.view;
  assert.deepEqual([ran, status, calls.length], [0, 'failed', 0]);
  assert.match(JSON.stringify(reason), /reply of a model may have at most 1048576/);
});

check('arguments just above what a tool takes are refused by name, and the run goes on', async (t) => {
  const { holdfast } = await openDesk(t);
  let ran = 0;
  const tool = noteTool({ execute: () => ({ at: (ran += 1) }) });
  const run = await holdfast.agent({ model: callsThenDone([{ note: 'x'.repeat(65_536) }]), tools: [tool] }).run('go');
  const outcome = run.view.calls[0]?.outcome;
  assert.deepEqual([ran, run.status, outcome?.state], [0, 'completed', 'not_started']);
});

/** What a run comes to whose tool does this with one NUL in its text. */
async function runWith(t: TestContext, given: Parameters<typeof noteTool>[0]) {
  const { holdfast } = await openDesk(t);
  return holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool(given)] }).run('go');
}

for (const effect of ['read', 'once'] as const)
  check(
    `a text with NUL that a tool of effect ${effect} answers is kept whole, and the model reads it as JSON`,
    async (t) => {
      const run = await runWith(t, { effect, execute: () => 'a\0b' });
      assert.deepEqual([run.status, run.text], ['completed', 'told: "a\\u0000b"']);
      const outcome = run.view.calls[0]?.outcome;
      assert.deepEqual(outcome?.state === 'done' && outcome.output, 'a\0b');
    },
  );

check('a NUL in why a tool did nothing, refused or failed keeps no outcome from being written down', async (t) => {
  const throwing = (error: Error) => () => {
    throw error;
  };
  const said = [];
  for (const given of [
    { execute: throwing(new NotDone('no\0pe')) },
    { execute: throwing(new Error('no\0pe')) },
    { effect: 'read' as const, execute: throwing(new Error('no\0pe')) },
    { precondition: () => ({ refused: 'no\0pe' }) },
    { checkOutput: () => ['no\0pe'] },
    { effect: 'read' as const, checkOutput: () => ['no\0pe'] },
  ]) {
    const outcome = (await runWith(t, given)).view.calls[0]?.outcome;
    said.push([outcome?.state, outcome && 'reason' in outcome && outcome.reason]);
  }
  assert.deepEqual(said, [
    ['not_done', 'no\u{fffd}pe'],
    ['unknown', 'The tool failed: no\u{fffd}pe'],
    ['failed', 'no\u{fffd}pe'],
    ['not_started', 'no\u{fffd}pe'],
    ['unknown', 'The tool answered what it may not answer: no\u{fffd}pe.'],
    ['failed', "The tool's answer is invalid: no\u{fffd}pe."],
  ]);
});

check('arguments with NUL, as a name or raw, are refused like any that do not fit, and the run goes on', async (t) => {
  const { holdfast } = await openDesk(t);
  // A plain schema says in its refusal which name it met.
  const plainNote = tool({
    name: 'take_note',
    description: 'Takes a note.',
    inputSchema: { type: 'object', properties: { note: { type: 'string' } }, additionalProperties: false },
    effect: 'read',
    execute: () => 'noted',
  });
  const proposals = [{ 'note\0': 'milk' }, '{"note":"\0"}'];
  const model: ModelFunction = ({ messages }) => {
    const given = proposals[messages.filter(({ role }) => role === 'assistant').length];
    return given === undefined ? 'done' : { calls: [{ toolName: 'take_note', arguments: given }] };
  };
  const run = await holdfast.agent({ model, tools: [plainNote] }).run('go');
  const codes = run.view.calls.map(({ outcome }) => outcome && 'code' in outcome && outcome.code);
  assert.deepEqual([run.status, codes], ['completed', ['TOOL_ARGUMENTS_INVALID', 'TOOL_ARGUMENTS_INVALID']]);
});

for (const [what, note] of [
  ['blank', ' '],
  ['longer than anybody could look at', 'x'.repeat(5000)],
] as const)
  for (const needsApproval of [true, false])
    check(
      `a call aimed at what is ${what} is refused${needsApproval ? ' before anybody is asked' : ''}, and the run goes on`,
      async (t) => {
        const { holdfast } = await openDesk(t);
        const root = await temporaryFolder(t);
        const writing = noteTool({
          needsApproval,
          resources: ({ note: path }) => [{ kind: 'filesystem', role: 'file', root, path, mayBeMissing: true }],
        });
        const run = await holdfast.agent({ model: callsThenDone([{ note }]), tools: [writing] }).run('go');
        const outcome = run.view.calls[0]?.outcome;
        assert.deepEqual([run.status, run.pending.length, outcome?.state], ['completed', 0, 'not_started']);
        assert.equal(outcome && 'code' in outcome && outcome.code, 'RESOURCE_INVALID');
        assert.match(run.text, /NOT STARTED \(RESOURCE_INVALID\)/);
      },
    );

const OWNED = {
  kind: 'owned',
  namespace: 'notes',
  owner: 'us',
  threadId: 'one',
  collection: 'all',
  recordId: '1',
} as const;

for (const exists of [null, false])
  check(
    `a look that tells of contents where exists is ${exists} sees nothing, and takes nothing from the outcome`,
    async (t) => {
      const { holdfast } = await openDesk(t);
      const role = 'note';
      const odd = noteTool({
        resources: () => [{ ...OWNED, role }],
        observe: () => [
          { role, mechanism: 'owned_record_read', coverage: 'complete', exists, contentSha256: 'a'.repeat(64) },
        ],
      });
      const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [odd] }).run('go');
      const outcome = { state: 'done', output: { ok: true }, verified: false, settledBy: null };
      assert.deepEqual(run.view.calls[0]?.outcome, outcome);
    },
  );

check('a look that tells wrongly of one thing still proves another one', async (t) => {
  const { holdfast } = await openDesk(t);
  const seen = { mechanism: 'owned_record_read', coverage: 'complete' } as const;
  const odd = noteTool({
    resources: () => [
      { ...OWNED, role: 'odd', recordId: '2' },
      { ...OWNED, role: 'note' },
    ],
    postconditions: () => [{ role: 'note', predicate: 'exists' }],
    observe: () => [
      { ...seen, role: 'odd', exists: false, contentSha256: 'a'.repeat(64) },
      { ...seen, role: 'note', exists: true },
    ],
  });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [odd] }).run('go');
  const outcome = { state: 'done', output: { ok: true }, verified: true, settledBy: null };
  assert.deepEqual(run.view.calls[0]?.outcome, outcome);
});

const FILL = `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
  INSERT INTO effect_records (tenant_id, run_id, sequence, type, observation_id, body)
  SELECT c.tenant_id, c.run_id, n.i, 'observation', 'o' || n.i, '{}' FROM n JOIN effect_records c WHERE c.type = 'claim'`;

check('a run that has room for no more records of effects still ends its call as what it was', async (t) => {
  const { holdfast } = await openDesk(t);
  const role = 'note';
  const filling = noteTool({
    resources: () => [{ ...OWNED, role }],
    postconditions: () => [{ role, predicate: 'exists' }],
    observe: () => [{ role, mechanism: 'owned_record_read', coverage: 'complete', exists: true }],
    execute: async () => {
      await holdfast.runtime.store.write('test', (tx) => tx.run(FILL));
      return { ok: true };
    },
  });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [filling] }).run('go');
  const outcome = { state: 'done', output: { ok: true }, verified: false, settledBy: null };
  assert.deepEqual(run.view.calls[0]?.outcome, outcome);
});

for (const [what, retry, message] of [
  ['was tried again', { most: 1, pauseMs: 1 }, 'x'.repeat(3000)],
  ['names a secret that is struck out', undefined, 'password=a '.repeat(180)],
] as const)
  check(`a call that did nothing, told at length, and ${what} is known as not done`, async (t) => {
    const { holdfast } = await openDesk(t);
    const refusing = noteTool({
      effect: 'idempotent',
      onError: 'not_done',
      ...(retry ? { retry } : {}),
      execute: () => {
        throw new Error(message);
      },
    });
    const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [refusing] }).run('go');
    assert.equal(run.view.calls[0]?.outcome?.state, 'not_done');
    const { runtime } = holdfast;
    const verdicts = await runtime.store.read('test', (tx) => tx.all('SELECT verdict FROM operation_verdicts'));
    assert.deepEqual(verdicts, [{ verdict: 'not_done' }]);
  });
