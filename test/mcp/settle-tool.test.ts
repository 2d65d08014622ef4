import { assert, check } from '../support/index.ts';
import { settleByStatus } from '../../src/calls/index.ts';
import { elsewhere, guardWorld, OPEN_POLICY, outcomeOf, resultOf, textOf } from './guard-world.ts';
import { type Behaviour, httpWorld, json, messageOf, result } from './http-world.ts';

const status = {
  tool: 'find',
  arguments: { a: '/a' },
  happened: [{ at: '/json/orders/0', present: true }],
  not_happened: [{ at: '/json/orders/0', present: false }],
};
const asked = { effect: 'reconcilable', timeout_seconds: 3, status };
const POLICY = {
  ...OPEN_POLICY,
  settle_tool: true,
  tools: {
    ...OPEN_POLICY.tools,
    find: { effect: 'read' },
    makes: asked,
    write_fails: asked,
    loses: asked,
    dies: { ...asked, timeout_seconds: 60 },
  },
  rules: [...OPEN_POLICY.rules, { id: 'made', tools: ['makes', 'loses', 'find'], decision: 'allow' }],
};

check('the tool is offered only where the policy says so, at the head of a list that is else as it was', async (t) => {
  const bare = await guardWorld(t);
  bare.send({ id: 3, method: 'tools/list' });
  const plain = '{"jsonrpc": "2.0",  "id": 3, "result": {"tools": [ {"name": "find", "x": 1.0} ]}}\n';
  assert.equal(await bare.line(), plain);
  assert.match(JSON.stringify(await bare.call('holdfast_settle', { status_ref: 'x' })), /APPROVAL_PENDING/);
  const world = await guardWorld(t, { policy: POLICY });
  world.send({ id: 3, method: 'tools/list' });
  const line = await world.line();
  const { result } = JSON.parse(line) as { result: { tools: { name: string }[] } };
  assert.deepEqual(
    result.tools.map(({ name }) => name),
    ['holdfast_settle', 'find'],
  );
  assert.equal(line.replace(`${JSON.stringify(result.tools[0])},`, ''), plain, 'not a byte of the server is another');
  world.send({ id: 3, method: 'tools/list', params: { cursor: 'second page' } });
  assert.equal(await world.line(), plain);
});

check('a call whose answer is lost is asked about at once, and is done where the server says so', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  const told = await world.call('makes', { a: 1 });
  assert.equal(resultOf(told).isError, undefined);
  assert.deepEqual(world.effects(), [{ a: 1 }]);
  const again = await world.call('makes', { a: 1 }, 2);
  assert.equal(resultOf(again).isError, undefined, 'the earlier one is known, so this is no twin');
});

check(
  'an error of a call that was carried out all the same is told as done, beside what the server said',
  async (t) => {
    const world = await guardWorld(t, { policy: POLICY });
    const told = await world.call('write_fails', { a: 1 });
    assert.deepEqual([outcomeOf(told)?.outcome, resultOf(told).isError], ['done', undefined]);
    const [said, known] = resultOf(told).content ?? [];
    assert.equal(said?.text, 'it broke half way');
    assert.match(known?.text ?? '', /^DONE: .* answered with an error, .* it was carried out/);
    assert.deepEqual(world.effects(), [{ a: 1 }]);
  },
);

check('a server that died leaves it unknown; asked in the next life it is settled, and not run again', async (t) => {
  const first = await guardWorld(t, { policy: POLICY });
  const lost = await first.call('dies', { a: 1 });
  assert.equal(outcomeOf(lost)?.outcome, 'unknown');
  const asked = `Ask what became of it with the tool holdfast_settle: {"status_ref":"${outcomeOf(lost)?.status_ref}"}`;
  assert.ok(textOf(lost).endsWith(` ${asked}`), 'a model sees the text alone');
  await first.ended;
  const world = await guardWorld(t, { policy: POLICY, dataDir: first.folder });
  const ref = outcomeOf(lost)?.status_ref ?? '';
  const settled = await world.call('holdfast_settle', { status_ref: ref });
  assert.match(textOf(settled), /^DONE: it is known that it happened/);
  assert.equal(outcomeOf(settled)?.outcome, 'done');
  assert.deepEqual([resultOf(settled).isError, world.effects().length], [false, 1]);
  const twice = await world.call('holdfast_settle', { status_ref: ref }, 2);
  assert.equal(outcomeOf(twice)?.outcome, 'done', 'asking again changes nothing');
  assert.equal(world.effects().length, 1);
});

check('what did not happen is final only when nothing under way can still make it happen', async (t) => {
  const first = await guardWorld(t, { policy: POLICY });
  const lost = await first.call('loses', { a: 2 });
  assert.equal(outcomeOf(lost)?.outcome, 'unknown');
  const ref = outcomeOf(lost)?.status_ref ?? '';
  const early = await first.call('holdfast_settle', { status_ref: ref });
  assert.match(textOf(early), /^OUTCOME UNKNOWN .*has not happened yet/);
  assert.equal(resultOf(early).isError, true);
  await first.end();
  const clock = { nowMs: () => Date.now() + 3_600_000 };
  const later = await guardWorld(t, { policy: POLICY, dataDir: first.folder, clock });
  const told = await later.call('holdfast_settle', { status_ref: ref });
  assert.match(textOf(told), /^NOT DONE/);
  assert.deepEqual([outcomeOf(told)?.outcome, resultOf(told).isError], ['not_done', true]);
  assert.deepEqual(later.effects(), []);
});

check('asking settles nothing by itself: a tool that cannot be asked about stays unknown for a person', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  const lost = await world.call('hangs', { a: 1 });
  assert.doesNotMatch(textOf(lost), /holdfast_settle/, 'where it would be of no use nobody is sent there');
  const told = await world.call('holdfast_settle', { status_ref: outcomeOf(lost)?.status_ref ?? '' }, 2);
  assert.equal(outcomeOf(told)?.outcome, 'unknown');
  assert.equal(outcomeOf(await world.call('hangs', { a: 1 }, 3))?.code, 'UNRESOLVED_TWIN');
  assert.equal(world.effects().length, 1);
});

check('a process without the guard cannot ask the server, says so, and settles nothing', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  const ref = outcomeOf(await world.call('loses', { a: 2 }))?.status_ref ?? '';
  await world.end();
  const told = await elsewhere(
    world.dataDir,
    ({ runtime }) => settleByStatus(runtime.calls, runtime.principal, ref, runtime.filesystem),
    3_600_000,
  );
  assert.deepEqual([told.state, told.state === 'unknown' && /holdfast_settle/.test(told.reason)], ['unknown', true]);
});

check('a reference that is none, or another server’s, is no answer', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  const unknown = `status_${'0'.repeat(32)}`;
  for (const [args, words] of [
    [{}, /INVALID_VALUE/],
    [{ status_ref: 7 }, /INVALID_VALUE/],
    [{ status_ref: unknown, verdict: 'done' }, /INVALID_VALUE/],
    [{ status_ref: unknown }, /OPERATION_NOT_FOUND/],
  ] as const) {
    const told = await world.call('holdfast_settle', args);
    assert.match(textOf(told), words);
    assert.equal(resultOf(told).isError, true);
  }
  const lost = await world.call('hangs', { a: 1 });
  await world.end();
  const other = await guardWorld(t, { policy: { ...POLICY, server: 'other' }, dataDir: world.folder });
  const asked = { status_ref: outcomeOf(lost)?.status_ref ?? '' };
  assert.match(textOf(await other.call('holdfast_settle', asked)), /OPERATION_NOT_FOUND/);
});

/** Whether what the server was asked for is there; what it answers by, and whether it answers a write at all. */
const serving =
  (made: () => boolean, events: () => boolean): Behaviour =>
  (arrived, response, message) => {
    if (message['method'] === 'tools/list')
      return json(response, JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { tools: [] } }));
    if ((message['params'] as { name: string }).name !== 'find') return void response.destroy();
    const found = result(message.id, JSON.stringify({ orders: made() ? [arrived.headers['mcp-name'] ?? 'one'] : [] }));
    if (!events()) return json(response, found);
    const stream = `data: {"method":"notifications/message"}\n\ndata: ${found}\n\n`;
    return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream);
  };

check('over HTTP the same: listed, asked by a request of the guard’s own, settled once', async (t) => {
  let [made, events] = [false, false];
  const world = await httpWorld(
    t,
    serving(
      () => made,
      () => events,
    ),
    { policy: POLICY },
  );
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  assert.match((await world.send({ body: list })).body, /"tools":\[\{.*"name":"holdfast_settle"/);
  for (const asEvents of [false, true]) {
    [made, events] = [false, asEvents];
    const lost = await world.call('makes', { a: asEvents });
    assert.equal(outcomeOf(lost)?.outcome, 'unknown');
    made = true;
    const asked = { status_ref: outcomeOf(lost)?.status_ref ?? '' };
    const settled = await world.call('holdfast_settle', asked, 2, {
      'Mcp-Name': 'holdfast_settle',
      'Mcp-Param-X': 'y',
    });
    assert.match(textOf(settled), /^DONE/, String(asEvents));
    const question = world.arrived.at(-1);
    assert.deepEqual([question?.headers['mcp-name'], question?.headers['mcp-param-x']], ['find', undefined]);
    assert.equal(messageOf({ status: 200, headers: {}, body: question?.body ?? '' })['method'], 'tools/call');
  }
});

check('over HTTP a status that is no success is not told of a call that was carried out all the same', async (t) => {
  const answers = serving(
    () => true,
    () => false,
  );
  const failing: Behaviour = (arrived, response, message) =>
    arrived.body.includes('"makes"')
      ? void response.writeHead(500, { 'content-type': 'text/plain' }).end('broken')
      : answers(arrived, response, message);
  const world = await httpWorld(t, failing, { policy: POLICY });
  const told = await world.call('makes', { a: 1 });
  assert.deepEqual([outcomeOf(told)?.outcome, resultOf(told).isError], ['done', undefined]);
  assert.match(textOf(told), /DONE: .* answered with an error/);
});

check('over HTTP a list that comes as an event has the tool too, under the id of its event', async (t) => {
  const list = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"find"}]}}';
  const world = await httpWorld(
    t,
    (_arrived, response) =>
      void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`id: e1\ndata: {"method":"notifications/message"}\n\nid: e2\ndata: ${list}\n\n`),
    { policy: POLICY },
  );
  const reply = await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) });
  assert.match(reply.body, /^id: e1\ndata: \{"method":"notifications\/message"\}\n\nid: e2\n/);
  const { tools } = messageOf(reply)['result'] as { tools: { name: string }[] };
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['holdfast_settle', 'find'],
  );
});

check('over HTTP a question that is not answered leaves the call unknown', async (t) => {
  let asked = 0;
  const answers: Behaviour[] = [
    (_arrived, response) => void response.writeHead(500).end(),
    (_arrived, response) => void response.destroy(),
    (_arrived, response) => json(response, result('another', '{"orders":["x"]}')),
    (_arrived, response, { id }) => json(response, result(id, 'no JSON')),
    (_arrived, response, { id }) => json(response, result(id, '{"orders":["x"]}', { isError: true })),
    (_arrived, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {}\n\n'),
  ];
  const world = await httpWorld(
    t,
    (arrived, response, message) => {
      if ((message['params'] as { name: string }).name !== 'find') return void response.destroy();
      asked += 1;
      return answers[(asked - 1) % answers.length]?.(arrived, response, message);
    },
    { policy: POLICY },
  );
  const lost = await world.call('makes', { a: 1 });
  const ref = { status_ref: outcomeOf(lost)?.status_ref ?? '' };
  for (let at = 0; at < answers.length; at += 1)
    assert.equal(outcomeOf(await world.call('holdfast_settle', ref, at))?.outcome, 'unknown', `answer ${asked}`);
  assert.equal(asked, answers.length + 1);
});
