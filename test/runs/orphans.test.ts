import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { viewOfRun } from '../../src/app/index.ts';
import { settleByPerson } from '../../src/calls/index.ts';
import { openModellessRun } from '../../src/runs/index.ts';
import { LIST_ORPHANS } from '../../src/runs/run-queries.ts';
import { armFaults, assert, check, manualClock } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

check('what dead processes left is found by the index of unfinished runs, whatever else is stored', async (t) => {
  const { dataDir } = await openDesk(t);
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'), { readOnly: true });
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${LIST_ORPHANS}`).all(0, 1);
  db.close();
  const steps = plan.map((row) => String(row['detail']));
  assert.ok(steps.some((step) => step.startsWith('SEARCH traces USING INDEX traces_unfinished')));
  assert.ok(!steps.some((step) => step.startsWith('SCAN')));
});

/** Makes all these runs look as if a process had died in them. */
function orphan(dataDir: string, runIds: readonly string[]): void {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  const left = db.prepare(`UPDATE traces SET status = 'running', owner_instance_id = 'a dead one', finished_at = NULL
    WHERE trace_id = ?`);
  for (const runId of runIds) left.run(runId);
  db.close();
}

check('reconciling reads no row of a finished run, and the runs of a page share commits', async (t) => {
  const { holdfast, counts, dataDir } = await openDesk(t);
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
  const other = holdfast.agent({ name: 'other', model: () => 'done' });
  for (let i = 0; i < 5; i += 1) assert.equal((await other.run('go')).status, 'completed');
  const runs = await Promise.all(Array.from({ length: 40 }, () => agent.run('go')));
  orphan(
    dataDir,
    runs.map(({ id }) => id),
  );
  counts.reset();
  assert.equal((await holdfast.runtime.runs.reconcile()).length, 40);
  assert.ok(counts.count('committed') <= 8, `${counts.count('committed')} commits for 40 runs`);
  assert.deepEqual(counts.statementsOf('runs.orphans'), [LIST_ORPHANS]);
  const texts = new Set(counts.events.flatMap((event) => (event.kind === 'statement' ? [event.text] : [])));
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'), { readOnly: true });
  for (const text of texts) {
    const unbound = text
      .split('?')
      .slice(1)
      .map(() => null);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...unbound);
    for (const { detail } of plan) assert.doesNotMatch(String(detail), /SCAN (traces|action_groups|action_events)/);
  }
  db.close();
  for (const run of runs) assert.equal((await run.refresh()).status, 'waiting_confirmation');
});

check('a call that somebody settles while its dead run is let go of is never written as unknown', async (t) => {
  const clock = manualClock(Date.now());
  const faults = armFaults({ point: 'effect-sent', act: new Error('the process ends here') });
  const { holdfast, dataDir } = await openDesk(t, { clock, faults, instanceLeaseMs: 600_000 });
  const { calls, operations, principal, runs } = holdfast.runtime;
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool()] });
  await assert.rejects(agent.run('go'));
  const [run] = (await runs.list(principal, { limit: 1 })).items;
  assert.ok(run);
  orphan(dataDir, [run.runId]);
  clock.advance(120_000);
  // Whoever lets go of the run has read the operation, and a living process settles it before that is written.
  const stored = operations.stored.bind(operations);
  operations.stored = async (asker, statusRef) => {
    operations.stored = stored;
    const read = await stored(asker, statusRef);
    await settleByPerson(calls, principal, statusRef, { verdict: 'done', reason: 'seen' });
    return read;
  };
  assert.deepEqual(await runs.reconcile(), [run.runId]);
  const view = await viewOfRun(holdfast.runtime, principal, run.runId, { limit: 1 });
  assert.deepEqual([view.status, view.calls[0]?.outcome?.state], ['running', 'done']);
});

check('a process that stays never lets go of what it has itself, though its own lease has passed', async (t) => {
  const clock = manualClock(Date.now());
  const { holdfast } = await openDesk(t, { clock, instanceLeaseMs: 600_000 });
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const during = async () => {
    begun.resolve();
    await goOn.promise;
    return { ok: true };
  };
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ execute: during })] });
  const going = agent.run('go');
  await begun.promise;
  clock.advance(601_000);
  assert.deepEqual(await holdfast.runtime.runs.recoverOthers(), { released: [], damaged: [] });
  goOn.resolve();
  assert.equal((await going).status, 'completed');
});

check('a process that stays lets go of no run that its guard has, though its own lease has passed', async (t) => {
  const clock = manualClock(Date.now());
  const { holdfast, dataDir } = await openDesk(t, { clock });
  const { calls, principal, projectId, runs } = holdfast.runtime;
  const run = { name: 'guard:files', projectId, ownerInstanceId: calls.workerId, context: {} };
  const { runId } = await openModellessRun(calls, principal, run);
  clock.advance(601_000);
  assert.deepEqual(await runs.recoverOthers(), { released: [], damaged: [] });
  const { holdfast: other } = await openDesk(t, { dataDir, clock });
  assert.deepEqual(other.runtime.reconciled, [runId]);
});

check('a run that somebody asked to stop, and whose process died before it did, is stopped', async (t) => {
  const here = await openDesk(t);
  const there = await openDesk(t, { dataDir: here.dataDir });
  const { runs, principal } = there.holdfast.runtime;
  const look = noteTool({
    name: 'look',
    effect: 'read',
    execute: async (_input, call) => {
      await runs.stop(principal, call.runId ?? '');
      return { ok: true };
    },
  });
  const agent = here.holdfast.agent({ model: callsThenDone([{ name: 'look' }]), tools: [look] });
  const run = await agent.run('go');
  orphan(here.dataDir, [run.id]);
  assert.deepEqual(await runs.reconcile(), [run.id]);
  await run.refresh();
  assert.deepEqual([run.status, run.view.outcome], ['stopped', null]);
  await assert.rejects(run.resume(), { code: 'RUN_ENDED' });
});
