import { Worker } from 'node:worker_threads';
import { assert, check, contract } from '../../support/index.ts';
import {
  type AutonomyWorld,
  countOf,
  openAutonomyWorld,
  projected,
  rawRow,
  secondRun,
  start,
} from '../../support/autonomy-world.ts';
import { OWNER, refusal, STRANGER } from '../../support/session-world.ts';
import { conflict } from './fixture.ts';

type Raced = { readonly created?: boolean; readonly error?: string };

function racer(world: AutonomyWorld, barrier: SharedArrayBuffer): Promise<Raced> {
  const worker = new Worker(new URL('./racer.ts', import.meta.url), {
    workerData: { file: world.file, root: world.root, barrier },
  });
  return new Promise((resolve, reject) => {
    worker.once('message', (message: Raced) => {
      void worker.terminate().then(() => resolve(message));
    });
    worker.once('error', reject);
  });
}

contract('AUT-01 AUT-02 AUT-03 AUT-04', 'two threads with stores of their own start one run once', async () => {
  await using world = await openAutonomyWorld();
  const barrier = new SharedArrayBuffer(4);
  const ends = await Promise.all([racer(world, barrier), racer(world, barrier)]);
  assert.deepEqual(
    ends.map(({ error }) => error),
    [undefined, undefined],
  );
  assert.equal(ends.filter(({ created }) => created === true).length, 1);
  assert.equal(ends.filter(({ created }) => created === false).length, 1);
  const reopened = await world.reopen();
  const events = await reopened.autonomy.events(OWNER, world.root);
  assert.deepEqual(
    events.map((event) => [event.event_cursor, event.type]),
    [[1, 'auto_run_started']],
  );
  assert.equal(
    Number(rawRow(world, 'SELECT COUNT(*) AS n FROM auto_mode_runs WHERE root_frame_id = ?', world.root)['n']),
    1,
  );
  await reopened.close();
});

contract('AUT-05 AUT-06 AUT-07', 'after a restart an older active run is not hidden by a newer one', async () => {
  await using first = await openAutonomyWorld();
  const begun = await start(first);
  const world = await first.reopen();
  await conflict(start(world, secondRun), /recovery-required active run/);
  const run = await projected(world);
  assert.equal(run?.['run_id'], 'run-1');
  assert.equal(run?.['run_id'], begun.run_id);
  assert.equal(countOf(world, 'auto_mode_runs'), 1);
  await world.close();
});

contract('AUT-08', 'once the older run is reconciled the newer one starts', async () => {
  await using first = await openAutonomyWorld();
  await start(first);
  const world = await first.reopen();
  await conflict(start(world, secondRun), /recovery-required active run/);
  const end = { key: 'run-1:failed', status: 'failed', reason: 'reconciled_after_restart' } as const;
  await world.autonomy.terminateRun(OWNER, 'run-1', end);
  assert.equal((await start(world, secondRun)).created, true);
  await world.close();
});

contract(
  'AUT-09 AUT-10 AUT-11 AUT-12',
  'a start repeated by another process changes neither owner nor log',
  async () => {
    await using first = await openAutonomyWorld();
    const begun = await start(first, { ownerInstanceId: 'daemon-A' });
    assert.equal(begun.owner_instance_id, 'daemon-A');
    const world = await first.reopen();
    const replay = await start(world, { ownerInstanceId: 'daemon-B' });
    assert.deepEqual([replay.created, replay.run_id, replay.owner_instance_id], [false, begun.run_id, 'daemon-A']);
    assert.equal(countOf(world, "auto_mode_events WHERE run_id = 'run-1'"), 1);
    await world.close();
  },
);

check('the same key with another request is a conflict, and so is another run for one execution', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await conflict(start(world, { budgets: {} }), /another request/);
  const end = { key: 'end', status: 'cancelled', reason: 'stopped' } as const;
  await world.autonomy.terminateRun(OWNER, 'run-1', end);
  assert.equal((await refusal(start(world, { runId: 'run-2', key: 'other' }))).code, 'AUTO_ID_TAKEN');
  assert.equal((await refusal(start(world, { ...secondRun, mode: 'sometimes' as 'off' }))).code, 'INVALID_VALUE');
});

check('a stranger finds neither session nor run', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  const { autonomy, root } = world;
  const end = { key: 'end', status: 'cancelled', reason: 'stopped' } as const;
  assert.equal((await refusal(autonomy.terminateRun(STRANGER, 'run-1', end))).code, 'AUTO_RUN_NOT_FOUND');
  assert.equal((await refusal(autonomy.project(STRANGER, root, root))).code, 'BRANCH_NOT_FOUND');
  assert.equal((await refusal(autonomy.exportProjection(STRANGER, root))).code, 'SESSION_NOT_FOUND');
  assert.equal((await refusal(autonomy.events(STRANGER, root))).code, 'SESSION_NOT_FOUND');
});
