import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runHttpGuard } from '../../src/app/index.ts';
import { bridgeTo, httpFront } from '../interop/conformance/http-front.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { guardWorld, type Message, OPEN_POLICY, outcomeOf, resultOf, textOf } from './guard-world.ts';
import { httpWorld, json, messageOf, result } from './http-world.ts';

const NAMES = ['binary', 'structured', 'very_long', 'progresses'];
const tools = Object.fromEntries(NAMES.map((name) => [name, { effect: 'once' }]));
const POLICY = {
  ...OPEN_POLICY,
  tools: { ...OPEN_POLICY.tools, ...tools },
  rules: [...OPEN_POLICY.rules, { id: 'odd', tools: NAMES, decision: 'allow' }],
};

/** A host in front of the guard in front of one and the same server, however the three speak. */
interface Peers {
  /** Everything that the host gets until its answer, the answer last; as the lines or events that brought it. */
  readonly call: (name: string, args: object, more?: object) => Promise<readonly string[]>;
  readonly effects: () => number;
}

async function overLines(t: TestContext): Promise<Peers> {
  const world = await guardWorld(t, { policy: POLICY });
  return {
    call: async (name, args, more = {}) => {
      world.send({ id: 1, method: 'tools/call', params: { name, arguments: args, ...more } });
      const lines: string[] = [];
      do lines.push(await world.line());
      while ((JSON.parse(lines.at(-1) ?? '') as Message).id === undefined);
      return lines;
    },
    effects: () => world.effects().length,
  };
}

async function overHttp(t: TestContext): Promise<Peers> {
  const folder = await temporaryFolder(t);
  const world = join(folder, 'world.jsonl');
  const server = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'guarded-server.ts');
  const front = await httpFront(bridgeTo(process.execPath, [server, world]));
  const settings = {
    dataDir: join(folder, 'data'),
    policy: JSON.stringify(POLICY),
    url: front.url,
    port: 0,
    waitMs: 100,
  };
  const guard = await runHttpGuard({ ...settings, tell: () => undefined });
  t.after(async () => {
    await Promise.all([front.close(), guard.close()]);
  });
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const post = (message: object): Promise<Response> =>
    fetch(guard.url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) });
  const greeted = await post({ method: 'initialize', params: { capabilities: {} } });
  headers['mcp-session-id'] = greeted.headers.get('mcp-session-id') ?? '';
  await greeted.body?.cancel();
  return {
    call: async (name, args, more = {}) => {
      const reply = await post({ method: 'tools/call', params: { name, arguments: args, ...more } });
      const text = await reply.text();
      if (!(reply.headers.get('content-type') ?? '').includes('event-stream')) return [text];
      // The server answers a greeting with an echo, which may come on any stream.
      const said = text.split('\n').filter((line) => line.startsWith('data: {') && !line.includes('world/echo'));
      return said.map((line) => line.slice(6));
    },
    effects: () => (existsSync(world) ? readFileSync(world, 'utf8').split('\n').length - 1 : 0),
  };
}

const last = (lines: readonly string[]): Message => JSON.parse(lines.at(-1) ?? '') as Message;

for (const [way, peers] of [
  ['standard input and output', overLines],
  ['HTTP', overHttp],
] as const) {
  check(`over ${way}: a host that cannot ask its user is told the command that decides`, async (t) => {
    const { call, effects } = await peers(t);
    const told = last(await call('not_described', { a: 1 }));
    assert.equal(outcomeOf(told)?.code, 'APPROVAL_PENDING');
    assert.match(textOf(told), /^NOT STARTED .*holdfast approvals approve [0-9a-f]{32}/);
    assert.equal(effects(), 0);
  });

  check(`over ${way}: progress is told where the host asked for it, and its want is no hindrance`, async (t) => {
    const { call, effects } = await peers(t);
    const plain = await call('progresses', { a: 1 });
    assert.deepEqual([plain.length, textOf(last(plain))], [1, 'progressed']);
    const asked = await call('progresses', { a: 2 }, { _meta: { progressToken: 'p' } });
    assert.deepEqual(
      asked.map((line) => (JSON.parse(line) as Message)['method']),
      ['notifications/progress', 'notifications/progress', undefined],
    );
    assert.equal(effects(), 2);
  });

  check(`over ${way}: very long, binary and structured results arrive whole and are done`, async (t) => {
    const { call, effects } = await peers(t);
    assert.equal(textOf(last(await call('very_long', { a: 1 }))), 'é'.repeat(3_000_000));
    const { content } = resultOf(last(await call('binary', { a: 1 }))) as unknown as {
      content: { data?: string; resource?: { blob: string } }[];
    };
    const bytes = content.map(({ data, resource }) => Buffer.from(data ?? resource?.blob ?? '', 'base64'));
    for (const one of bytes) assert.deepEqual([...one], [...Array(256).keys()]);
    assert.equal(bytes.length, 3);
    const structured = resultOf(last(await call('structured', { a: 1 }))) as unknown as Record<string, unknown>;
    assert.deepEqual(structured['structuredContent'], {
      n: 1.5,
      big: Number('12345678901234567890'),
      deep: [[[{ é: null }]]],
    });
    assert.equal(effects(), 3);
    assert.match(textOf(last(await call('write', { a: 2 }))), /written/, 'and the next call is none the worse');
  });

  check(`over ${way}: a server that hangs is given up in time, and the call is unknown`, async (t) => {
    const { call, effects } = await peers(t);
    assert.equal(outcomeOf(last(await call('hangs', { a: 1 })))?.outcome, 'unknown');
    assert.equal(outcomeOf(last(await call('hangs', { a: 1 })))?.code, 'UNRESOLVED_TWIN');
    assert.equal(effects(), 1);
  });
}

check('structured numbers pass as they were spelled', async (t) => {
  const { call } = await overLines(t);
  const [line] = await call('structured', { a: 1 });
  assert.match(line ?? '', /"n":1\.50,"big":12345678901234567890,/);
});

check('over HTTP: a flood of events, garbage among them, and a changed list pass; the answer is found', async (t) => {
  const flood = Array.from(
    { length: 5000 },
    (_, at) => `data: {"method":"notifications/message","params":{"n":${at}}}\n\n`,
  );
  const odd = ['data: no JSON at all\n\n', 'data: {"id":1,\n\n', 'garbage\n\n', ': only a word\n\n'];
  const changed = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
  let listens = 0;
  const world = await httpWorld(t, (arrived, response, message) => {
    const events = response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (arrived.method !== 'GET')
      return void events.end(`${flood.join('')}${odd.join('')}${changed}data: ${result(message.id, 'done')}\n\n`);
    listens += 1;
    return void events.end(`${odd.join('')}${changed}`);
  });
  const params = { name: 'write', arguments: { a: 1 } };
  const reply = await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) });
  assert.ok(reply.body.startsWith(`${flood.join('')}${odd.join('')}${changed}`));
  assert.equal(textOf(messageOf(reply)), 'done');
  assert.equal((await world.send({ method: 'GET' })).body, `${odd.join('')}${changed}`);
  assert.equal(listens, 1);
});

check(
  'over HTTP: a server that exits in the middle leaves its calls unknown; started anew it is used again',
  async (t) => {
    let dies = true;
    const world = await httpWorld(t, (_arrived, response, message) => {
      if (dies) return void response.socket?.destroy();
      return json(response, result(message.id, 'done'));
    });
    assert.equal(outcomeOf(await world.call('write', { a: 1 }))?.outcome, 'unknown');
    dies = false;
    assert.equal(textOf(await world.call('write', { a: 2 })), 'done');
  },
);
