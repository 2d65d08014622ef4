import type { CallPlace } from '../../src/calls/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { RunPlaces } from '../../src/mcp/guard/run-places.ts';
import { assert, check } from '../support/index.ts';
import { elsewhere, guardWorld, OPEN_POLICY, outcomeOf } from './guard-world.ts';

const IDS = Array.from({ length: 64 }, (_, i) => `r${i}`);
const MANY = {
  ...OPEN_POLICY,
  tools: {
    ...OPEN_POLICY.tools,
    many: {
      effect: 'once',
      resources: [{ kind: 'owned', role: 'r', namespace: 'n', collection: 'c', record: '/ids/*' }],
    },
  },
  rules: [...OPEN_POLICY.rules, { id: 'many', tools: ['many'], decision: 'allow' }],
};
/** So many calls that name 64 things each fill half of a run's record, as the guard counts it. */
const HALF = Math.ceil(LIMITS.effectRecordsPerRun / 2 / (2 + IDS.length));

check('after many writes the calls go on in the next run of the session; what waits is made in its own', async (t) => {
  const world = await guardWorld(t, { policy: MANY, waitMs: 0 });
  const asked = await world.call('ask_first', { a: 1 }, 'held');
  assert.equal(outcomeOf(asked)?.code, 'APPROVAL_PENDING');
  for (let i = 0; i < HALF + 1; i += 1) await world.call('many', { ids: IDS, i }, i);
  await elsewhere(world.dataDir, async ({ runtime: { approvals, principal } }) => {
    const [pending] = (await approvals.list(principal)).items;
    assert.ok(pending);
    const { requestId, digest } = await approvals.show(principal, pending.requestId);
    await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
  });
  const told = await world.call('ask_first', { a: 1 }, 'again');
  assert.equal(outcomeOf(told), undefined, 'the server answered');
  assert.equal(await world.end(), 0);
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.runs.list(runtime.principal, { limit: 10 });
    assert.equal(items.length, 2);
    assert.deepEqual(new Set(items.map(({ state }) => state.status)), new Set(['completed']));
    assert.equal(new Set(items.map(({ place }) => place.rootFrameId)).size, 1);
    const claims = await runtime.store.read('test.claims', (tx) =>
      tx.all<{ run_id: string; n: number }>(
        `SELECT run_id, COUNT(*) AS n FROM effect_records WHERE type = 'claim' GROUP BY run_id ORDER BY MIN(rowid)`,
      ),
    );
    const [first, second] = claims.map(({ n }) => n);
    assert.ok(first !== undefined && second !== undefined && first + second === HALF + 2);
    assert.ok(first > HALF, 'the call that waited was made in the run where it was proposed');
  });
});

const PLACES = ['one', 'two', 'three', 'four'].map((runId) => ({ runId }) as CallPlace);
const half = { resourceKeys: Array.from({ length: LIMITS.effectRecordsPerRun / 2 - 2 }, String) };

function keeper() {
  const ended: string[] = [];
  const waiting = new Set<CallPlace>();
  let next = 0;
  const places = new RunPlaces({
    place: PLACES[0] as CallPlace,
    runs: {
      next: async () => {
        next += 1;
        return PLACES[next] as CallPlace;
      },
      anew: () => assert.fail('no run was taken'),
      end: async ({ runId }) => void ended.push(runId),
    },
    waitsIn: (place) => waiting.has(place),
    tell: (line) => assert.fail(line),
  });
  return { places, ended, waiting };
}

check('a run ends once the next but one has begun, unless a call of it is under way or waits', async () => {
  const { places, ended, waiting } = keeper();
  const turn = async (): Promise<CallPlace> => {
    const place = places.enter();
    places.writes(place, half);
    places.leave(place);
    await places.settled();
    return place;
  };
  const under = places.enter();
  assert.equal((await turn()).runId, 'one');
  assert.deepEqual(ended, []);
  assert.equal((await turn()).runId, 'two');
  assert.deepEqual(ended, [], 'a call of the first is under way');
  places.leave(under);
  waiting.add(PLACES[1] as CallPlace);
  assert.equal((await turn()).runId, 'three');
  assert.deepEqual(ended, ['one'], 'a call of the second waits');
  assert.equal(places.enter(PLACES[1]).runId, 'two', 'and goes on in its own run');
  assert.equal(places.enter().runId, 'four');
});

check('what is written in a run that was left does not count for the next, and a turn is made once', async () => {
  const { places } = keeper();
  const old = places.enter();
  places.writes(old, half);
  places.writes(old, half);
  await places.settled();
  assert.equal(places.enter().runId, 'two');
  places.writes(old, half);
  await places.settled();
  assert.equal(places.enter().runId, 'two');
});

check('a run that cannot be begun is said, and tried again with the next write', async () => {
  const told: string[] = [];
  let tries = 0;
  const places = new RunPlaces({
    place: PLACES[0] as CallPlace,
    runs: {
      next: async () => {
        tries += 1;
        if (tries === 1) throw new Error('the disk is full');
        return PLACES[1] as CallPlace;
      },
      anew: () => assert.fail('no run was taken'),
      end: async () => undefined,
    },
    waitsIn: () => false,
    tell: (line) => void told.push(line),
  });
  for (const runId of ['one', 'one', 'two']) {
    const place = places.enter();
    assert.equal(place.runId, runId);
    if (runId === 'one') places.writes(place, half);
    places.leave(place);
    await places.settled();
  }
  assert.deepEqual(told, ['a run could not be begun or ended: the disk is full']);
});

const take = (dataDir: string, which: string): Promise<unknown> =>
  elsewhere(dataDir, ({ runtime: { store } }) =>
    store.write('test.take', (tx) => tx.run(`UPDATE traces SET owner_instance_id = NULL ${which}`)),
  );

check('a run that was taken from the guard keeps no other from its end', async (t) => {
  const world = await guardWorld(t, { policy: MANY });
  for (let i = 0; i < HALF + 1; i += 1) await world.call('many', { ids: IDS, i }, i);
  await take(world.dataDir, 'WHERE trace_id = (SELECT min(trace_id) FROM traces)');
  for (let i = HALF + 1; i < 3 * HALF + 1; i += 1) await world.call('many', { ids: IDS, i }, i);
  assert.equal(world.errors().match(/a run could not be begun or ended/g)?.length, 1, 'it is said once');
  await take(
    world.dataDir,
    `WHERE status = 'running' AND trace_id = (SELECT max(trace_id) FROM traces
    WHERE trace_id < (SELECT max(trace_id) FROM traces))`,
  );
  await assert.rejects(world.end(), { code: 'RUN_NOT_OWNED' });
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.runs.list(runtime.principal, { limit: 10 });
    assert.deepEqual(
      items.map(({ state }) => state.status),
      ['completed', 'running', 'completed', 'running'],
    );
  });
});

check('a guard that slept with more than one run open ends in order, and nothing of them is left open', async (t) => {
  const world = await guardWorld(t, { policy: MANY });
  for (let i = 0; i < HALF + 1; i += 1) await world.call('many', { ids: IDS, i }, i);
  const taken = await elsewhere(world.dataDir, async ({ runtime }) => runtime.reconciled.length, 3_600_000);
  assert.equal(taken, 2);
  assert.equal(outcomeOf(await world.call('many', { ids: IDS, i: -1 }, 'woken')), undefined);
  assert.equal(await world.end(), 0);
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.runs.list(runtime.principal, { limit: 10 });
    assert.deepEqual(
      items.map(({ state }) => state.status),
      ['completed', 'stopped', 'stopped'],
    );
  });
});
