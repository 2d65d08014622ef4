import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connectMcp, mcpTools } from '../../src/mcp/index.ts';
import type { ModelFunction } from '../../src/index.ts';
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
