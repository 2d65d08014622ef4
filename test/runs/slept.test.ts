import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, type HoldfastOptions } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check, movedClock } from '../support/index.ts';
import { inDatabase, rowsOf } from './damage-world.ts';

/** Longer than the lease of a process. */
const SLEPT_MS = 60_000;
const hasEnded = { code: 'INSTANCE_ENDED' };
const traces = (dataDir: string) =>
  inDatabase(dataDir, (db) => db.prepare('SELECT count(*) AS n FROM traces').get()?.['n']);
/** A run that waited for a decision, and was decided; and an agent that carries it on, whoever defines it. */
async function decided(t: Parameters<typeof openDesk>[0], options: HoldfastOptions) {
  const { holdfast, dataDir } = await openDesk(t, options);
  const ran = { times: 0 };
  const asking = () => ({
    name: 'clerk',
    model: callsThenDone([{}]),
    tools: [noteTool({ needsApproval: true, execute: () => ({ ran: (ran.times += 1) }) })],
  });
  const agent = holdfast.agent(asking());
  const run = await agent.run('go');
  const [request] = run.pending;
  assert.ok(request);
  const { approvals, principal } = holdfast.runtime;
  const { requestId, digest } = request;
  await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
  return { holdfast, dataDir, agent, run, asking, ran };
}

/** Another process that opens the folder, which lets go of what dead ones had. */
async function other(t: Parameters<typeof openDesk>[0], dataDir: string, clock: HoldfastOptions['clock']) {
  const holdfast = await Holdfast.open({ dataDir, ...(clock ? { clock } : {}) });
  t.after(() => holdfast.close());
  return holdfast;
}

check('a process that slept longer than its lease begins runs and takes them under a new id', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir, agent, run, ran } = await decided(t, { clock });
  const before = holdfast.runtime.calls.workerId;
  clock.advance(SLEPT_MS);
  const [resumed, ...begun] = await Promise.all([run.resume(), agent.run('go'), agent.run('go')]);
  assert.deepEqual([resumed.status, ran.times], ['completed', 1]);
  for (const { status } of begun) assert.equal(status, 'waiting_confirmation');
  const after = holdfast.runtime.calls.workerId;
  assert.notEqual(after, before);
  const rows = inDatabase(dataDir, (db) =>
    db.prepare('SELECT instance_id AS id, ended_at_ms AS ended FROM instances').all(),
  );
  assert.deepEqual(
    rows.map(({ id, ended }) => [id, ended !== null]),
    [
      [before, true],
      [after, false],
    ],
    'they came back as one',
  );
});

check('what a process begins after it slept is left to it by all others, and it may sleep again', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const answer = Promise.withResolvers<string>();
  const agent = holdfast.agent({ model: () => answer.promise });
  clock.advance(SLEPT_MS);
  const begun = agent.run('go');
  while (Number(traces(dataDir)) === 0) await sleep(5);
  const { runtime } = await other(t, dataDir, clock);
  assert.deepEqual(runtime.reconciled, []);
  assert.deepEqual((await runtime.runs.recover()).released, []);
  answer.resolve('done');
  assert.equal((await begun).status, 'completed');
  clock.advance(SLEPT_MS);
  assert.equal((await agent.run('again')).status, 'completed');
});

check('decided runs are carried on by a process that slept', async (t) => {
  const clock = movedClock();
  const { holdfast, run, ran } = await decided(t, { clock });
  clock.advance(SLEPT_MS);
  await holdfast.carryOnDecided({ onError: (_runId, error) => assert.fail(String(error)) });
  for (let i = 0; i < 400 && (await run.refresh()).status !== 'completed'; i += 1) await sleep(10);
  assert.deepEqual([run.status, ran.times], ['completed', 1]);
});

check('what was under way in a process that slept goes on where nobody has let go of it', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const answer = Promise.withResolvers<string>();
  const clerk = holdfast.agent({ name: 'clerk', model: () => answer.promise });
  const quick = holdfast.agent({ name: 'quick', model: () => 'done' });
  const underWay = clerk.run('go');
  while (Number(traces(dataDir)) === 0) await sleep(5);
  clock.advance(SLEPT_MS);
  assert.equal((await quick.run('go')).status, 'completed');
  assert.deepEqual(await holdfast.runtime.runs.recoverOthers(), { released: [], damaged: [] });
  answer.resolve('late');
  assert.deepEqual([(await underWay).status, (await underWay).text], ['completed', 'late']);
});

check('a run that was under way when its process fell asleep begins its next child run under the new id', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const answer = Promise.withResolvers<void>();
  const child = holdfast.agent({ name: 'child', model: () => 'done' });
  const ask = { callId: 'c', toolName: 'ask_child', arguments: { task: 'look' } };
  const parent = holdfast.agent({
    name: 'parent',
    children: [child],
    model: async ({ messages }) => {
      if (messages.some(({ role }) => role === 'tool')) return 'done';
      await answer.promise;
      return { calls: [ask] };
    },
  });
  const underWay = parent.run('go');
  while (Number(traces(dataDir)) === 0) await sleep(5);
  clock.advance(SLEPT_MS);
  answer.resolve();
  const { status, view } = await underWay;
  assert.deepEqual([status, view.calls.map(({ outcome }) => outcome?.state)], ['completed', ['done']]);
});

check('a run that another process took while its own slept is never carried on by it, which is told so', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const answer = Promise.withResolvers<void>();
  let ran = 0;
  const definition = (hold: Promise<void> | null) => ({
    name: 'clerk',
    model: async (request: Parameters<ReturnType<typeof callsThenDone>>[0]) => {
      await hold;
      return callsThenDone([{}])(request);
    },
    tools: [noteTool({ execute: () => ({ ran: (ran += 1) }) })],
  });
  const agent = holdfast.agent(definition(answer.promise));
  const underWay = agent.run('go');
  while (Number(traces(dataDir)) === 0) await sleep(5);
  const runId = String(inDatabase(dataDir, (db) => db.prepare('SELECT trace_id AS id FROM traces').get()?.['id']));
  clock.advance(SLEPT_MS);
  const taker = await other(t, dataDir, clock);
  assert.deepEqual(taker.runtime.reconciled, [runId]);
  assert.equal((await taker.agent(definition(null)).resume(runId)).status, 'completed');
  const rows = rowsOf(dataDir, runId);
  // It comes back for something else, and is answered only then.
  await holdfast.agent({ name: 'other', model: () => 'done' }).run('go');
  const told = assert.rejects(underWay, { code: 'RUN_NOT_OWNED', resolve: new RegExp(`holdfast runs show ${runId}`) });
  answer.resolve();
  await told;
  assert.deepEqual([ran, rowsOf(dataDir, runId)], [1, rows], 'nothing of it was carried out or written here');
  await assert.rejects(agent.resume(runId), { code: 'RUN_ENDED' });
});

check('a process that is not to come back begins no run and takes none: another carries it on', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir, agent, run, asking, ran } = await decided(t, { clock, comesBack: false });
  clock.advance(SLEPT_MS);
  const [rows, count] = [rowsOf(dataDir, run.id), traces(dataDir)];
  await assert.rejects(agent.run('go'), hasEnded);
  await assert.rejects(agent.resume(run.id), hasEnded);
  const told = Promise.withResolvers<unknown>();
  await holdfast.carryOnDecided({ onError: (_runId, error) => told.resolve(error) });
  assert.equal(((await told.promise) as { code?: string }).code, hasEnded.code);
  assert.deepEqual([rowsOf(dataDir, run.id), traces(dataDir)], [rows, count], 'nothing was written');
  const taker = await other(t, dataDir, clock);
  assert.equal((await taker.agent(asking()).resume(run.id)).status, 'completed');
  assert.equal(ran.times, 1);
});

for (const comesBack of [true, false])
  check(
    `a process is told that it was taken for dead${comesBack ? '' : ', where it is not to come back too'}`,
    async (t) => {
      const clock = movedClock();
      const { holdfast } = await openDesk(t, { clock, instanceLeaseMs: 3_000, comesBack });
      clock.advance(SLEPT_MS);
      let told = false;
      void holdfast.runtime.lost.then(() => (told = true));
      for (let i = 0; i < 400 && !told; i += 1) await sleep(25);
      assert.ok(told);
      const run = holdfast.agent({ model: () => 'done' }).run('go');
      if (comesBack) assert.equal((await run).status, 'completed');
      else await assert.rejects(run, hasEnded);
    },
  );

check('whoever awaits a run that another process took while this one slept is told how it ended there', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const definition = (hold: Promise<void> | null) => ({
    name: 'clerk',
    model: async (request: Parameters<ReturnType<typeof callsThenDone>>[0]) => {
      if (hold && request.messages.at(-1)?.role === 'tool') {
        asked.resolve();
        await hold;
      }
      return callsThenDone([{}])(request);
    },
    tools: [noteTool({ needsApproval: true })],
  });
  const run = await holdfast.agent(definition(answer.promise)).run('go');
  const waited = run.wait();
  const { approvals, principal } = holdfast.runtime;
  const decisions = run.pending.map(({ requestId, digest }) => ({ requestId, digest, decision: 'approve' as const }));
  await approvals.decide(principal, decisions);
  await asked.promise;
  clock.advance(SLEPT_MS);
  const taker = await other(t, dataDir, clock);
  assert.equal((await taker.agent(definition(null)).resume(run.id)).status, 'completed');
  answer.resolve();
  assert.equal((await waited).status, 'completed');
});

check('whoever awaits a run that another process let go of while this one slept carries it on', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let turns = 0;
  const agent = holdfast.agent({
    model: async (request) => {
      turns += 1;
      if (turns === 2) {
        asked.resolve();
        await answer.promise;
      }
      return callsThenDone([{}])(request);
    },
    tools: [noteTool({ needsApproval: true })],
  });
  const run = await agent.run('go');
  const waited = run.wait();
  const { approvals, principal } = holdfast.runtime;
  const decisions = run.pending.map(({ requestId, digest }) => ({ requestId, digest, decision: 'approve' as const }));
  await approvals.decide(principal, decisions);
  await asked.promise;
  clock.advance(SLEPT_MS);
  assert.deepEqual((await other(t, dataDir, clock)).runtime.reconciled, [run.id]);
  answer.resolve();
  assert.equal((await waited).status, 'completed');
  assert.equal(turns, 3, 'what was answered too late was asked again');
});

check('a run that was under way when its process fell asleep can be stopped there', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const agent = holdfast.agent({ model: ({ signal }) => sleep(600_000, 'late', { signal }) });
  const underWay = agent.run('go');
  while (Number(traces(dataDir)) === 0) await sleep(5);
  const runId = String(inDatabase(dataDir, (db) => db.prepare('SELECT trace_id AS id FROM traces').get()?.['id']));
  clock.advance(SLEPT_MS);
  const { runs, principal } = holdfast.runtime;
  const told = assert.rejects(underWay, { code: 'RUN_NOT_OWNED' });
  assert.equal((await runs.stop(principal, runId)).state.status, 'stopped');
  await told;
});

check('a process that is closed does not come back', async (t) => {
  const clock = movedClock();
  const { holdfast } = await openDesk(t, { clock });
  const { comeBack, calls } = holdfast.runtime;
  await holdfast.close();
  await assert.rejects(comeBack(calls.workerId), hasEnded);
});
