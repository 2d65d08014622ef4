import { assert, check } from '../support/index.ts';
import { elsewhere, guardWorld, type GuardWorld, type Message, OPEN_POLICY, outcomeOf, textOf } from './guard-world.ts';
import { type Behaviour, httpWorld, type HttpWorld, json, messageOf, result } from './http-world.ts';

// Calls that look alike (in their arguments, in their ids) and calls whose server ends while they wait.

const HELD = { ...OPEN_POLICY, rules: [] };
const EVENTS = { 'content-type': 'text/event-stream' };

const heldIn = (said: string): readonly string[] =>
  [...said.matchAll(/held: .*approve ([0-9a-f]{32})/g)].flatMap(([, requestId]) => requestId ?? []);

async function untilHeld(world: Pick<GuardWorld, 'errors'>, many: number): Promise<readonly string[]> {
  while (heldIn(world.errors()).length < many) await new Promise((resolve) => setTimeout(resolve, 5));
  return heldIn(world.errors());
}

const approve = (dataDir: string, ...requests: readonly (string | undefined)[]): Promise<void> =>
  elsewhere(dataDir, async ({ runtime: { approvals, principal } }) => {
    for (const one of requests) {
      const { requestId, digest } = await approvals.show(principal, one ?? assert.fail('nothing is held'));
      await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
    }
  });

const sendCall = (world: GuardWorld, id: number, args: object, more: object = {}): void =>
  world.send({ id, method: 'tools/call', params: { name: 'write', arguments: args, ...more } });

check('of two equal calls that wait each has its own request, and keeps it when the other has ended', async (t) => {
  const world = await guardWorld(t, { policy: HELD, waitMs: 1_200 });
  sendCall(world, 1, { a: 1 });
  const [first] = await untilHeld(world, 1);
  sendCall(world, 2, { a: 1 });
  const [, second] = await untilHeld(world, 2);
  await approve(world.dataDir, second);
  const told = await world.next();
  assert.deepEqual([told.id, textOf(told)], [2, 'written é']);
  const pending = await world.next();
  assert.deepEqual([pending.id, outcomeOf(pending)?.code], [1, 'APPROVAL_PENDING']);
  await approve(world.dataDir, first);
  assert.equal(textOf(await world.call('write', { a: 1 }, 3)), 'written é', 'it goes on where it was');
  assert.equal(world.effects().length, 2, 'a person has approved both');
});

check('an equal call does not take over a request for which another still waits', async (t) => {
  const world = await guardWorld(t, { policy: HELD, waitMs: 60_000 });
  sendCall(world, 1, { a: 1 });
  const [first] = await untilHeld(world, 1);
  sendCall(world, 2, { a: 1 });
  const [, second] = await untilHeld(world, 2);
  world.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
  for (let id = 10; id < 14; id += 1) {
    world.send({ id, method: 'ping' });
    assert.equal((await world.next())['method'], 'world/echo');
  }
  sendCall(world, 3, { a: 1 });
  for (const [id, request] of [
    [2, second],
    [3, first],
  ] as const) {
    await approve(world.dataDir, request);
    const told = await world.next();
    assert.deepEqual([told.id, textOf(told)], [id, 'written é']);
  }
  assert.equal(heldIn(world.errors()).length, 2, 'nobody was asked a third time');
});

check('when the server ends, what waits for a person is told at once, and the guard ends', async (t) => {
  const world = await guardWorld(t, { policy: OPEN_POLICY, waitMs: 3_000_000 });
  world.send({ id: 1, method: 'tools/call', params: { name: 'other', arguments: { a: 1 } } });
  await untilHeld(world, 1);
  world.send({ id: 2, method: 'tools/call', params: { name: 'dies', arguments: { a: 2 } } });
  const told = new Map([await world.next(), await world.next()].map((one) => [one.id, one]));
  assert.equal(outcomeOf(told.get(1) as Message)?.code, 'MCP_SERVER_GONE');
  assert.match(textOf(told.get(1) as Message), /^NOT STARTED .*taken back/);
  assert.equal(outcomeOf(told.get(2) as Message)?.outcome, 'unknown');
  assert.equal(await world.ended, 7);
  await elsewhere(world.dataDir, async ({ runtime: { approvals, principal } }) => {
    assert.deepEqual((await approvals.pending(principal)).items, []);
  });
});

check('when the server ends between two rounds of a call, its host is not waited for', async (t) => {
  const world = await guardWorld(t);
  await world.call('asks', { a: 1 }, 1);
  world.send({ id: 2, method: 'tools/call', params: { name: 'dies', arguments: { a: 2 } } });
  assert.equal(outcomeOf(await world.next())?.outcome, 'unknown');
  assert.equal(await world.ended, 7);
});

check('a line too long to be looked into leaves open what waits, and nothing that comes later', async (t) => {
  const world = await guardWorld(t);
  world.send({ id: 1, method: 'tools/call', params: { name: 'hangs', arguments: { a: 1 } } });
  while (world.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  world.send({ id: 2, method: 'world/giant' });
  // On a slow machine what waits is over before all of the line has come.
  const lines = [await world.line(), await world.line()].sort((a, b) => b.length - a.length);
  const [long, unknown] = lines.map((line) => JSON.parse(line) as Message);
  assert.ok((lines[0]?.length ?? 0) > 16 * 1024 * 1024, 'it passes');
  assert.equal(long?.id, 2, 'and nothing stands inside it');
  assert.deepEqual([unknown?.id, unknown && outcomeOf(unknown)?.outcome], [1, 'unknown']);
  assert.equal(textOf(await world.call('write', { a: 3 }, 3)), 'written é');
});

check('what a server wrote half before it died is no part of what its host is told then', async (t) => {
  const world = await guardWorld(t);
  world.send({ id: 1, method: 'tools/call', params: { name: 'hangs', arguments: { a: 1 } } });
  while (world.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  world.send({ id: 2, method: 'world/half' });
  assert.equal(await world.line(), '{"jsonrpc":"2.0","id":1,"res\n');
  const told = await world.next();
  assert.deepEqual([told.id, outcomeOf(told)?.outcome], [1, 'unknown']);
  assert.equal(await world.ended, 9);
});

check('a second round under the id of a call that waits is refused, and neither gets the other’s answer', async (t) => {
  const world = await guardWorld(t);
  await world.call('asks', { a: 1 }, 1);
  world.send({ id: 7, method: 'tools/call', params: { name: 'gathers', arguments: { of: 2, n: 1 } } });
  while (world.effects().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const round = { requestState: 'round-1', inputResponses: {} };
  const refused = await world.call('asks', { a: 1 }, 7, round);
  assert.match(JSON.stringify(refused['error']), /Another request with this id/);
  assert.match(textOf(await world.call('asks', { a: 1 }, 8, round)), /done after a question/);
  world.send({ id: 9, method: 'tools/call', params: { name: 'gathers', arguments: { of: 2, n: 2 } } });
  assert.deepEqual(new Set([(await world.next()).id, (await world.next()).id]), new Set([7, 9]));
});

check('a call that a batch cancels is not begun any more, whatever else the batch holds', async (t) => {
  const world = await guardWorld(t, { policy: HELD, waitMs: 60_000 });
  sendCall(world, 1, { a: 1 });
  const [first] = await untilHeld(world, 1);
  const cancels = '[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]';
  world.send(`${cancels}\n`);
  assert.deepEqual((await world.next())['params'], { line: cancels }, 'the server gets the batch as it came');
  await approve(world.dataDir, first);
  assert.equal(await world.end(), 0);
  assert.deepEqual(world.effects(), []);
});

async function untilSaid(world: HttpWorld): Promise<void> {
  while (!world.said.some((line) => line.startsWith('held'))) await new Promise((resolve) => setTimeout(resolve, 5));
}

check('over HTTP a request under the id of a call that waits is refused, and ends nothing of it', async (t) => {
  const done: Behaviour = (_arrived, response, { id }) => json(response, result(id, 'done'));
  const world = await httpWorld(t, done, { policy: HELD, waitMs: 60_000 });
  const session = { 'mcp-session-id': 's1' };
  const waits = world.call('write', { a: 1 }, 1, session);
  await untilSaid(world);
  assert.match(JSON.stringify((await world.call('write', { a: 2 }, 1, session))['error']), /Another request/);
  await approve(world.dataDir, heldIn(world.said.join('\n'))[0]);
  assert.equal(textOf(await waits), 'done');
});

check('half an event at the end of a stream is no part of what its host is told then', async (t) => {
  const long = `data: ${'x'.repeat(17 * 1024 * 1024)}`;
  let sent = '';
  const world = await httpWorld(t, (_arrived, response) => void response.writeHead(200, EVENTS).end(sent));
  for (const end of ['data: {"jsonrpc":"2.0",', long, `${long}\n\n`]) {
    sent = end;
    const params = { name: 'write', arguments: { length: end.length } };
    const reply = await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) });
    const events = reply.body.split('\n\n');
    assert.match(events.at(-2) ?? '', /^event: message\ndata: \{"id":1,.*OUTCOME UNKNOWN/, `${end.length}`);
    assert.equal(events.length, end.startsWith(long) ? 3 : 2);
  }
});

check(
  'a write of a host without a session is told as unknown when its stream ends, not answered unjudged',
  async (t) => {
    const world = await httpWorld(
      t,
      (_arrived, response) => void response.writeHead(200, EVENTS).end('id: p1\ndata: \n\n'),
    );
    const params = { name: 'write', arguments: { a: 1 } };
    const reply = await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) });
    assert.equal(outcomeOf(messageOf(reply))?.outcome, 'unknown');
  },
);
