import { assert, check } from '../support/index.ts';
import { elsewhere, guardWorld, type GuardWorld, OPEN_POLICY, outcomeOf, resultOf, textOf } from './guard-world.ts';
import { httpWorld, json, messageOf, result } from './http-world.ts';

const keyed = (world: GuardWorld, name: string, args: object, key: unknown, id: unknown = 1) =>
  world.call(name, args, id, { _meta: { 'holdfast/idempotency_key': key } });

check(
  'a call under a key that was used gets the stored answer, and is not run again; also in the next life',
  async (t) => {
    const first = await guardWorld(t);
    const told = await keyed(first, 'write', { a: 1 }, 'key-1', 1);
    const again = await keyed(first, 'write', { a: 1 }, 'key-1', 'two');
    assert.equal(again.id, 'two');
    assert.deepEqual(again['result'], told['result']);
    assert.equal((await keyed(first, 'write', { a: 1 }, 'key-2', 3)).id, 3);
    assert.equal(first.effects().length, 2, 'another key is another call');
    await first.end();
    const next = await guardWorld(t, { dataDir: first.folder });
    assert.deepEqual((await keyed(next, 'write', { a: 1 }, 'key-1', 4))['result'], told['result']);
    assert.equal(next.effects().length, 2);
    await next.end();
    const audit = await elsewhere(first.dataDir, ({ runtime }) => runtime.operations.audit());
    assert.deepEqual([audit.passed, audit.semantic_errors], [true, []]);
  },
);

check('the same key with other arguments is a conflict, and runs nothing', async (t) => {
  const world = await guardWorld(t);
  await keyed(world, 'write', { a: 1 }, 'key-1');
  const other = await keyed(world, 'write', { a: 2 }, 'key-1', 2);
  assert.equal(outcomeOf(other)?.code, 'IDEMPOTENCY_CONFLICT');
  assert.match(textOf(other), /^NOT STARTED/);
  await keyed(world, 'large', { a: 2 }, 'key-1', 3);
  assert.deepEqual(world.effects(), [{ a: 1 }, { a: 2 }], 'a key counts for one tool');
});

check('a call that is under way is waited for; both get one answer', async (t) => {
  const world = await guardWorld(t);
  const about = { name: 'write', arguments: { a: 1 }, _meta: { 'holdfast/idempotency_key': 'k' } };
  for (const id of [1, 2, 3]) world.send({ id, method: 'tools/call', params: about });
  const told = [await world.next(), await world.next(), await world.next()];
  assert.deepEqual(new Set(told.map(({ id }) => id)), new Set([1, 2, 3]));
  for (const one of told) assert.match(textOf(one), /written/);
  assert.equal(world.effects().length, 1);
});

check('an unknown call is told as unknown again, a failure as the failure that it was', async (t) => {
  const world = await guardWorld(t);
  const lost = await keyed(world, 'hangs', { a: 1 }, 'k');
  const again = await keyed(world, 'hangs', { a: 1 }, 'k', 2);
  assert.deepEqual([outcomeOf(again)?.outcome, outcomeOf(again)?.status_ref], ['unknown', outcomeOf(lost)?.status_ref]);
  await keyed(world, 'write_fails', { a: 1 }, 'k', 3);
  assert.equal(outcomeOf(await keyed(world, 'write_fails', { a: 1 }, 'k', 4))?.outcome, 'not_done');
  assert.equal(world.effects().length, 2);
});

check('an answer that was too large to be kept is told as done, without being invented', async (t) => {
  const world = await guardWorld(t);
  await keyed(world, 'large', { a: 1 }, 'k');
  const again = await keyed(world, 'large', { a: 1 }, 'k', 2);
  assert.equal(resultOf(again).isError, undefined);
  assert.match(textOf(again), /^DONE: .*not kept whole\. .*result_bytes/);
  assert.equal(world.effects().length, 1);
});

check(
  'nobody is asked twice for one key, and what an approver changed is one call with what was asked for',
  async (t) => {
    const policy = { ...OPEN_POLICY, tools: { write: { effect: 'once', editable: ['a'] } }, rules: [] };
    const world = await guardWorld(t, { policy });
    assert.equal(outcomeOf(await keyed(world, 'write', { a: 1 }, 'k'))?.code, 'APPROVAL_PENDING');
    const pending = () =>
      elsewhere(world.dataDir, async ({ runtime }) => (await runtime.approvals.pending(runtime.principal)).items);
    const [one] = await pending();
    assert.ok(one);
    await elsewhere(world.dataDir, ({ runtime }) =>
      runtime.approvals.decide(runtime.principal, [
        { requestId: one.requestId, digest: one.digest, decision: 'approve', editedArguments: { a: 2 } },
      ]),
    );
    assert.match(textOf(await keyed(world, 'write', { a: 1 }, 'k', 2)), /written/);
    assert.match(textOf(await keyed(world, 'write', { a: 1 }, 'k', 3)), /written/);
    assert.equal(outcomeOf(await keyed(world, 'write', { a: 3 }, 'k', 4))?.code, 'IDEMPOTENCY_CONFLICT');
    assert.deepEqual(world.effects(), [{ a: 2 }]);
    assert.deepEqual(await pending(), []);
  },
);

check('a read is made again whatever its key, and a key that is none is refused', async (t) => {
  const world = await guardWorld(t);
  assert.equal(resultOf(await keyed(world, 'read', {}, 'k')).isError, undefined);
  assert.equal(resultOf(await keyed(world, 'read', {}, 'k', 2)).isError, undefined);
  for (const key of ['', 'a b', 7, 'x'.repeat(201), 'é'])
    assert.match(JSON.stringify(await keyed(world, 'write', { a: 1 }, key, 3)), /MCP_MESSAGE_UNREADABLE/);
  assert.deepEqual(world.effects(), []);
  await keyed(world, 'write', { a: 1 }, 'x'.repeat(200), 4);
  assert.equal(world.effects().length, 1);
});

check('over HTTP the same, whichever host calls', async (t) => {
  const world = await httpWorld(t, (_arrived, response, { id }) => json(response, result(id, 'done')));
  const call = async (id: number, a: number, session: string) => {
    const params = { name: 'write', arguments: { a }, _meta: { 'holdfast/idempotency_key': 'k' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
    return messageOf(await world.send({ headers: { 'mcp-session-id': session }, body }));
  };
  assert.equal(textOf(await call(1, 1, 's1')), 'done');
  const again = await call(2, 1, 's2');
  assert.deepEqual([again.id, textOf(again)], [2, 'done']);
  assert.equal(outcomeOf(await call(3, 2, 's1'))?.code, 'IDEMPOTENCY_CONFLICT');
  assert.equal(world.arrived.length, 1);
});

check('an answer as deep as may pass is done, and kept where the ledger can keep it', async (t) => {
  const world = await guardWorld(t);
  const deep = (levels: number, id: number) => keyed(world, 'deep', { levels }, `deep-${levels}`, id);
  for (const [i, levels] of [1, 14, 15, 16, 23, 24, 25, 40].entries()) {
    const told = await deep(levels, i * 2);
    const nested = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    assert.deepEqual(told['result'], { content: [], structuredContent: JSON.parse(nested) as unknown });
    const again = await deep(levels, i * 2 + 1);
    if (levels <= 24) assert.deepEqual(again['result'], told['result']);
    else assert.match(textOf(again), /^DONE: it was carried out; its answer was not kept whole/);
  }
  assert.equal(world.effects().length, 8);
  await world.end();
  const audit = await elsewhere(world.dataDir, ({ runtime }) => runtime.operations.audit());
  assert.deepEqual([audit.passed, audit.semantic_errors], [true, []]);
});
