import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { FaultPoints } from '../../src/core/index.ts';
import { auditEverything, makeReport, removeSession, viewOfRun } from '../../src/app/index.ts';
import { ledgerCalls, settleByPerson } from '../../src/calls/index.ts';
import { functionModel, type Model } from '../../src/index.ts';
import { movedClock } from '../support/clock.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import {
  authorOf,
  openSupervised,
  type SupervisedSetting,
  type SupervisedWorld,
  writes as writing,
} from '../support/supervised-world.ts';

const LEASE_MS = 40_000;
/** No process is taken for dead while a test moves its clock. */
const LONG_MS = 600_000;

interface Broken extends SupervisedWorld {
  readonly clock: ReturnType<typeof movedClock>;
  readonly runId: string;
  readonly sessionId: string;
  readonly statusRef: string;
}

/** The second write of a world is one of which nobody knows what became of it. */
function breaksAtSecond(): () => Promise<void> {
  let writes = 0;
  return async () => {
    writes += 1;
    if (writes === 2) throw new Error('the line broke');
  };
}

/** A supervised run whose repair ended on a write of which nobody knows what became of it. */
async function broken(t: TestContext, toolIs: SupervisedSetting['toolIs'], author?: Model): Promise<Broken> {
  const dataDir = join(await temporaryFolder(t), 'data');
  const clock = movedClock();
  const beforeWrite = breaksAtSecond();
  const world = await openSupervised({
    dataDir,
    ...(author ? { author } : {}),
    beforeWrite,
    options: { clock, instanceLeaseMs: LONG_MS },
    ...(toolIs ? { toolIs } : {}),
  });
  const run = await world.agent.run('Write the total.');
  assert.deepEqual([run.supervision?.status, run.supervision?.reason], ['paused', 'outcome_unknown']);
  const { autonomy, store, principal } = world.holdfast.runtime;
  const sessionId = run.view.sessionId;
  const { repair_runs } = await autonomy.exportProjection(principal, sessionId);
  const [{ execution_group_ids: groups } = { execution_group_ids: [] }] = repair_runs as {
    execution_group_ids: string[];
  }[];
  const [call] = await store.read('test.calls', (tx) => ledgerCalls(tx, principal, groups[0] ?? ''));
  return { ...world, clock, runId: run.id, sessionId, statusRef: call?.statusRef ?? '' };
}

check('an unknown call of a repair that is over is settled by whoever knows, and shown so everywhere', async (t) => {
  const world = await broken(t, { effect: 'once' });
  const { clock, runId, sessionId, statusRef } = world;
  const { runtime } = world.holdfast;
  const { calls, operations, autonomy, principal } = runtime;
  clock.advance(LEASE_MS);
  const outcome = await settleByPerson(calls, principal, statusRef, { verdict: 'done', reason: 'It is on the disk.' });
  assert.deepEqual([outcome.state, (await operations.show(principal, statusRef, 0)).known], ['done', 'done']);
  for (const page of [undefined, { limit: 1 }]) {
    const view = await viewOfRun(runtime, principal, runId, page);
    assert.deepEqual([view.outcome, view.summary.unknown, view.summary.reportedDone], [null, 0, 2]);
    assert.equal(view.calls.find((one) => one.statusRef === statusRef)?.outcome?.state, 'done');
  }
  const report = await makeReport(runtime, principal, { since: 0, now: clock.nowMs() });
  assert.deepEqual([report.counts.unknown, report.runs.map(({ resolve }) => resolve)], [0, [null, null]]);
  assert.deepEqual((await autonomy.auditRuns(principal, sessionId)).problems, []);
  assert.equal((await operations.audit()).passed, true);
  assert.equal((await auditEverything(runtime, principal, null)).passed, true);
  const tree = await runtime.runs.tree(principal, runId);
  const repair = tree.find(({ parent }) => parent !== null);
  await assert.rejects(runtime.runs.resume(principal, repair?.runId ?? ''), { code: 'RUN_ENDED' });
  assert.match((repair && (await runtime.supervisor.boundsOf(repair)).refusal) ?? '', /has ended/);
  assert.deepEqual(await runtime.runs.tree(principal, runId), tree);
  await removeSession(runtime, principal, sessionId);
  await assert.rejects(runtime.runs.get(principal, runId), { code: 'RUN_NOT_FOUND' });
  await world.holdfast.close();
});

check('a later turn of the session is told what became of an unknown call of a repair since', async (t) => {
  const right = authorOf('total 41', 'total 42');
  const told: string[] = [];
  const author: Model = {
    id: 'author',
    turn: (request) => {
      told.splice(0, told.length, ...request.messages.map(({ text }) => text));
      return right.turn(request);
    },
  };
  const world = await broken(t, { effect: 'once' }, author);
  const { calls, principal } = world.holdfast.runtime;
  world.clock.advance(LEASE_MS);
  await settleByPerson(calls, principal, world.statusRef, { verdict: 'not_done', reason: 'The file is as it was.' });
  await world.agent.run('Write the total once more.', { rootFrameId: world.sessionId });
  assert.deepEqual(
    told.filter((text) => text.includes('UNKNOWN')),
    [],
  );
  assert.equal(
    told.some((text) => text.includes('The file is as it was.')),
    true,
  );
  await world.holdfast.close();
});

/** Dies just after the second write was made: the first is the author's, the second one of its repair. */
function dyingInRepair(): FaultPoints {
  let sent = 0;
  return {
    reach: (point) => {
      if (point === 'effect-sent' && (sent += 1) === 2) throw new Error('died in the repair');
    },
  };
}

/** A process that died in the repair of its supervised run; its run. */
async function diedInRepair(t: TestContext, toolIs: SupervisedSetting['toolIs'] = {}) {
  const dataDir = join(await temporaryFolder(t), 'data');
  const clock = movedClock();
  const dying = await openSupervised({
    dataDir,
    toolIs,
    options: { clock, instanceLeaseMs: LONG_MS, faults: dyingInRepair() },
  });
  await assert.rejects(dying.agent.run('Write the total.'), /died in the repair/);
  const { runs, principal } = dying.holdfast.runtime;
  const { items } = await runs.list(principal, { limit: 10 });
  await dying.holdfast.close();
  const runId = items.find(({ parent }) => parent === null)?.runId ?? '';
  let writes = 0;
  const beforeWrite = async (): Promise<void> => void (writes += 1);
  const world = await openSupervised({ dataDir, beforeWrite, toolIs, options: { clock, instanceLeaseMs: LONG_MS } });
  return { world, clock, runId, writes: () => writes };
}

check(
  'a repair whose call may still be delivered again waits for the end of its lease, and is carried on then',
  async (t) => {
    const { world, clock, runId, writes } = await diedInRepair(t);
    const early = await world.agent.resume(runId);
    assert.deepEqual(
      [early.status, early.supervision?.status, early.supervision?.reason],
      ['completed', 'repairing', null],
    );
    assert.equal(early.view.outcome, 'unknown');
    clock.advance(LEASE_MS);
    const { supervision } = await world.agent.resume(runId);
    assert.deepEqual([supervision?.status, supervision?.repairs, writes()], ['verified', 1, 1]);
    await world.holdfast.close();
  },
);

check('a repair whose call can be asked about waits until the answer is final', async (t) => {
  let asked = 0;
  const status = async () => ((asked += 1), { state: 'not_happened' as const });
  const { world, clock, runId, writes } = await diedInRepair(t, {
    effect: 'reconcilable',
    settlesWithinMs: 20_000,
    status,
  });
  for (const ms of [0, LEASE_MS]) {
    clock.advance(ms);
    assert.equal((await world.agent.resume(runId)).supervision?.status, 'repairing');
  }
  clock.advance(20_000);
  const { supervision } = await world.agent.resume(runId);
  assert.deepEqual([supervision?.status, asked, writes()], ['verified', 3, 1]);
  await world.holdfast.close();
});

check('a repair that waits for the end of a lease is ended by whoever stops it', async (t) => {
  const { world, runId } = await diedInRepair(t);
  const run = await world.agent.resume(runId);
  const { supervision } = await run.stop();
  assert.deepEqual([supervision?.status, supervision?.reason], ['paused', 'outcome_unknown']);
  await world.holdfast.close();
});

check('whoever waits for a supervised run has its repair carried on once the lease is over', async (t) => {
  const { world, clock, runId } = await diedInRepair(t);
  const run = await world.agent.resume(runId);
  const { runs, store, principal } = world.holdfast.runtime;
  const waited = run.wait();
  await new Promise((settle) => setTimeout(settle, 1500));
  const resumed = await store.read('test.feed', (tx) =>
    tx.all("SELECT 1 FROM feed WHERE kind = 'run.resumed' AND tenant_id = ?", [principal.tenant]),
  );
  assert.equal(resumed.length < 8, true, `it was taken up ${resumed.length} times`);
  clock.advance(LEASE_MS);
  assert.equal((await waited).supervision?.status, 'verified');
  assert.equal((await runs.tree(principal, runId)).length, 2);
  await world.holdfast.close();
});

check(
  'what was allowed in a repair and not used ends with it, and keeps no other request from timing out',
  async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const clock = movedClock();
    const beforeWrite = breaksAtSecond();
    const author = functionModel(({ messages }) => {
      const asked = messages.filter(({ role }) => role === 'user').length;
      if (messages.at(-1)?.role !== 'user') return 'Done.';
      return { calls: [...writing('total 41').calls, ...(asked > 1 ? writing('total 42').calls : [])] };
    }, 'author');
    const options = { clock, instanceLeaseMs: LONG_MS, approvalExpiresMs: 60_000 };
    const world = await openSupervised({
      dataDir,
      author,
      beforeWrite,
      options,
      needsApproval: true,
      toolIs: { effect: 'once' },
    });
    const first = await world.agent.run('Write the total.');
    const repairing = await first.approve(first.pending[0]);
    const { approvals, principal, runs } = world.holdfast.runtime;
    for (const { requestId, digest } of repairing.pending)
      await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
    const ended = await world.agent.resume(first.id);
    assert.deepEqual([ended.supervision?.status, ended.supervision?.reason], ['paused', 'outcome_unknown']);
    const { items } = await approvals.list(principal);
    assert.deepEqual(items.map(({ status }) => status).toSorted(), ['revoked', 'used', 'used']);
    const other = await world.agent.run('Write another total.');
    clock.advance(60_000);
    await approvals.sweep();
    assert.deepEqual((await approvals.pending(principal)).items, []);
    for (const { runId } of await runs.tree(principal, first.id)) await runs.stop(principal, runId);
    await other.stop();
    await world.holdfast.close();
  },
);
