import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { HoldfastError } from '../../src/core/index.ts';
import { connectMcp, type McpConnection, type McpPolicies, mcpTools } from '../../src/mcp/index.ts';
import { NotDone, type Tool, type ToolCallContext } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';

const SERVER = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'odd-server.ts');
const folder = mkdtempSync(join(tmpdir(), 'odd-server-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => {
  files += 1;
  return join(folder, `log-${files}`);
};

const open = (mode: string, file = '', env: Record<string, string> = {}): Promise<McpConnection> =>
  connectMcp({ name: 'odd', server: { command: process.execPath, args: [SERVER, mode, file], env } });

async function withTools(
  mode: string,
  body: (tools: ReadonlyMap<string, Tool>, connection: McpConnection, file: string) => Promise<void>,
  policies: McpPolicies = {},
): Promise<void> {
  const file = newFile();
  const connection = await open(mode, file);
  try {
    const { tools } = await mcpTools(connection, policies);
    await body(new Map(tools.map((tool) => [tool.name, tool])), connection, file);
  } finally {
    await connection.close();
  }
}

const context = (change: Partial<ToolCallContext> = {}): ToolCallContext => ({
  callId: 'c1',
  idempotencyKey: 'key-1',
  principal: { tenant: 'local', subject: 'owner', roles: [] },
  runId: null,
  signal: new AbortController().signal,
  timeoutMs: 5_000,
  progress: () => undefined,
  ...change,
});
const call = (tools: ReadonlyMap<string, Tool>, name = 'write', change: Partial<ToolCallContext> = {}) =>
  (tools.get(`odd__${name}`) ?? assert.fail(`no tool ${name}`)).execute({ a: 1 }, context(change));
const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: HoldfastError) => error.code ?? error.name,
  );

check('a server that dies in a writing call gives an error, never a result, never a second request', async () => {
  await withTools('dies', async (tools, connection, file) => {
    assert.equal(await codeOf(call(tools)), 'MCP_SERVER_GONE');
    assert.equal(readFileSync(file, 'utf8'), 'written\n');
    assert.equal(connection.alive, false);
    await assert.rejects(call(tools), (error) => NotDone.is(error));
    assert.equal(readFileSync(file, 'utf8'), 'written\n');
  });
});

check('garbage, half and doubled messages, and a line without end, end the connection with their code', async () => {
  for (const mode of ['garbage', 'not-rpc', 'doubled', 'huge'])
    await withTools(mode, async (tools, connection) => {
      assert.equal(await codeOf(call(tools)), 'MCP_PROTOCOL_BROKEN', mode);
      assert.equal(connection.alive, false);
    });
  await withTools('half', async (tools) => {
    assert.equal(await codeOf(call(tools, 'write', { timeoutMs: 100 })), 'MCP_TIMEOUT');
  });
});

check(
  'a server that asks without an end and reads no answer is given up before what it is owed fills the memory',
  async () => {
    for (const name of ['write', 'slow'])
      await withTools('asks-deaf', async (tools, connection) => {
        assert.equal(await codeOf(call(tools, name)), 'MCP_PROTOCOL_BROKEN', name);
        assert.equal(connection.alive, false);
      });
  },
);

check('a server that never answers is given up in time, and told that the call is cancelled', async () => {
  await withTools('hang', async (tools, connection, file) => {
    assert.equal(await codeOf(call(tools, 'write', { timeoutMs: 100 })), 'MCP_TIMEOUT');
    await assert.doesNotReject(connection.listTools());
    assert.deepEqual(readFileSync(file, 'utf8').trim().split('\n'), ['asked', 'cancelled']);
  });
});

check('a cancelled call throws and the server is told', async () => {
  await withTools('plain', async (tools, connection, file) => {
    const controller = new AbortController();
    const slow = call(tools, 'slow', { signal: controller.signal });
    while (!readFileSync(file, { encoding: 'utf8', flag: 'a+' }).includes('slow\n')) await new Promise(setImmediate);
    controller.abort(new Error('stopped by a person'));
    assert.notEqual(await codeOf(slow), 'no error');
    await connection.listTools();
    assert.match(readFileSync(file, 'utf8'), /cancelled/);
  });
});

check('an error of the tool is an error; only a policy makes it a proof that nothing was done', async () => {
  await withTools('plain', async (tools) => {
    await assert.rejects(call(tools, 'fail'), (error: HoldfastError) => {
      assert.equal(error.code, 'MCP_TOOL_ERROR');
      return error.details?.['said'] === 'it broke' && !NotDone.is(error);
    });
  });
  const promised: McpPolicies = { fail: { effect: 'once', onToolError: 'not_done' }, read: { effect: 'read' } };
  await withTools(
    'plain',
    async (tools) => assert.rejects(call(tools, 'fail'), (error) => NotDone.is(error)),
    promised,
  );
});

check(
  'errors of the protocol and results that say nothing are coded, with the words of the server in bounds',
  async () => {
    await withTools('rpc-error', async (tools) => {
      await assert.rejects(call(tools), (error: HoldfastError) => {
        assert.equal(error.code, 'MCP_CALL_FAILED');
        return !error.message.includes('yyy') && String(error.details?.['said']).length <= 2_000;
      });
    });
    for (const mode of ['nothing', 'wrong-type'])
      await withTools(mode, async (tools) => assert.equal(await codeOf(call(tools)), 'MCP_CALL_FAILED', mode));
    await withTools('asks', async (tools) => assert.notEqual(await codeOf(call(tools)), 'no error'));
    await withTools('structured', async (tools) =>
      assert.deepEqual(await call(tools), { content: [], structuredContent: { n: 1 } }),
    );
  },
);

check('an integer that a double cannot hold arrives whole', async () => {
  await withTools('numbers', async (tools) => {
    assert.deepEqual(await call(tools), { content: [], structuredContent: { n: 12_345_678_901_234_567_890n } });
  });
});

check('the key of a writing call travels, a read has none, and arguments arrive as they were', async () => {
  const policies: McpPolicies = { read: { effect: 'read' } };
  await withTools(
    'plain',
    async (tools, _connection, file) => {
      assert.deepEqual(await call(tools, 'write'), { content: [{ type: 'text', text: 'ok' }] });
      await call(tools, 'read');
      const [written, read] = readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { arguments: object; _meta?: Record<string, unknown> });
      assert.deepEqual(written?.arguments, { a: 1 });
      assert.equal(written?._meta?.['holdfast/idempotency_key'], 'key-1');
      assert.equal(read?._meta?.['holdfast/idempotency_key'], undefined);
    },
    policies,
  );
});

check(
  'effects come from policies: without one a tool is once and asks each time, whatever it says of itself',
  async () => {
    const policies: McpPolicies = { read: { effect: 'read', revision: 'p2', groups: ['files'] } };
    await withTools(
      'plain',
      async (tools) => {
        const undeclared = tools.get('odd__write');
        assert.equal(undeclared?.effect, 'once');
        assert.equal(await undeclared?.needsApproval?.({}, context().principal), true);
        const read = tools.get('odd__read');
        assert.deepEqual(
          [read?.effect, read?.parallel, read?.groups, read?.producer],
          ['read', true, ['files'], 'odd'],
        );
        assert.equal(read?.revisions.handler, 'odd@1.2.3');
        assert.equal(read?.revisions.policy, 'p2');
        assert.match(read?.revisions.inputSchema ?? '', /^schema-[0-9a-f]{32}$/);
        assert.deepEqual(undeclared?.resources?.({}), [
          { kind: 'external', role: 'target', namespace: 'mcp', endpointId: 'odd', serverId: 'odd', toolId: 'write' },
        ]);
      },
      policies,
    );
    const connection = await open('plain');
    try {
      assert.equal(await codeOf(mcpTools(connection, { gone: { effect: 'read' } })), 'MCP_TOOLS_INVALID');
      const chosen = await mcpTools(connection, (tool) => (tool.name === 'read' ? { effect: 'read' } : undefined));
      assert.deepEqual(
        chosen.tools.map((tool) => tool.effect),
        ['once', 'read', 'once', 'once'],
      );
    } finally {
      await connection.close();
    }
  },
);

check('lists are read page by page within bounds, and each wrong one is refused', async () => {
  await withTools('pages', async (tools) => assert.equal(tools.size, 10));
  for (const [mode, code] of [
    ['endless', 'MCP_TOOLS_INVALID'],
    ['many', 'MCP_TOOLS_INVALID'],
    ['not-a-list', 'MCP_CALL_FAILED'],
  ] as const) {
    const connection = await open(mode);
    assert.equal(await codeOf(mcpTools(connection)), code, mode);
    await connection.close();
  }
});

check('a malformed tool is refused by its name with the reason, and keeps nobody from the good ones', async () => {
  const connection = await open('malformed');
  try {
    const { tools, skipped } = await mcpTools(connection, { good: { effect: 'read' }, bare: { effect: 'read' } });
    assert.deepEqual(
      tools.map(({ name, effect }) => [name, effect]),
      [
        ['odd__good', 'read'],
        ['odd__good2', 'once'],
      ],
    );
    assert.deepEqual(
      skipped.map(({ name, code, reason }) => [name, code, /\w+/.exec(reason.split('`')[1] ?? '')?.[0]]),
      [
        ['bare', 'MCP_TOOLS_INVALID', 'inputSchema'],
        ['(number 3)', 'MCP_TOOLS_INVALID', 'name'],
        ['listy', 'MCP_TOOLS_INVALID', 'inputSchema'],
        ['wordy', 'MCP_TOOLS_INVALID', 'description'],
        ['out', 'MCP_TOOLS_INVALID', 'outputSchema'],
        ['(number 8)', 'MCP_TOOLS_INVALID', undefined],
      ],
    );
    assert.deepEqual(
      (await connection.listTools()).map(({ name }) => name),
      ['good', 'good2'],
    );
  } finally {
    await connection.close();
  }
});

check('of two tools of one name neither is offered, whichever of them is well-formed', async () => {
  const connection = await open('twice');
  try {
    const { tools, skipped } = await mcpTools(connection, { same: { effect: 'read' } });
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['odd__good'],
    );
    assert.deepEqual(
      skipped.map(({ name, code }) => [name, code]),
      [
        ['same', 'MCP_TOOLS_INVALID'],
        ['same', 'MCP_TOOLS_INVALID'],
        ['good2', 'MCP_TOOLS_INVALID'],
        ['good2', 'MCP_TOOLS_INVALID'],
      ],
    );
    assert.match(skipped[2]?.reason ?? '', /two tools of this name/);
  } finally {
    await connection.close();
  }
});

check('tools whose schemas cannot be used are skipped with the reason, and names are made to fit', async () => {
  const connection = await open('schemas');
  try {
    const { tools, skipped } = await mcpTools(connection);
    assert.deepEqual(
      skipped.map(({ name, code }) => [name, code]),
      [
        ['loop', 'TOOL_SCHEMA_INVALID'],
        ['remote', 'TOOL_SCHEMA_INVALID'],
        ['huge', 'TOOL_SCHEMA_INVALID'],
      ],
    );
    const [good, strange, long] = tools.map((tool) => tool.name);
    assert.equal(good, 'odd__good');
    assert.match(strange ?? '', /^odd__a_strange_name_[0-9a-f]{8}$/);
    assert.match(long ?? '', /^odd__x{50}_[0-9a-f]{8}$/);
  } finally {
    await connection.close();
  }
});

check('a child gets the environment that was given and nothing of ours', async () => {
  const file = newFile();
  process.env['SECRET_OF_THIS_PROCESS'] = 'x';
  try {
    const connection = await open('environment', file, { GIVEN: '1' });
    await connection.close();
    const seen = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
    assert.deepEqual(
      [seen['GIVEN'], seen['SECRET_OF_THIS_PROCESS'], seen['HOME'], seen['PATH']],
      ['1', undefined, undefined, undefined],
    );
  } finally {
    delete process.env['SECRET_OF_THIS_PROCESS'];
  }
});

check('a child that will not end is killed with everything it started', async () => {
  const file = newFile();
  const connection = await open('stubborn', file);
  await connection.close();
  const [pids] = readFileSync(file, 'utf8').split('\n');
  for (const pid of (pids ?? '').split(' ').map(Number)) {
    assert.ok(pid > 0);
    for (let tries = 0; isRunning(pid) && tries < 1_000; tries += 1) await new Promise((again) => setTimeout(again, 5));
    const outlived = isRunning(pid);
    if (outlived) process.kill(pid, 'SIGKILL');
    assert.equal(outlived, false);
  }
});

/** A killed grandchild may stay as an entry that nobody has collected; it no longer runs. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

check('a loud child is drained, and only the end of its log is kept', async () => {
  await withTools('loud', async (tools, connection) => {
    await call(tools);
    const tail = connection.stderrTail();
    assert.ok(tail.length <= 65_536 && tail.length > 30_000);
    assert.match(tail, /299\n$/);
  });
});

check('what cannot be started, exits at once, or never greets, is refused and leaves nothing behind', async () => {
  const servers = [
    { command: join(folder, 'no-such-program') },
    { command: process.execPath, args: [SERVER, 'no-start'] },
    { command: process.execPath, args: ['-e', 'console.log("hello")'] },
  ];
  for (const server of servers) assert.equal(await codeOf(connectMcp({ name: 'odd', server })), 'MCP_CONNECT_FAILED');
  const mute = { command: process.execPath, args: [SERVER, 'mute'] };
  assert.equal(await codeOf(connectMcp({ name: 'odd', server: mute, connectTimeoutMs: 50 })), 'MCP_CONNECT_FAILED');
});

check('options are checked before anything is started', async () => {
  const command = process.execPath;
  const wrong: [string, object][] = [
    ['name', { name: 'a b', server: { command } }],
    ['name', { name: 'x'.repeat(33), server: { command } }],
    ['server', { name: 'a', server: null }],
    ['command', { name: 'a', server: { command: '' } }],
    ['command', { name: 'a', server: { command, args: [7] } }],
    ['args', { name: 'a', server: { command, args: Array(256).fill('x') } }],
    ['env', { name: 'a', server: { command, env: { A: 1 } } }],
    ['env', { name: 'a', server: { command, env: { 'A=B': 'x' } } }],
    ['url', { name: 'a', server: { url: 'ftp://example.com' } }],
    ['url', { name: 'a', server: { url: 'https://user:pw@example.com/mcp' } }],
    ['connectTimeoutMs', { name: 'a', server: { command }, connectTimeoutMs: 60_001 }],
  ];
  for (const [field, options] of wrong)
    await assert.rejects(connectMcp(options as Parameters<typeof connectMcp>[0]), {
      code: 'MCP_CONFIG_INVALID',
      details: { field },
    });
});
