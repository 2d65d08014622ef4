import { getSetting, openSession, putSetting, requireSession, revertMarkerKey } from '../../../src/sessions/index.ts';
import { registerInstance } from '../../../src/store/index.ts';
import { disarm } from '../../support/autonomy-attacks.ts';
import { assert, check } from '../../support/index.ts';
import { OWNER } from '../../support/session-world.ts';
import {
  type AutonomyWorld,
  allocate,
  assessed,
  audits,
  behind,
  boundRepair,
  candidate,
  line,
  markStarted,
  newRun,
  openAutonomyWorld,
  projected,
  rawRow,
  request,
  secondRun,
  start,
  startReview,
} from '../../support/autonomy-world.ts';

const swept = (world: AutonomyWorld, own = 'new-daemon') => world.autonomy.sweep(own);

check('what a dead process left open ends as unavailable, and the branch is free again', async () => {
  await using first = await openAutonomyWorld();
  await start(first);
  await assessed(first, 'a');
  await candidate(first);
  await startReview(first);
  const world = await first.reopen();
  assert.deepEqual(await swept(world), { closed: ['run-1'], abandoned: [], waiting: [] });
  const run = await projected(world);
  assert.deepEqual([run?.['status'], run?.['terminal_reason']], ['review_unavailable', 'daemon_restart']);
  const statuses = (await audits(world)).map((row) => row['status']);
  assert.deepEqual(statuses, ['unavailable', 'unavailable']);
  assert.deepEqual((await swept(world)).closed, []);
  assert.equal((await start(world, secondRun)).created, true);
  await world.close();
});

check('a repair whose outcome is unknown pauses the run; one that nothing is known of is abandoned', async () => {
  await using acting = await openAutonomyWorld();
  const groupId = await boundRepair(acting);
  await line(acting, groupId, 'proposed', 'write');
  const { attemptId } = await allocate(acting, groupId, 'cell', 'daemon-test');
  await markStarted(acting, attemptId);
  assert.deepEqual((await swept(acting)).closed, ['run-1']);
  assert.equal((await projected(acting))?.['terminal_reason'], 'outcome_unknown');

  await using waiting = await openAutonomyWorld();
  const other = await boundRepair(waiting);
  await line(waiting, other, 'proposed', 'write');
  await request(waiting, 'd', { groupId: other, actionId: 'write' });
  assert.deepEqual((await swept(waiting)).abandoned, ['run-1']);
  assert.equal(rawRow(waiting, 'SELECT status FROM repair_runs')['status'], 'started');
  assert.notEqual(rawRow(waiting, 'SELECT abandoned_at FROM auto_mode_runs')['abandoned_at'], null);
});

check('runs of this process, of live ones, and under an unfinished revert are left alone', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  assert.deepEqual(await swept(world, 'daemon-test'), { closed: [], abandoned: [], waiting: [] });
  await world.store.write('test.instance', (tx) =>
    registerInstance(tx, world.clock, { instanceId: 'daemon-test', leaseMs: 1000 }),
  );
  assert.deepEqual(await swept(world), { closed: [], abandoned: [], waiting: [] });
  world.clock.advance(1000);
  const marker = revertMarkerKey(world.root);
  await world.store.write('test.marker', (tx) => putSetting(tx, world.context, world.root, marker, '{}'));
  assert.deepEqual((await swept(world)).waiting, ['run-1']);
  assert.equal(await world.store.read('test.marker', (tx) => getSetting(tx, world.root, marker)), '{}');
  await world.store.write('test.marker', (tx) => putSetting(tx, world.context, world.root, marker, null));
  assert.deepEqual((await swept(world)).closed, ['run-1']);
});

for (const [damage, end] of [
  ["mode = 'off'", 'abandoned'],
  ["budgets_json = '{'", 'abandoned'],
  ['state_revision = 1 << 60', 'abandoned'],
  // Who began it cannot be told, and what a supervisor began is not the sweep's.
  ["selection_json = '{'", 'left'],
] as const)
  check(`one damaged run does not stop the sweep: ${damage}`, async () => {
    await using world = await openAutonomyWorld();
    await start(world);
    const other = await anotherSession(world);
    const place = { rootFrameId: other, branchId: other };
    await world.autonomy.startRun(OWNER, newRun(other, { ...secondRun, ...place, key: 'turn-2:auto-run' }));
    behind(world, (db) => {
      disarm(db);
      db.exec(`UPDATE auto_mode_runs SET ${damage} WHERE run_id = 'run-1'`);
    });
    const abandoned = end === 'abandoned' ? ['run-1'] : [];
    assert.deepEqual(await swept(world), { closed: ['run-2'], abandoned, waiting: [] });
    const row = rawRow(world, "SELECT abandoned_at FROM auto_mode_runs WHERE run_id = 'run-1'");
    assert.equal(row['abandoned_at'] === null, end === 'left');
    if (end === 'abandoned') {
      const third = { runId: 'run-3', turnId: 'turn-3', executionId: 'execution-3', key: 'turn-3:auto-run' };
      assert.equal((await start(world, third)).created, true);
    }
  });

const anotherSession = (world: AutonomyWorld): Promise<string> =>
  world.store.write('test.session', async (tx) => {
    const { projectId } = await requireSession(tx, OWNER, world.root);
    return openSession(tx, world.context, OWNER, { projectId });
  });
