import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check, movedClock } from '../support/index.ts';
import { inDatabase, rowsOf } from './damage-world.ts';

/** Longer than the lease of a process. */
const SLEPT_MS = 60_000;
const hasEnded = { code: 'INSTANCE_ENDED' };
const traces = (dataDir: string) =>
  inDatabase(dataDir, (db) => db.prepare('SELECT count(*) AS n FROM traces').get()?.['n']);

check('a process that slept longer than its lease begins no run and takes none: another carries it on', async (t) => {
  const clock = movedClock();
  const { holdfast, dataDir } = await openDesk(t, { clock });
  let ran = 0;
  const asking = () => ({
    model: callsThenDone([{}]),
    tools: [noteTool({ needsApproval: true, execute: () => ({ ran: (ran += 1) }) })],
  });
  const agent = holdfast.agent({ ...asking(), name: 'clerk' });
  const run = await agent.run('go');
  const [request] = run.pending;
  assert.ok(request);
  const { approvals, principal } = holdfast.runtime;
  const { requestId, digest } = request;
  await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
  clock.advance(SLEPT_MS);
  const [rows, count] = [rowsOf(dataDir, run.id), traces(dataDir)];
  await assert.rejects(agent.run('go'), hasEnded);
  await assert.rejects(agent.resume(run.id), hasEnded);
  const told = Promise.withResolvers<unknown>();
  await holdfast.carryOnDecided({ onError: (_runId, error) => told.resolve(error) });
  assert.equal(((await told.promise) as { code?: string }).code, hasEnded.code);
  assert.deepEqual([rowsOf(dataDir, run.id), traces(dataDir)], [rows, count], 'nothing was written');
  const other = await Holdfast.open({ dataDir, clock });
  t.after(() => other.close());
  assert.equal((await other.agent({ ...asking(), name: 'clerk' }).resume(run.id)).status, 'completed');
  assert.equal(ran, 1);
});

check('a process is told that it was taken for dead', async (t) => {
  const clock = movedClock();
  const { holdfast } = await openDesk(t, { clock, instanceLeaseMs: 3_000 });
  clock.advance(SLEPT_MS);
  let told = false;
  void holdfast.runtime.lost.then(() => (told = true));
  for (let i = 0; i < 400 && !told; i += 1) await sleep(25);
  assert.ok(told);
  await assert.rejects(holdfast.agent({ model: () => 'done' }).run('go'), hasEnded);
});
