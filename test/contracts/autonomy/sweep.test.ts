import { getSetting, putSetting, revertMarkerKey } from '../../../src/sessions/index.ts';
import { registerInstance } from '../../../src/store/index.ts';
import { assert, check } from '../../support/index.ts';
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

check('one damaged run does not stop the sweep', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  behind(world, (db) => db.exec("UPDATE auto_mode_runs SET mode = 'off'"));
  assert.deepEqual((await swept(world)).abandoned, ['run-1']);
  assert.equal((await start(world, secondRun)).created, true);
});
