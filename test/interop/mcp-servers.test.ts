import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { HoldfastError } from '../../src/core/index.ts';
import { connectMcp, type HttpServer, type McpPolicies, mcpTools, type StdioServer } from '../../src/mcp/index.ts';
import { acceptArguments, acceptOutput, type Tool, type ToolCallContext } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';
import { everythingOverHttp, program } from './reference-servers.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-servers-')));
after(() => rmSync(folder, { recursive: true }));

const reference = (name: string, args: readonly string[] = [], env: Record<string, string> = {}): StdioServer => ({
  command: process.execPath,
  args: [program(name), ...args],
  env,
});

const context = (change: Partial<ToolCallContext> = {}): ToolCallContext => ({
  callId: 'c1',
  idempotencyKey: 'key-1',
  principal: { tenant: 'local', subject: 'owner', roles: [] },
  runId: null,
  signal: new AbortController().signal,
  timeoutMs: 20_000,
  progress: () => undefined,
  ...change,
});

type Call = (name: string, args: object, change?: Partial<ToolCallContext>) => Promise<unknown>;

async function withServer(
  server: StdioServer | HttpServer,
  policies: McpPolicies,
  body: (call: Call, tools: ReadonlyMap<string, Tool>) => Promise<void>,
): Promise<void> {
  await using connection = await connectMcp({ name: 's', server });
  const { tools, skipped } = await mcpTools(connection, policies);
  assert.deepEqual(skipped, []);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  await body(async (name, args, change = {}) => {
    const tool = byName.get(`s__${name}`) ?? assert.fail(`no tool ${name}`);
    const accepted = await acceptArguments(tool, JSON.stringify(args));
    assert.ok(accepted.ok, JSON.stringify(accepted));
    const output = await tool.execute(args, context(change));
    const judged = await acceptOutput(tool, output, args);
    assert.ok(judged.ok, JSON.stringify(judged));
    return output;
  }, byName);
}
const textOf = (output: unknown): string =>
  (output as { content: { text?: string }[] }).content.map((item) => item.text ?? '').join('\n');
const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: HoldfastError) => error.code,
  );

check('the filesystem server works on a real folder, and what it refuses is an error', async () => {
  writeFileSync(join(folder, 'note.txt'), 'one\n');
  const policies: McpPolicies = { read_text_file: { effect: 'read' }, write_file: { effect: 'idempotent' } };
  await withServer(reference('server-filesystem', [folder]), policies, async (call, tools) => {
    assert.match(textOf(await call('read_text_file', { path: join(folder, 'note.txt') })), /one/);
    await call('write_file', { path: join(folder, 'made.txt'), content: 'two\n' });
    assert.equal(readFileSync(join(folder, 'made.txt'), 'utf8'), 'two\n');
    assert.equal(await codeOf(call('read_text_file', { path: '/etc/passwd' })), 'MCP_TOOL_ERROR');
    assert.deepEqual([tools.get('s__write_file')?.effect, tools.get('s__move_file')?.effect], ['idempotent', 'once']);
    const wrong = await acceptArguments(tools.get('s__write_file') as Tool, '{"path":7}');
    assert.ok(!wrong.ok && wrong.issues.length > 0);
  });
});

check('the memory server keeps what is written, in the file that its environment names', async () => {
  const file = join(folder, 'memory.jsonl');
  const server = reference('server-memory', [], { MEMORY_FILE_PATH: file });
  await withServer(server, { read_graph: { effect: 'read' } }, async (call) => {
    await call('create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['counts'] }] });
    const graph = (await call('read_graph', {})) as { structuredContent: { entities: { name: string }[] } };
    assert.deepEqual(
      graph.structuredContent.entities.map((entity) => entity.name),
      ['Ada'],
    );
    assert.match(readFileSync(file, 'utf8'), /Ada/);
  });
});

const EVERYTHING: McpPolicies = (tool) => (tool.name === 'echo' ? { effect: 'read' } : undefined);

async function everything(call: Call): Promise<void> {
  assert.match(textOf(await call('echo', { message: 'hello' })), /hello/);
  const structured = (await call('get-structured-content', { location: 'Chicago' })) as { structuredContent: object };
  assert.ok('temperature' in structured.structuredContent);
  const seen: number[] = [];
  const progress = ({ done }: { done: number }): void => void seen.push(done);
  await call('trigger-long-running-operation', { duration: 0.2, steps: 2 }, { progress });
  assert.ok(seen.length >= 1 && seen.every((done) => done <= 2));
  const slow = (change: Partial<ToolCallContext>) =>
    call('trigger-long-running-operation', { duration: 60, steps: 2 }, change);
  assert.equal(await codeOf(slow({ timeoutMs: 50 })), 'MCP_TIMEOUT');
  const controller = new AbortController();
  const cancelled = codeOf(slow({ signal: controller.signal }));
  setImmediate(() => controller.abort());
  assert.notEqual(await cancelled, 'no error');
  assert.match(textOf(await call('get-sum', { a: 2, b: 3 })), /5/);
}

check(
  'the everything server over standard input and output: text, structure, progress, time-out, cancellation',
  async () => {
    await withServer(reference('server-everything', ['stdio']), EVERYTHING, everything);
  },
);

check('the everything server over streamable HTTP does the same', async () => {
  const server = await everythingOverHttp();
  try {
    await withServer({ url: server.url }, EVERYTHING, everything);
  } finally {
    await server.close();
  }
});

interface SeenPost {
  readonly method: string;
  readonly authorization: string | undefined;
}

/** A server over HTTP by hand: greets, lists one tool, and answers its call as told. */
async function httpServer(
  answer: (response: ServerResponse, id: unknown) => void,
): Promise<[Server, HttpServer, SeenPost[]]> {
  const seen: SeenPost[] = [];
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(text) as {
        id?: number;
        method: string;
        params?: Record<string, unknown>;
      };
      seen.push({ method, authorization: request.headers.authorization });
      const json = (result: object): void => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      };
      if (method === 'initialize')
        json({
          protocolVersion: params?.['protocolVersion'],
          capabilities: { tools: {} },
          serverInfo: { name: 'h', version: '1' },
        });
      else if (method === 'tools/list') json({ tools: [{ name: 'write', inputSchema: { type: 'object' } }] });
      else if (method === 'tools/call') answer(response, id);
      else response.writeHead(202).end();
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  return [server, { url: `http://127.0.0.1:${port}/mcp`, headers: { authorization: 'Bearer t' } }, seen];
}

check(
  'over HTTP a lost, oversized or redirected answer to a writing call is an error, and the call is sent once',
  async () => {
    const answers: [string, RegExp, (response: ServerResponse, id: unknown) => void][] = [
      ['lost', /MCP_CALL_FAILED|MCP_SERVER_GONE/, (response) => response.destroy()],
      ['refused', /MCP_CALL_FAILED/, (response) => response.writeHead(500).end('no')],
      ['redirected', /MCP_CALL_FAILED/, (response) => response.writeHead(307, { location: '/other' }).end()],
      [
        'oversized',
        /MCP_PROTOCOL_BROKEN/,
        (response, id) => {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write(`{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[{"type":"text","text":"`);
          for (let i = 0; i < 80; i += 1) response.write('x'.repeat(65_536));
          response.end('"}]}}');
        },
      ],
      [
        'oversized event',
        /MCP_PROTOCOL_BROKEN/,
        (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write('data: ');
          for (let i = 0; i < 80; i += 1) response.write('x'.repeat(65_536));
          response.end('\n\n');
        },
      ],
    ];
    for (const [name, code, answer] of answers) {
      const [server, options, seen] = await httpServer(answer);
      try {
        await withServer(options, {}, async (call) => {
          assert.match(await codeOf(call('write', {})), code, name);
        });
        const calls = seen.filter(({ method }) => method === 'tools/call');
        assert.deepEqual([calls.length, calls[0]?.authorization], [1, 'Bearer t'], name);
      } finally {
        server.closeAllConnections();
        await new Promise((closed) => server.close(closed));
      }
    }
  },
);
