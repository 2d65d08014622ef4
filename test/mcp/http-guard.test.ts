import { Principal } from '../../src/operations/index.ts';
import { assert, check } from '../support/index.ts';
import { elsewhere, type Message, OPEN_POLICY } from './guard-world.ts';
import { type Behaviour, httpWorld, json, messageOf, result } from './http-world.ts';

type Told = { readonly outcome: string; readonly code: string };
const outcomeOf = (message: Message): Told | undefined =>
  (message['result'] as { _meta?: Record<string, Told> } | undefined)?._meta?.['holdfast/outcome'];
const textsOf = (message: Message): string[] =>
  ((message['result'] as { content?: { text: string }[] }).content ?? []).map((one) => one.text);
const EVENTS = { 'content-type': 'text/event-stream' };
/** A header that comes twice, of which one server reads the first and another the last. */
const TWICE = ['application/json', 'application/json; charset=utf-8'];
const nothing: Behaviour = (_arrived, response) => response.writeHead(500).end();
const toolOf = (message: Message): string => (message['params'] as { name: string }).name;

check('what is no call passes in both directions, bodies byte for byte and headers as they were', async (t) => {
  const odd =
    '{"jsonrpc": "2.0",  "id": 1.0, "method": "ping", "params": {"n": 12345678901234567890, "é": "\\u00e9"}} \n';
  const back = '{"jsonrpc":"2.0", "id":1.0,\r\n "result":{"x":9007199254740993, "x":1.0}}';
  const world = await httpWorld(t, (_arrived, response) => json(response, back, { 'x-of-server': 'yes' }));
  const reply = await world.send({
    path: '/mcp?a=b',
    headers: { 'Mcp-Session-Id': 's1', authorization: 'Bearer t', 'x-of-host': 'yes' },
    body: odd,
  });
  assert.deepEqual([reply.status, reply.body, reply.headers['x-of-server']], [200, back, 'yes']);
  const [one] = world.arrived;
  assert.deepEqual([one?.body, one?.url], [odd, '/mcp?a=b']);
  const { authorization, 'x-of-host': own, 'mcp-session-id': session } = one?.headers ?? {};
  assert.deepEqual([authorization, own, session], ['Bearer t', 'yes', 's1']);
});

check('streams of events pass byte for byte, whatever their line ends', async (t) => {
  const stream =
    '\u{feff}: hello\n\nid: 1\rdata: {"jsonrpc":"2.0",\rdata:"method":"x"}\r\rretry: 5\r\n\r\nevent: odd\ndata\n\ndata: cut off';
  const world = await httpWorld(t, (_arrived, response) => void response.writeHead(200, EVENTS).end(stream));
  for (const method of ['GET', 'POST']) {
    const reply = await world.send({ method, ...(method === 'POST' ? { body: '{"method":"x"}' } : {}) });
    assert.deepEqual([reply.body, reply.headers['content-type']], [stream, 'text/event-stream'], method);
  }
  assert.equal((await world.send({ method: 'DELETE' })).status, 200);
});

check('answers of reads and writes pass byte for byte, as a body and as an event', async (t) => {
  const body = '{"jsonrpc": "2.0",  "id": 7, "result": {"content": [], "n": 1.0, "x": 9007199254740993}}';
  const events = `id: a\ndata: {"method":"notifications/progress"}\n\nid: b\ndata:${body}\n\n`;
  const world = await httpWorld(t, (_arrived, response, message) =>
    (message['params'] as { arguments: { events: boolean } }).arguments.events
      ? void response.writeHead(200, EVENTS).end(events)
      : json(response, body),
  );
  for (const name of ['read', 'write'])
    for (const asEvents of [true, false]) {
      const params = { name, arguments: { events: asEvents, name } };
      const reply = await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }) });
      assert.deepEqual([reply.status, reply.body], [200, asEvents ? events : body], name);
    }
});

const BROKEN: Record<string, Behaviour> = {
  'the connection breaks': (_arrived, response) => void response.destroy(),
  'a stream that ends without an answer': (_arrived, response) =>
    void response.writeHead(200, EVENTS).end(': nothing\n\n'),
  'a stream that breaks off': (_arrived, response) => {
    response.writeHead(200, EVENTS).write('data: {"jsonrpc":"2.0","id":1,"result"');
    setImmediate(() => response.destroy());
  },
  'a failure of the server': (_arrived, response) => void response.writeHead(500).end('no'),
  'a redirection': (_arrived, response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
  'nothing in the answer': (_arrived, response) => void response.writeHead(202).end(),
  'the answer to something else': (_arrived, response) => json(response, result(2, 'done')),
  'an answer in two ways': (_arrived, response) =>
    json(response, '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true,"isError":false}}'),
  'an answer in a batch': (_arrived, response) => json(response, `[${result(1, 'done')}]`),
  'an event in two ways': (_arrived, response) =>
    void response
      .writeHead(200, EVENTS)
      .end('data: {"id":1,"id":2,"result":{}}\n\ndata: {"id":2,"id":1,"result":{}}\n\n'),
  'an answer that was compressed unasked': (_arrived, response) =>
    json(response, result(1, 'done'), { 'content-encoding': 'x-other' }),
};

check('whatever leaves a writing call open is told as unknown, in words that are no success', async (t) => {
  let how: Behaviour = nothing;
  const world = await httpWorld(t, (...of) => how(...of));
  for (const [name, behave] of Object.entries(BROKEN)) {
    how = behave;
    const message = await world.call('write', { name });
    const told = JSON.stringify(message);
    assert.match(told, /OUTCOME UNKNOWN/, name);
    assert.ok(message['error'] !== undefined || (message['result'] as { isError: boolean }).isError, name);
    assert.doesNotMatch(told, /"text":"done"/, name);
  }
  assert.equal(world.arrived.length, Object.keys(BROKEN).length, 'each was passed on once');
});

check('what never reached a tool is told as not done, as the door of the server said it', async (t) => {
  const world = await httpWorld(t, (_arrived, response) => {
    response.writeHead(401, { 'www-authenticate': 'Bearer realm="x"' }).end('who are you?');
  });
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'write', arguments: {} },
  });
  const reply = await world.send({ body });
  assert.deepEqual(
    [reply.status, reply.headers['www-authenticate'], reply.body],
    [401, 'Bearer realm="x"', 'who are you?'],
  );
  assert.equal((await world.send({ body })).status, 401, 'it is known, so it may be called again');
  await world.stopServer();
  const gone = await world.call('write', { other: 1 });
  assert.equal(outcomeOf(gone)?.outcome, 'not_done');
  assert.equal((await world.send({ body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })).status, 502);
});

check('an error that comes as an event keeps the place of its event', async (t) => {
  const world = await httpWorld(t, (_arrived, response) => {
    const events = `id: e-1\ndata: ${result(1, 'broke', { isError: true })}\n\nid: e-2\ndata: \n\n`;
    // Some servers say how long their stream is; what the guard adds to it must still arrive whole.
    response.writeHead(200, { ...EVENTS, 'content-length': String(Buffer.byteLength(events)) }).end(events);
  });
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'write', arguments: {} },
  });
  const reply = await world.send({ body });
  const [first = ''] = reply.body.split('id: e-1\n').slice(1);
  assert.match(first, /^event: message\ndata: .*broke.*OUTCOME UNKNOWN/);
  assert.match(reply.body, /id: e-2\ndata: \n\n/);
});

check(
  'requests that were not meant for it, or could be read in two ways, are refused and reach no server',
  async (t) => {
    const world = await httpWorld(t, nothing);
    const call = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'write', arguments: {} },
    });
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    for (const [status, of] of [
      [403, { headers: { host: 'evil.example.com' }, body: ping }],
      [403, { headers: { host: 'localhost.evil.example' }, body: ping }],
      [403, { headers: { origin: 'http://evil.example.com' }, body: ping }],
      [404, { path: '/other', body: ping }],
      [404, { path: '//mcp', body: ping }],
      [405, { method: 'PUT', body: ping }],
      [415, { headers: { 'content-encoding': 'gzip' }, body: ping }],
      [415, { headers: { 'content-type': 'application/json; charset=utf-16' }, body: ping }],
      [415, { headers: { 'content-type': 'application/json; charset=utf-8; charset=utf-7' }, body: ping }],
      [415, { headers: { 'content-type': 'application/json; x="charset=utf-8"; charset=utf-7' }, body: ping }],
      [415, { headers: { 'content-type': 'application/json; charset = utf-7' }, body: ping }],
      [415, { headers: { 'content-type': TWICE as unknown as string }, body: ping }],
      [400, { body: `[${call}]` }],
      [400, { body: '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}' }],
      [400, { headers: { 'mcp-name': 'read' }, body: call }],
      [400, { headers: { 'mcp-method': 'ping' }, body: call }],
      [400, { headers: { 'mcp-method': 'tools/call' }, body: ping }],
      [413, { body: Buffer.alloc(16 * 1024 * 1024 + 1, 0x20) }],
    ] as const) {
      const reply = await world.send(of).catch((error: unknown) => ({ status: 413, body: String(error) }));
      assert.equal(reply.status, status, JSON.stringify(of).slice(0, 200));
    }
    assert.deepEqual(world.arrived, []);
    assert.match(world.said[0] ?? '', /meant for another machine\. \(MCP_REQUEST_REFUSED\)/);
  },
);

check('a denied call reaches no server, and an agreeing header is no hindrance', async (t) => {
  const world = await httpWorld(t, (_arrived, response, message) => json(response, result(message.id, 'done')));
  const denied = await world.call('forbidden');
  assert.equal(outcomeOf(denied)?.code, 'POLICY_DENIED');
  assert.deepEqual(world.arrived, []);
  assert.deepEqual(textsOf(await world.call('write', {}, 2, { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'write' })), [
    'done',
  ]);
  const name = `=?base64?${Buffer.from('read').toString('base64')}?=`;
  assert.deepEqual(textsOf(await world.call('read', {}, 3, { 'Mcp-Method': 'tools/call', 'Mcp-Name': name })), [
    'done',
  ]);
});

const greeting: Behaviour = (_arrived, response, { id }) =>
  json(response, JSON.stringify({ jsonrpc: '2.0', id, result: {} }), { 'mcp-session-id': 's1' });

async function greet(world: Awaited<ReturnType<typeof httpWorld>>): Promise<void> {
  const params = { capabilities: { elicitation: {} } };
  await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }) });
}

check(
  'a host that can ask its user is asked on the stream of its call, and its answer reaches no server',
  async (t) => {
    const world = await httpWorld(
      t,
      (arrived, response, message) =>
        message['method'] === 'initialize'
          ? greeting(arrived, response, message)
          : json(response, result(message.id, 'done')),
      { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 5000 },
    );
    await greet(world);
    const headers = { 'mcp-session-id': 's1' };
    for (const approve of [true, false]) {
      const params = { name: 'write', arguments: { approve } };
      const stream = await world.open({
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      let text = '';
      for await (const part of stream as AsyncIterable<Buffer>) {
        text += part.toString();
        const question = /data: (.*elicitation.*)\n/.exec(text)?.[1];
        if (question === undefined || text.includes('"id":1,')) continue;
        const { id } = JSON.parse(question) as { id: string };
        const answer = { jsonrpc: '2.0', id, result: { action: 'accept', content: { approve } } };
        assert.equal((await world.send({ headers, body: JSON.stringify(answer) })).status, 202);
      }
      assert.match(text, approve ? /"text":"done"/ : /APPROVAL_DENIED/);
    }
    assert.equal(world.arrived.length, 2, 'the greeting and one call');
  },
);

check('a held call goes on once it was decided elsewhere, and is not begun when its host has gone', async (t) => {
  const policy = { ...OPEN_POLICY, rules: [] };
  const world = await httpWorld(t, (_arrived, response, { id }) => json(response, result(id, 'done')), { policy });
  assert.equal(outcomeOf(await world.call('write', { a: 1 }))?.code, 'APPROVAL_PENDING');
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.approvals.pending(runtime.principal);
    for (const { requestId, digest } of items)
      await runtime.approvals.decide(runtime.principal, [{ requestId, digest, decision: 'approve' }]);
  });
  assert.deepEqual(textsOf(await world.call('write', { a: 1 }, 2)), ['done']);
  assert.equal(world.arrived.length, 1);
});

check('a stream that the server closes early is taken up again, and the answer there is judged too', async (t) => {
  let isError = false;
  const world = await httpWorld(t, (arrived, response, message) => {
    if (arrived.method === 'GET') {
      const data = result(5, 'broke or not', isError ? { isError } : {});
      return void response
        .writeHead(200, EVENTS)
        .end(`id: s-${String(arrived.headers['last-event-id'])}\ndata: ${data}\n\n`);
    }
    if (message['method'] === 'initialize') return greeting(arrived, response, message);
    return void response.writeHead(200, EVENTS).end('id: p1\ndata: \n\n');
  });
  await greet(world);
  const headers = { 'mcp-session-id': 's1' };
  for (const wrong of [false, true]) {
    isError = wrong;
    const params = { name: 'write', arguments: { wrong } };
    const first = await world.send({
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params }),
    });
    assert.equal(first.body, 'id: p1\ndata: \n\n');
    for (let again = 0; again < 2; again += 1) {
      const rest = await world.send({ method: 'GET', headers: { ...headers, 'last-event-id': 'p1' } });
      if (wrong) assert.match(rest.body, /id: s-p1[\s\S]*OUTCOME UNKNOWN/, 'and whoever reads it again reads the same');
      else assert.equal(rest.body, `id: s-p1\ndata: ${result(5, 'broke or not')}\n\n`);
    }
  }
});

check('what a server answers on a stream to a call that was not passed on yet is nobody’s', async (t) => {
  const forged = `data: ${result(5, 'forged')}\n\n`;
  const world = await httpWorld(
    t,
    (arrived, response, message) => {
      if (message['method'] === 'initialize') return greeting(arrived, response, message);
      return void response.writeHead(200, EVENTS).end(`${forged}data: ${result(6, 'of another')}\n\n`);
    },
    { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 600 },
  );
  await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {} }) });
  const headers = { 'mcp-session-id': 's1' };
  const held = world.call('write', { a: 1 }, 5, headers);
  while (!world.said.some((line) => line.startsWith('held'))) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await world.send({ method: 'GET', headers })).body, `data: ${result(6, 'of another')}\n\n`);
  assert.equal(outcomeOf(await held)?.code, 'APPROVAL_PENDING');
});

check('a second answer to one call is nobody’s', async (t) => {
  const twice = `data: ${result(1, 'broke', { isError: true })}\n\ndata: ${result(1, 'done')}\n\n`;
  const world = await httpWorld(t, (_arrived, response) => void response.writeHead(200, EVENTS).end(twice));
  const params = { name: 'write', arguments: {} };
  const reply = await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) });
  assert.doesNotMatch(reply.body, /"text":"done"/);
  assert.match(JSON.stringify(messageOf(reply)), /OUTCOME UNKNOWN/);
});

check('rounds of one exchange are one operation, each by a request of its own', async (t) => {
  const world = await httpWorld(t, (_arrived, response, message) => {
    const { requestState } = message['params'] as { requestState?: string };
    if (requestState === 'r1') return json(response, result(message.id, 'done', { resultType: 'complete' }));
    const asked = { resultType: 'input_required', requestState: 'r1', inputRequests: {} };
    return json(response, JSON.stringify({ jsonrpc: '2.0', id: message.id, result: asked }));
  });
  const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  const round = async (more: object): Promise<Message> => {
    const params = { name: 'asks', arguments: { a: 1 }, ...meta, ...more };
    return messageOf(
      await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) }),
    );
  };
  assert.equal(((await round({}))['result'] as { resultType: string }).resultType, 'input_required');
  assert.deepEqual(textsOf(await round({ requestState: 'r1', inputResponses: {} })), ['done']);
  assert.equal(outcomeOf(await round({ other: 1 })), undefined, 'the first is done, so the same may be asked again');
});

for (const how of ['is turned away at the door', 'finds nobody there'] as const)
  check(`a later round that ${how} says nothing of the rounds before it, which had reached the tool`, async (t) => {
    const world = await httpWorld(t, (_arrived, response, message) => {
      if (world.arrived.length > 1) return void response.writeHead(401).end();
      const asked = { resultType: 'input_required', requestState: 'r1', inputRequests: {} };
      return json(response, JSON.stringify({ jsonrpc: '2.0', id: message.id, result: asked }));
    });
    const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
    const round = (more: object) => {
      const params = { name: 'asks', arguments: { a: 1 }, ...meta, ...more };
      return world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) });
    };
    await round({});
    if (how === 'finds nobody there') await world.stopServer();
    const told = await round({ requestState: 'r1', inputResponses: {} });
    assert.match(JSON.stringify(messageOf(told)), /OUTCOME UNKNOWN.* asked before/);
    const known = await elsewhere(world.dataDir, async ({ runtime: { operations, principal } }) => {
      const asker = new Principal(principal.tenant, principal.subject);
      const page = await operations.list(asker, { now: Math.floor(Date.now() / 1000) });
      return page.operations.map((one) => [one.state, one.verdict]);
    });
    assert.deepEqual(known, [['processing', null]]);
  });

check('hosts with the same ids do not mix', async (t) => {
  const world = await httpWorld(t, (_arrived, response, message) => {
    const { word } = (message['params'] as { arguments: { word: string } }).arguments;
    setTimeout(() => json(response, result(message.id, word)), word === 'one' ? 60 : 0);
  });
  const [one, two] = await Promise.all([world.call('write', { word: 'one' }), world.call('write', { word: 'two' })]);
  assert.deepEqual([textsOf(one), textsOf(two)], [['one'], ['two']]);
});

check('a host that goes away leaves its write to be written down; since 2026-07-28 it is given up', async (t) => {
  let answer = (): void => undefined;
  const world = await httpWorld(t, (_arrived, response, message) => {
    answer = () => json(response, result(message.id, 'done'));
  });
  for (const [round, known, meta] of [
    [1, 'done', {}],
    [2, 'unknown', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }],
  ] as const) {
    const params = { name: 'write', arguments: { round }, ...meta };
    const gone = world.leave(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    while (world.arrived.length < round) await new Promise((resolve) => setTimeout(resolve, 5));
    gone();
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const stored = async (): Promise<string | undefined> =>
      elsewhere(world.dataDir, async ({ runtime }) => {
        const { tenant, subject } = runtime.principal;
        const options = { limit: 5, now: Math.floor(Date.now() / 1000) + 3600 };
        const page = await runtime.operations.list(new Principal(tenant, subject), options);
        return page.operations.find((one) => one.argumentsJson.includes(`"round":${round}`))?.known;
      });
    for (let waited = 0; waited < 100 && (await stored()) !== known; waited += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(await stored(), known, `round ${round}`);
  }
});

check('a cancelled call is told no more, and is unknown', async (t) => {
  const world = await httpWorld(t, (arrived, response, message) => {
    if (message['method'] === 'initialize') return greeting(arrived, response, message);
    if (message['method'] === 'notifications/cancelled') return void response.writeHead(202).end();
    return assert.equal(toolOf(message), 'write');
  });
  await greet(world);
  const headers = { 'mcp-session-id': 's1' };
  const params = { name: 'write', arguments: {} };
  const told = world.send({ headers, body: JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/call', params }) });
  while (world.arrived.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } };
  assert.equal((await world.send({ headers, body: JSON.stringify(cancel) })).status, 202);
  assert.equal((await told).body, '');
  assert.equal(world.arrived.length, 3, 'the server heard of it');
  assert.equal(outcomeOf(await world.call('write', {}, 4))?.code, 'UNRESOLVED_TWIN');
});
