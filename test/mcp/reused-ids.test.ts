import { assert, check } from '../support/index.ts';
import { guardWorld, type GuardWorld, OPEN_POLICY, outcomeOf, textOf } from './guard-world.ts';
import { type Behaviour, httpWorld, json, result } from './http-world.ts';

// Hosts that give one id to several requests, one after the other or at once.

const REFUSED = /Another request with this id/;

async function untilEffect(world: GuardWorld): Promise<void> {
  while (world.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

check('a host that gives all its requests one id gets the answer to each', async (t) => {
  const world = await guardWorld(t);
  for (let round = 0; round < 3; round += 1) {
    world.send({ id: 1, method: 'tools/list' });
    assert.ok('tools' in ((await world.next())['result'] as object));
    assert.equal(textOf(await world.call('write', { round }, 1)), 'written é');
  }
  world.send({ id: 1, method: 'tools/list' });
  assert.ok('tools' in ((await world.next())['result'] as object), 'the list is no second answer to the call');
  assert.equal(world.effects().length, 3);
});

check(
  'a request under the id of a call that is under way is refused: its answer is not taken for the call’s',
  async (t) => {
    const world = await guardWorld(t);
    world.send({ id: 1, method: 'tools/call', params: { name: 'hangs', arguments: { a: 1 } } });
    await untilEffect(world);
    for (const method of ['tools/list', 'world/later']) {
      world.send({ id: 1, method });
      assert.match(JSON.stringify((await world.next())['error']), REFUSED, method);
    }
    world.send('[{"jsonrpc":"2.0","id":1,"method":"world/later"}]\n');
    assert.match(JSON.stringify((await world.next())['error']), REFUSED);
    world.send({ method: 'world/now' });
    const told = await world.next();
    assert.deepEqual([told.id, outcomeOf(told)?.outcome], [1, 'unknown']);
  },
);

check('a call under the id of a request that is under way is refused: that answer is not the call’s', async (t) => {
  const world = await guardWorld(t);
  world.send({ id: 1, method: 'world/later' });
  assert.match(JSON.stringify((await world.call('hangs', { a: 1 }, 1))['error']), REFUSED);
  world.send({ method: 'world/now' });
  assert.equal(textOf(await world.next()), 'later', 'it is told to whoever asked for it');
  assert.deepEqual(world.effects(), [], 'the call has not begun');
  assert.equal(textOf(await world.call('write', { a: 1 }, 1)), 'written é', 'the id is free again');
});

check('a request that its host has cancelled keeps its id from no call', async (t) => {
  const world = await guardWorld(t);
  world.send({ id: 1, method: 'world/later' });
  world.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
  assert.equal((await world.next())['method'], 'world/echo');
  assert.equal(textOf(await world.call('write', { a: 1 }, 1)), 'written é');
});

check('over HTTP a session’s request under the id of a call that is under way is refused', async (t) => {
  let release = (): void => undefined;
  const behave: Behaviour = ({ body }, response, { id, method }) => {
    if (method === 'tools/call') release = () => json(response, result(id, 'done'));
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${result(id, body)}\n\n`);
  };
  const world = await httpWorld(t, behave, { policy: OPEN_POLICY });
  const headers = { 'mcp-session-id': 's1' };
  await world.send({ body: '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}' });
  const called = world.call('write', { a: 1 }, 1, headers);
  while (world.arrived.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const { status, body } = await world.send({ headers, body: ping });
  assert.equal(status, 400);
  assert.match(body, REFUSED);
  release();
  assert.equal(textOf(await called), 'done');
  assert.match((await world.send({ headers, body: ping })).body, /"text":/, 'afterwards it is answered');
});

check(
  'a call that waits for its next round is waited for no more when its server ends, whoever has its id',
  async (t) => {
    const world = await guardWorld(t);
    await world.call('asks', { a: 1 }, 1);
    assert.equal(textOf(await world.call('write', { a: 2 }, 1)), 'written é', 'its id was free');
    world.send({ id: 2, method: 'tools/call', params: { name: 'dies', arguments: { a: 3 } } });
    await world.next();
    const late = new Promise((resolve) => setTimeout(resolve, 20_000, 'it still waits').unref());
    assert.equal(await Promise.race([world.ended, late]), 7);
  },
);
