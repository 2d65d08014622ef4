import { setTimeout as sleep } from 'node:timers/promises';
import {
  beatInstance,
  endInstance,
  forgetInstance,
  instancesSchema,
  isInstanceLive,
  listDeadInstances,
  registerInstance,
  startHeartbeat,
  type Store,
} from '../../src/store/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { countingIds, type ManualClock, manualClock } from '../support/clock.ts';
import { armFaults, assert, check } from '../support/index.ts';
import { behindItsBack, type NotesStore, openNotes } from '../support/notes-store.ts';

const schemas = [instancesSchema];

async function live(store: NotesStore['store'], clock: ManualClock, id: string): Promise<boolean> {
  return store.read('live', (tx) => isInstanceLive(tx, clock, id));
}

async function dead(store: NotesStore['store'], clock: ManualClock): Promise<string[]> {
  const list = await store.read('dead', (tx) => listDeadInstances(tx, clock));
  return list.map(({ instanceId }) => instanceId);
}

check('an instance lives while its lease runs, and is dead in the millisecond at which it ends', async (t) => {
  const { store } = await openNotes(t, { schemas });
  const clock = manualClock(1_000);
  const one = { instanceId: 'one', leaseMs: 100 };
  await store.write('register', (tx) => registerInstance(tx, clock, one));
  clock.set(1_099);
  assert.deepEqual([await live(store, clock, 'one'), await dead(store, clock)], [true, []]);
  await store.write('beat', (tx) => beatInstance(tx, clock, one));
  clock.set(1_198);
  assert.equal(await live(store, clock, 'one'), true);
  clock.set(1_199);
  assert.deepEqual([await live(store, clock, 'one'), await dead(store, clock)], [false, ['one']]);
  assert.equal(await live(store, clock, 'nobody'), false);
});

check('a lease that ended is never renewed, and a beat of the past does not shorten one', async (t) => {
  const { store } = await openNotes(t, { schemas });
  const clock = manualClock(1_000);
  const one = { instanceId: 'one', leaseMs: 100 };
  const beat = () => store.write('beat', (tx) => beatInstance(tx, clock, one));
  await store.write('register', (tx) => registerInstance(tx, clock, one));
  clock.set(950);
  await beat();
  clock.set(1_099);
  assert.equal(await live(store, clock, 'one'), true);
  clock.set(1_100);
  await assert.rejects(beat(), { code: 'INSTANCE_ENDED' });
});

check('an ended instance is dead at once, for ever, and can be forgotten; a living one cannot', async (t) => {
  const { store, file } = await openNotes(t, { schemas });
  const clock = manualClock(1_000);
  for (const instanceId of ['one', 'two'])
    await store.write('register', (tx) => registerInstance(tx, clock, { instanceId, leaseMs: 100 }));
  await store.write('end', (tx) => endInstance(tx, clock, 'one'));
  await store.write('end', (tx) => endInstance(tx, clock, 'one'));
  assert.deepEqual([await live(store, clock, 'one'), await dead(store, clock)], [false, ['one']]);
  await assert.rejects(
    store.write('beat', (tx) => beatInstance(tx, clock, { instanceId: 'one', leaseMs: 100 })),
    { code: 'INSTANCE_ENDED' },
  );
  assert.throws(
    () => behindItsBack(file, (database) => database.exec('UPDATE instances SET ended_at_ms = NULL')),
    /stays ended/,
  );
  const forgotten = await store.write('forget', async (tx) => [
    await forgetInstance(tx, clock, 'one'),
    await forgetInstance(tx, clock, 'two'),
  ]);
  assert.deepEqual(forgotten, [true, false]);
  assert.deepEqual(await dead(store, clock), []);
});

check('a lease has bounds', async (t) => {
  const { store } = await openNotes(t, { schemas });
  const register = (leaseMs: number) =>
    store.write('register', (tx) => registerInstance(tx, manualClock(), { instanceId: `i${leaseMs}`, leaseMs }));
  for (const leaseMs of [0, -1, 1.5]) await assert.rejects(register(leaseMs), { code: 'INVALID_VALUE' });
  await assert.rejects(register(600_001), { code: 'LIMIT_REACHED' });
  await register(600_000);
  const list = (limit: number) => store.read('dead', (tx) => listDeadInstances(tx, manualClock(), limit));
  await assert.rejects(list(501), { code: 'LIMIT_REACHED' });
  assert.deepEqual(await list(500), []);
});

check('a heartbeat registers one instance, renews its lease, and ends it when it stops', async (t) => {
  const { store } = await openNotes(t, { schemas });
  const clock = manualClock(1_000);
  const faults = armFaults();
  const heart = await startHeartbeat(store, { clock, ids: countingIds(), leaseMs: 30, faults });
  const renewed = async () => {
    const row = await store.read('lease', (tx) => tx.get('SELECT lease_until_ms AS until FROM instances'));
    return row?.['until'];
  };
  assert.equal(await renewed(), 1_030);
  clock.set(1_020);
  while ((await renewed()) !== 1_050) await sleep(2);
  assert.equal(heart.lost(), false);
  await heart.stop();
  assert.deepEqual(await dead(store, clock), [heart.instanceId]);
  assert.ok(faults.reached('lease-renewed') > 0);
});

check('a heartbeat that comes too late says once that the lease is lost', async (t) => {
  const { store } = await openNotes(t, { schemas });
  const clock = manualClock(1_000);
  let losses = 0;
  const onLost = () => {
    losses += 1;
  };
  const heart = await startHeartbeat(store, { clock, ids: countingIds(), leaseMs: 30, onLost });
  clock.set(2_000);
  while (!heart.lost()) await sleep(2);
  await sleep(30);
  assert.equal(losses, 1);
  await heart.stop();
});

check('a heartbeat that its store holds up beats once when it can, however long that took', async (t) => {
  const { store } = await openNotes(t, { schemas });
  const clock = manualClock(1_000);
  const held = Promise.withResolvers<void>();
  let beats = 0;
  const slow: Store = {
    read: (name, body) => store.read(name, body),
    write: async (name, body) => {
      if (name === 'instances.beat') {
        beats += 1;
        await held.promise;
      }
      return store.write(name, body);
    },
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
  const heart = await startHeartbeat(slow, { clock, ids: countingIds(), leaseMs: 6 });
  while (beats === 0) await sleep(2);
  await sleep(60);
  held.resolve();
  await heart.stop();
  assert.equal(beats, 1);
});

check('of dead instances the newest are kept, so many as the limit says, and every living one', async (t) => {
  const { store, file } = await openNotes(t, { schemas });
  const clock = manualClock(1_000_000);
  const most = LIMITS.deadInstancesKept;
  behindItsBack(file, (database) => {
    const add = database.prepare('INSERT INTO instances VALUES (?, 0, ?, ?)');
    for (let i = 0; i < most; i += 1) add.run(`dead-${i}`, i + 1, i % 2 === 0 ? i : null);
    add.run('oldest', 0, null);
    add.run('living', 2_000_000, null);
  });
  const ids = async () =>
    (await store.read('ids', (tx) => tx.all('SELECT instance_id AS id FROM instances'))).map(({ id }) => id);
  const heart = await startHeartbeat(store, { clock, ids: countingIds(), leaseMs: 600_000 });
  const left = new Set(await ids());
  assert.equal(left.size, most + 2);
  assert.deepEqual([left.has('oldest'), left.has('living'), left.has(heart.instanceId)], [false, true, true]);
  await heart.stop();
});
