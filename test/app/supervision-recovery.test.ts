import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { viewOfRun } from '../../src/app/index.ts';
import type { FaultPoint, FaultPoints } from '../../src/core/index.ts';
import { functionModel, Holdfast } from '../../src/index.ts';
import { movedClock } from '../support/clock.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { authorOf, honestReviewer, openSupervised, type SupervisedWorld } from '../support/supervised-world.ts';

/** Throws the n-th time that a point is reached: what follows is lost, as when the process ends there. */
function dyingAt(wanted: FaultPoint, nth: number): FaultPoints {
  let seen = 0;
  return {
    reach: (point) => {
      if (point !== wanted || (seen += 1) !== nth) return;
      throw new Error(`died at ${point}`);
    },
  };
}

async function onlyRun({ holdfast }: SupervisedWorld): Promise<string> {
  const { runs, principal } = holdfast.runtime;
  const { items } = await runs.list(principal, { limit: 10 });
  return items.find((run) => run.parent === null)?.runId ?? '';
}

const POINTS: readonly (readonly [point: FaultPoint, times: number])[] = [
  ['auto-candidate-recorded', 2],
  ['auto-review-started', 2],
  ['auto-review-answered', 2],
  ['auto-review-completed', 2],
  ['auto-repair-started', 1],
  ['auto-repair-ended', 1],
  ['auto-about-to-verify', 1],
];

for (const [point, times] of POINTS)
  for (let nth = 1; nth <= times; nth += 1)
    check(`a supervision that dies at ${point} (${nth}) goes on where it stood`, async (t) => {
      const dataDir = join(await temporaryFolder(t), 'data');
      const dying = await openSupervised({ dataDir, options: { faults: dyingAt(point, nth) } });
      await assert.rejects(dying.agent.run('Write the total.'), /died at/);
      await dying.holdfast.close();
      const world = await openSupervised({ dataDir });
      const run = await world.agent.resume(await onlyRun(world));
      const { status, reviews, repairs } = run.supervision ?? {};
      assert.deepEqual([status, reviews, repairs, world.report()], ['verified', 2, 1, 'total 42']);
      await world.holdfast.close();
    });

for (const [point, nth] of [
  ['auto-review-started', 1],
  ['effect-sent', 2],
] as const)
  check(
    `a supervision that died at ${point} goes on with another model of its author where that is adopted`,
    async (t) => {
      const dataDir = join(await temporaryFolder(t), 'data');
      const dying = await openSupervised({ dataDir, options: { faults: dyingAt(point, nth) } });
      await assert.rejects(dying.agent.run('Write the total.'), /died at/);
      await dying.holdfast.close();
      const clock = movedClock();
      const author = { ...authorOf('total 41', 'total 42'), id: 'newer-author' };
      const world = await openSupervised({ dataDir, author, options: { clock, instanceLeaseMs: 600_000 } });
      clock.advance(60_000);
      const runId = await onlyRun(world);
      await assert.rejects(world.agent.resume(runId), { code: 'RUN_CONFIG_CHANGED' });
      const run = await world.agent.resume(runId, { adopt: true });
      assert.deepEqual([run.supervision?.status, world.report()], ['verified', 'total 42']);
      await world.holdfast.close();
    },
  );

check('a verified run is ended for good: nothing of it is resumed', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const dying = await openSupervised({ dataDir, options: { faults: dyingAt('auto-run-ended', 1) } });
  await assert.rejects(dying.agent.run('Write the total.'), /died at/);
  await dying.holdfast.close();
  const world = await openSupervised({ dataDir });
  const runId = await onlyRun(world);
  await assert.rejects(world.agent.resume(runId), { code: 'RUN_ENDED' });
  const { autonomy, principal, runs } = world.holdfast.runtime;
  const { place } = await runs.get(principal, runId);
  assert.equal((await autonomy.supervisionOf(principal, place))?.status, 'verified');
  await world.holdfast.close();
});

/** A reviewer of approvals that says yes to everything. */
const eager = functionModel(
  () => JSON.stringify({ outcome: 'allow_once', risk: 'low', summary: 'Harmless.' }),
  'eager',
);

async function advised(t: TestContext) {
  const dataDir = join(await temporaryFolder(t), 'data');
  const terms = { reviewer: { model: honestReviewer() }, permissionReviewer: { model: eager } };
  const setting = { dataDir, terms, needsApproval: true };
  return { setting, world: await openSupervised(setting) };
}

check('advice about what waits decides nothing, and repairs wait for their person too', async (t) => {
  const { world, setting } = await advised(t);
  const first = await world.agent.run('Write the total.');
  assert.equal(first.status, 'waiting_confirmation');
  const [advice] = first.supervision?.advice ?? [];
  assert.deepEqual([advice?.outcome, advice?.risk, advice?.public_summary], ['allow_once', 'low', 'Harmless.']);
  assert.equal(first.pending.length, 1);
  const repairing = await first.approve(first.pending[0]);
  assert.deepEqual([repairing.status, repairing.supervision?.status], ['completed', 'repairing']);
  assert.equal(world.report(), 'total 41');
  await world.holdfast.close();
  const later = await openSupervised(setting);
  const run = await later.agent.resume(first.id);
  assert.equal(run.supervision?.advice.length, 2);
  const done = await run.approve(run.pending[0]);
  assert.deepEqual([done.supervision?.status, later.report()], ['verified', 'total 42']);
  await later.holdfast.close();
});

check('whoever waits for a supervised run waits for its repairs', async (t) => {
  const { world } = await advised(t);
  const run = await world.agent.run('Write the total.');
  const waited = run.wait();
  const { approvals, principal } = world.holdfast.runtime;
  for (let decided = 0; decided < 2; ) {
    const { items } = await approvals.pending(principal);
    for (const { requestId, digest } of items) {
      await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
      decided += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal((await waited).supervision?.status, 'verified');
  await world.holdfast.close();
});

/** Waits until the supervision of a run has come to this end. */
async function endsAs({ holdfast }: SupervisedWorld, runId: string, status: string): Promise<void> {
  const { runs, autonomy, principal } = holdfast.runtime;
  const { place } = await runs.get(principal, runId);
  for (let tries = 0; tries < 500; tries += 1) {
    if ((await autonomy.supervisionOf(principal, place))?.status === status) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the supervision did not come to be ${status}`);
}

check('a repair that is decided is carried on by whoever carries decided runs on, and its run with it', async (t) => {
  const { world, setting } = await advised(t);
  const first = await world.agent.run('Write the total.');
  const repairing = await first.approve(first.pending[0]);
  const [request] = repairing.pending;
  await world.holdfast.close();
  const later = await openSupervised(setting);
  const { runs, approvals, principal } = later.holdfast.runtime;
  await runs.carryOnDecided();
  const { requestId = '', digest = '' } = request ?? {};
  await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
  await endsAs(later, first.id, 'verified');
  assert.equal(later.report(), 'total 42');
  await later.holdfast.close();
});

check('a repair that is resumed by itself takes its run along', async (t) => {
  const { world } = await advised(t);
  const first = await world.agent.run('Write the total.');
  const repairing = await first.approve(first.pending[0]);
  const { runs, approvals, principal } = world.holdfast.runtime;
  const { requestId = '', digest = '' } = repairing.pending[0] ?? {};
  await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
  const repair = (await runs.tree(principal, first.id)).find(({ parent }) => parent !== null);
  await (await runs.resume(principal, repair?.runId ?? '')).ended;
  await endsAs(world, first.id, 'verified');
  assert.equal(world.report(), 'total 42');
  await world.holdfast.close();
});

check('a repair that is rejected ends without having done anything, and the run says so', async (t) => {
  const { world } = await advised(t);
  const first = await world.agent.run('Write the total.');
  const repairing = await first.approve(first.pending[0]);
  const rejected = await repairing.reject(repairing.pending[0], 'Not like this.');
  assert.equal(rejected.supervision?.status, 'repairing');
  const again = await rejected.reject(rejected.pending[0], 'Nor like this.');
  assert.deepEqual(
    [again.supervision?.status, again.supervision?.stopReason, world.report()],
    ['completed_with_issues', 'budget_exhausted: max_repair_rounds', 'total 41'],
  );
  await world.holdfast.close();
});

check('a run that is stopped has its supervision cancelled, wherever it stood', async (t) => {
  const { world } = await advised(t);
  const first = await world.agent.run('Write the total.');
  assert.deepEqual((await first.stop()).supervision?.status, 'cancelled');
  const second = await world.agent.run('Write the total.');
  const repairing = await second.approve(second.pending[0]);
  const stopped = await repairing.stop();
  assert.deepEqual([stopped.supervision?.status, stopped.pending.length], ['cancelled', 0]);
  const third = await world.agent.run('Write the total.', { rootFrameId: stopped.view.sessionId });
  assert.equal(third.status, 'waiting_confirmation');
  await world.holdfast.close();
});

check('one supervised run of a branch at a time, and a new one after a revert', async (t) => {
  const { world } = await advised(t);
  const { runtime } = world.holdfast;
  const first = await world.agent.run('Write the total.');
  const rootFrameId = first.view.sessionId;
  await assert.rejects(world.agent.run('Again.', { rootFrameId }), {
    code: 'AUTO_RUN_ACTIVE',
    resolve: `Carry its run on: holdfast runs resume ${first.id}; or stop it: holdfast runs stop ${first.id}`,
  });
  await first.stop();
  const second = await world.agent.run('Again.', { rootFrameId });
  assert.equal(second.status, 'waiting_confirmation');
  await runtime.runs.close();
  await world.holdfast.close();
});

check('a supervision that its failed run has left open is ended by whoever stops the run', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const down = {
    id: 'author',
    turn: () => {
      throw new Error('down');
    },
  };
  const setting = { dataDir, author: down, retries: { most: 0 } };
  const dying = await openSupervised(setting);
  const { store } = dying.holdfast.runtime;
  const write = store.write.bind(store);
  const lost: typeof store.write = async (name, body) => {
    if (name === 'autonomy.terminate') throw new Error('died at its end');
    return write(name, body);
  };
  Object.assign(store, { write: lost });
  await assert.rejects(dying.agent.run('Write the total.'), /died at its end/);
  await dying.holdfast.close();
  const world = await openSupervised(setting);
  const { runs, autonomy, principal } = world.holdfast.runtime;
  const runId = await onlyRun(world);
  const { state, place } = await runs.stop(principal, runId);
  assert.deepEqual([state.status, (await autonomy.supervisionOf(principal, place))?.status], ['failed', 'cancelled']);
  await world.holdfast.close();
});

check('a failed run that is resumed is supervised anew', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  let broken = true;
  const right = authorOf('total 42');
  const author = {
    id: 'author',
    turn: (request: Parameters<typeof right.turn>[0]) => {
      if (broken) throw new Error('down');
      return right.turn(request);
    },
  };
  const world = await openSupervised({ dataDir, author, retries: { most: 0 } });
  const failed = await world.agent.run('Write the total.');
  assert.deepEqual([failed.status, failed.supervision?.status], ['failed', 'failed']);
  broken = false;
  const resumed = await world.agent.resume(failed.id);
  assert.deepEqual([resumed.status, resumed.supervision?.status], ['completed', 'verified']);
  await world.holdfast.close();
});

check('a supervision that died can be stopped where its agent is not defined, as the command stops it', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const dying = await openSupervised({ dataDir, options: { faults: dyingAt('auto-candidate-recorded', 1) } });
  await assert.rejects(dying.agent.run('Write the total.'), /died at/);
  await dying.holdfast.close();
  const bare = await Holdfast.open({ dataDir });
  const { autonomy, principal, runs } = bare.runtime;
  const [run] = (await runs.list(principal, { limit: 10 })).items;
  assert.ok(run);
  await runs.stop(principal, run.runId);
  const supervision = await autonomy.supervisionOf(principal, run.place);
  assert.equal(supervision?.status, 'cancelled');
  await bare.close();
});

check(
  'a supervised run whose process closes while its author answers goes on later, under its supervision',
  async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const right = authorOf('total 42');
    const asked = Promise.withResolvers<void>();
    const silent = functionModel(() => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    }, right.id);
    const world = await openSupervised({ dataDir, author: silent });
    const begun = world.agent.run('Write the total.');
    await asked.promise;
    await Promise.allSettled([world.holdfast.close(), begun]);
    const again = await openSupervised({ dataDir, author: right });
    const runId = await onlyRun(again);
    const { runtime } = again.holdfast;
    const before = await viewOfRun(runtime, runtime.principal, runId);
    assert.equal(before.outcome, 'interrupted');
    assert.equal(before.supervision?.status, 'running');
    const resumed = await again.agent.resume(runId);
    assert.deepEqual([resumed.status, resumed.supervision?.status], ['completed', 'verified']);
    await again.holdfast.close();
  },
);
