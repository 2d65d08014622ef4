import { Waves } from '../../src/mcp/guard/waves.ts';
import { countingObserver } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { elsewhere, guardWorld, textOf } from './guard-world.ts';

const SIXTEEN = Array.from({ length: 16 }, (_, i) => i + 1);

check(
  'sixteen writes at once share two commits: one before the server hears of them, one of their outcomes',
  async (t) => {
    const counts = countingObserver();
    const world = await guardWorld(t, { observer: counts.observe });
    await world.call('write', { a: 0 }, 'first');
    counts.reset();
    const call = (id: number): string =>
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'gathers', arguments: { of: 16, id } },
      });
    world.send(`${SIXTEEN.map(call).join('\n')}\n`);
    const told = await Promise.all(SIXTEEN.map(() => world.next()));
    assert.deepEqual(new Set(told.map(({ id }) => id)), new Set(SIXTEEN));
    for (const one of told) assert.equal(textOf(one), 'gathered');
    const commits = counts.events.flatMap((event) =>
      event.kind === 'committed' && event.names.some((name) => name.startsWith('calls.')) ? [event.names] : [],
    );
    assert.deepEqual(commits, [SIXTEEN.map(() => 'calls.begin'), SIXTEEN.map(() => 'calls.finish')]);
    assert.equal(world.effects().length, 17);
  },
);

const settledOf = (promises: readonly Promise<void>[]): { readonly count: number } => {
  const seen = { count: 0 };
  for (const promise of promises)
    void promise.then(() => {
      seen.count += 1;
    });
  return seen;
};
const microtasks = async (): Promise<void> => {
  for (let i = 0; i < 5; i += 1) await Promise.resolve();
};

check('who was passed on in one moment goes on together, as soon as the last has its answer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] });
  const waves = new Waves();
  const [a, b, c] = [waves.join(), waves.join(), waves.join()];
  t.mock.timers.tick(0);
  const later = waves.join();
  const seen = settledOf([a.leave(), b.leave(), a.leave()]);
  await microtasks();
  assert.equal(seen.count, 0, 'one of them is still under way; leaving twice counts once');
  const alone = settledOf([later.leave()]);
  await microtasks();
  assert.equal(alone.count, 1, 'who was passed on later waits for nobody before');
  const last = settledOf([c.leave()]);
  await microtasks();
  assert.deepEqual([seen.count, last.count], [3, 1]);
});

check('a call that hangs holds the others of its moment up for a millisecond, once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] });
  const waves = new Waves();
  const [a, b, hanging] = [waves.join(), waves.join(), waves.join()];
  t.mock.timers.tick(0);
  const seen = settledOf([a.leave()]);
  await microtasks();
  assert.equal(seen.count, 0);
  t.mock.timers.tick(1);
  await microtasks();
  assert.equal(seen.count, 1);
  const next = settledOf([b.leave(), hanging.leave()]);
  await microtasks();
  assert.equal(next.count, 2, 'nobody waits once it is over');
});

const turnsOfTheLoop = async (ms: number): Promise<void> => {
  for (const end = Date.now() + ms; Date.now() < end; ) await new Promise(setImmediate);
};

check('a call that is cancelled while its answer waits for others is written down as it was answered', async (t) => {
  const world = await guardWorld(t);
  await world.call('write', { a: 0 }, 'first');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const call = (id: number, name: string): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { id } } });
  world.send(`${call(1, 'write')}\n${call(2, 'hangs')}\n`);
  while (world.effects().length < 3) await turnsOfTheLoop(1);
  await turnsOfTheLoop(200);
  for (const requestId of [1, 2]) world.send({ method: 'notifications/cancelled', params: { requestId } });
  await turnsOfTheLoop(50);
  t.mock.timers.tick(1);
  await turnsOfTheLoop(50);
  t.mock.timers.reset();
  await world.end();
  await elsewhere(world.dataDir, async ({ runtime: { store } }) => {
    const rows = await store.read('test.operations', (tx) =>
      tx.all<{ tool: string; state: string }>('SELECT tool_name AS tool, state FROM operations ORDER BY operation_pk'),
    );
    assert.deepEqual(
      rows.map(({ tool, state }) => [tool, state === 'succeeded']),
      [
        ['world__write', true],
        ['world__write', true],
        ['world__hangs', false],
      ],
    );
  });
});
