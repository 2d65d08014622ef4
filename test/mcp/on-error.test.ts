// What a policy promises about a tool's errors holds for errors that its server told, and for nothing else.
import { assert, check } from '../support/index.ts';
import { guardWorld, OPEN_POLICY, outcomeOf, resultOf, textOf } from './guard-world.ts';
import { type Behaviour, httpWorld, json, messageOf, result } from './http-world.ts';

const NAMES = ['write', 'write_fails', 'refuses', 'dies', 'hangs', 'doubled', 'works_on'];
const promised = { effect: 'once', on_error: 'not_done', timeout_seconds: 1 };
const POLICY = {
  ...OPEN_POLICY,
  tools: Object.fromEntries(NAMES.map((name) => [name, promised])),
  rules: [{ id: 'all', tools: NAMES, decision: 'allow' }],
};

check('of a server that is gone, silent, ambiguous or still at work the promise says nothing: unknown', async (t) => {
  for (const name of ['hangs', 'doubled', 'dies']) {
    const world = await guardWorld(t, { policy: POLICY });
    const told = await world.call(name, { a: 1 });
    assert.equal(outcomeOf(told)?.outcome, 'unknown', name);
    assert.match(textOf(told), /^OUTCOME UNKNOWN/, name);
    await world.end();
    const again = await guardWorld(t, { policy: POLICY, dataDir: world.folder });
    assert.equal(outcomeOf(await again.call(name, { a: 1 }))?.code, 'UNRESOLVED_TWIN', name);
    assert.equal(again.effects().length, 1, `${name} happened once`);
  }
  const world = await guardWorld(t, { policy: POLICY });
  await world.call('works_on', { a: 1 });
  assert.equal(outcomeOf(await world.call('works_on', { a: 1 }, 2))?.code, 'UNRESOLVED_TWIN');
});

check('an error that the server told is not done, as promised, and the call may be made again', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  for (const id of [1, 2]) {
    const told = await world.call('write_fails', { a: 1 }, id);
    assert.deepEqual(resultOf(told), { content: [{ type: 'text', text: 'it broke half way' }], isError: true });
  }
  assert.deepEqual((await world.call('refuses', { a: 1 }))['error'], { code: -32602, message: 'bad arguments' });
  assert.equal(world.effects().length, 2);
});

const LOST: Readonly<Record<string, Behaviour>> = {
  'a failure on the way': (_arrived, response) => void response.writeHead(502).end('no'),
  'a redirection': (_arrived, response) => void response.writeHead(307, { location: 'http://127.0.0.1/x' }).end(),
  'a broken connection': (_arrived, response) => void response.destroy(),
  'a stream without an answer': (_arrived, response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n'),
  'something else': (_arrived, response) => json(response, '{}'),
};

for (const [what, behave] of Object.entries(LOST))
  check(`over HTTP the promise says nothing of ${what}: unknown`, async (t) => {
    const world = await httpWorld(t, behave, { policy: POLICY });
    assert.match(JSON.stringify(await world.call('write', { a: 1 })), /OUTCOME UNKNOWN/);
    assert.equal(outcomeOf(await world.call('write', { a: 1 }, 2))?.code, 'UNRESOLVED_TWIN');
    assert.equal(world.arrived.length, 1);
  });

check('over HTTP a failure on the way of a read passes as it is', async (t) => {
  const policy = { ...POLICY, tools: { write: { effect: 'read' } } };
  const world = await httpWorld(t, (_arrived, response) => void response.writeHead(502).end('no'), { policy });
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'write', arguments: {} },
  });
  const { status, body: told } = await world.send({ body });
  assert.deepEqual([status, told], [502, 'no']);
});

check('over HTTP an error that the server told is passed as it is', async (t) => {
  const world = await httpWorld(
    t,
    (_arrived, response, { id }) => json(response, result(id, 'it broke', { isError: true })),
    { policy: POLICY },
  );
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'write', arguments: {} },
  });
  const told = messageOf(await world.send({ body }));
  assert.deepEqual([textOf(told), outcomeOf(told)], ['it broke', undefined]);
  await world.send({ body });
  assert.equal(world.arrived.length, 2);
});
