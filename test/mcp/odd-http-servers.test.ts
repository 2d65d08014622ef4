import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type HoldfastError, LIMITS } from '../../src/core/index.ts';
import { connectMcp, type McpConnection, mcpTools } from '../../src/mcp/index.ts';
import { assert, check } from '../support/index.ts';

// Servers over streamable HTTP that misbehave: what is promised over standard input and output holds here as well.

interface Request {
  readonly id?: number;
  readonly method?: string;
}
type Behaviour = (response: ServerResponse, request: Request) => unknown;

const json = (response: ServerResponse, body: string): unknown =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
const events = (response: ServerResponse, body: string): unknown =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);

interface OddServer {
  readonly url: string;
  readonly asked: readonly string[];
  stop(): Promise<void>;
}

/** Greets, and does with everything else as the table says by its method. */
async function oddServer(t: TestContext, behaviours: Record<string, Behaviour>): Promise<OddServer> {
  const asked: string[] = [];
  const greet: Behaviour = (response, { id }) =>
    json(
      response,
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'odd', version: '1' },
        },
      }),
    );
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      if (incoming.method !== 'POST') return void response.writeHead(405).end();
      const request = JSON.parse(Buffer.concat(parts).toString()) as Request;
      const { method = '' } = request;
      asked.push(method);
      if (behaviours[method]) return void behaviours[method](response, request);
      return void (method === 'initialize' ? greet(response, request) : response.writeHead(202).end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  t.after(() => stop().catch(() => undefined));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, asked, stop };
}

const call = (connection: McpConnection): Promise<unknown> =>
  connection.callTool({
    name: 'write',
    arguments: {},
    signal: new AbortController().signal,
    timeoutMs: 5_000,
    onProgress: () => undefined,
  });
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (value) => JSON.stringify(value),
    (error: HoldfastError) => error.code,
  );

const TWO_WAYS: Record<string, (id: number) => string> = {
  'a success and a failure at once': (id) =>
    `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"isError":true,"isError":false}}`,
  'half a character': (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"\\ud800"}]}}`,
  'no JSON at all': () => 'all went well',
};

check('an answer over HTTP that can be read in two ways is no success, as a body and as an event', async (t) => {
  for (const [name, body] of Object.entries(TWO_WAYS))
    for (const form of ['body', 'event']) {
      const server = await oddServer(t, {
        'tools/call': (response, { id = 0 }) =>
          form === 'body' ? json(response, body(id)) : events(response, `event: message\ndata: ${body(id)}\n\n`),
      });
      const connection = await connectMcp({ name: 'odd', server });
      assert.equal(await codeOf(call(connection)), 'MCP_PROTOCOL_BROKEN', `${name}, ${form}`);
      assert.equal(connection.alive, false);
      await connection.close();
    }
});

check(
  'over HTTP an integer that a double cannot hold arrives whole, and what is no message is passed over',
  async (t) => {
    const body = (id: number): string =>
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"n":12345678901234567890}}}`;
    for (const form of ['body', 'event']) {
      const server = await oddServer(t, {
        'tools/call': (response, { id = 0 }) =>
          form === 'body'
            ? json(response, body(id))
            : events(response, `: hello\n\nid: a\ndata: \n\nevent: ping\ndata: now\n\ndata:${body(id)}\r\n\r\n`),
      });
      const connection = await connectMcp({ name: 'odd', server });
      const { structuredContent } = (await call(connection)) as { structuredContent: unknown };
      assert.deepEqual(structuredContent, { n: 12_345_678_901_234_567_890n }, form);
      await connection.close();
    }
  },
);

check('a server that answers the greeting and never what follows it is given up in time', async (t) => {
  const server = await oddServer(t, { 'notifications/initialized': () => undefined });
  assert.equal(await codeOf(connectMcp({ name: 'odd', server, connectTimeoutMs: 300 })), 'MCP_CONNECT_FAILED');
  assert.deepEqual(server.asked, ['initialize', 'notifications/initialized']);
});

check('a server that is gone, or hangs up in a call, is told as gone', async (t) => {
  const server = await oddServer(t, { 'tools/call': (response) => response.destroy() });
  const connection = await connectMcp({ name: 'odd', server });
  assert.equal(await codeOf(call(connection)), 'MCP_SERVER_GONE');
  await server.stop();
  assert.equal(await codeOf(call(connection)), 'MCP_SERVER_GONE');
  await connection.close();
});

check('a description that is cut amid a character stays text that everybody can read', async (t) => {
  const description = `a${'😀'.repeat(10_000)}`;
  const tools = [{ name: 'write', description, inputSchema: { type: 'object' } }];
  const server = await oddServer(t, {
    'tools/list': (response, { id }) => json(response, JSON.stringify({ jsonrpc: '2.0', id, result: { tools } })),
  });
  const connection = await connectMcp({ name: 'odd', server });
  const offered = (await mcpTools(connection)).tools[0];
  assert.equal(offered?.description.isWellFormed(), true);
  assert.ok((offered?.description.length ?? 0) > 1_000);
  await connection.close();
});

check('an answer over HTTP without an end is broken off at the bound, in the middle of it', async (t) => {
  const part = Buffer.alloc(256 * 1024, ' ');
  let sent = 0;
  let hungUp: (bytes: number) => void = () => undefined;
  const brokenOff = new Promise<number>((resolve) => (hungUp = resolve));
  const pour = (response: ServerResponse): void => {
    response.on('close', () => hungUp(sent));
    const more = (error?: Error | null): void => {
      if (error || sent > 8 * LIMITS.mcpMessageBytes) return void response.end();
      sent += part.length;
      response.write(part, more);
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    more();
  };
  const server = await oddServer(t, { 'tools/call': pour });
  const connection = await connectMcp({ name: 'odd', server });
  assert.equal(await codeOf(call(connection)), 'MCP_PROTOCOL_BROKEN');
  assert.ok((await brokenOff) < 4 * LIMITS.mcpMessageBytes);
  await connection.close();
});

check('a server over HTTP that asks without an end and takes no answer is given up', async (t) => {
  const pings = Array.from({ length: 1_000 }, (_, id) => `data: {"jsonrpc":"2.0","id":${id},"method":"ping"}\n\n`);
  const deaf = await oddServer(t, {
    'tools/call': (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(pings.join('')),
    // An answer has no method.
    '': () => undefined,
  });
  const connection = await connectMcp({ name: 'odd', server: { url: deaf.url } });
  t.after(() => connection.close());
  assert.equal(await codeOf(call(connection)), 'MCP_PROTOCOL_BROKEN');
  assert.equal(connection.alive, false);
  assert.ok(deaf.asked.filter((method) => method === '').length < 300);
});
