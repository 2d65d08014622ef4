import { removeSession, viewOfRun } from '../../src/app/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { inDatabase } from './damage-world.ts';

check('runs that were written as each above the other are still shown, and hang nobody', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const child = holdfast.agent({ name: 'child', model: () => 'done' });
  const parent = holdfast.agent({
    name: 'parent',
    children: [child],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'done'
        : { calls: [{ callId: 'c', toolName: 'ask_child', arguments: { task: 'look' } }] },
  });
  const { id } = await parent.run('go');
  const { runs, principal } = holdfast.runtime;
  const below = (await runs.tree(principal, id)).find(({ runId }) => runId !== id);
  assert.ok(below);
  inDatabase(dataDir, (db) =>
    db.prepare(`UPDATE traces SET parent_trace_id = ?, parent_call = 'a/b' WHERE trace_id = ?`).run(below.runId, id),
  );
  assert.equal((await runs.tree(principal, id)).length, 2);
  assert.equal((await viewOfRun(holdfast.runtime, principal, id)).status, 'completed');
});

check('a run that was written as the one above itself is not carried on, and hangs nobody', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const agent = { model: callsThenDone([{}], [{}]), tools: [noteTool({ needsApproval: true })] };
  const run = await holdfast.agent({ ...agent, budgets: { maxTokens: 1_000 } }).run('go');
  inDatabase(dataDir, (db) =>
    db.prepare(`UPDATE traces SET parent_trace_id = trace_id, parent_call = 'a/b' WHERE trace_id = ?`).run(run.id),
  );
  await assert.rejects(run.approve(run.pending[0]), { code: 'RUN_RECORD_BROKEN' });
  await run.refresh();
  assert.equal(run.status, 'running');
});

check('no child run is begun beyond the runs that are read and stopped together', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const child = holdfast.agent({ name: 'child', model: () => 'done' });
  const ask = (callId: string) => ({ callId, toolName: 'ask_child', arguments: { task: 'look' } });
  const parent = holdfast.agent({
    name: 'parent',
    children: [child],
    model: ({ messages }) => {
      const asked = messages.filter(({ role }) => role === 'assistant').length;
      if (asked === 1) crowd(dataDir);
      return asked > 2 ? 'done' : { calls: [ask(`c-${asked}`)] };
    },
  });
  const { id, status, view } = await parent.run('go');
  assert.deepEqual(
    [status, ...view.calls.map(({ outcome }) => outcome?.state)],
    ['completed', 'done', 'done', 'not_started'],
  );
  const last = view.calls.at(-1)?.outcome;
  assert.deepEqual(last?.state === 'not_started' && [last.code, last.reason.includes('runTree')], [
    'LIMIT_REACHED',
    true,
  ]);
  const { runs, principal } = holdfast.runtime;
  assert.equal((await runs.tree(principal, id)).length, LIMITS.runTree);
});

/** A run that waits, since the run of its child does. */
async function waitingChild(t: Parameters<typeof openDesk>[0]) {
  const { holdfast, dataDir } = await openDesk(t);
  const ran = { times: 0 };
  const tools = [noteTool({ needsApproval: true, execute: () => ({ ran: (ran.times += 1) }) })];
  const child = holdfast.agent({ name: 'child', model: callsThenDone([{}]), tools });
  const ask = { callId: 'c', toolName: 'ask_child', arguments: { task: 'look' } };
  const parent = holdfast.agent({ name: 'parent', children: [child], model: () => ({ calls: [ask] }) });
  const run = await parent.run('go');
  const [, below] = await holdfast.runtime.runs.tree(holdfast.runtime.principal, run.id);
  assert.ok(below);
  return { holdfast, dataDir, run, below, ran };
}

check('with the session of a run go what waits in the runs below it, and none of them is left to go on', async (t) => {
  const { holdfast, run, below, ran } = await waitingChild(t);
  const { approvals, principal, runs } = holdfast.runtime;
  await removeSession(holdfast.runtime, principal, run.view.sessionId);
  assert.equal((await runs.get(principal, below.runId)).state.status, 'stopped');
  assert.deepEqual((await approvals.pending(principal)).items, []);
  const decisions = run.pending.map(({ requestId, digest }) => ({ requestId, digest, decision: 'approve' as const }));
  await assert.rejects(approvals.decide(principal, decisions));
  await assert.rejects(runs.resume(principal, below.runId), { code: 'RUN_ENDED' });
  assert.equal(ran.times, 0);
});

check('a session stays while a living process carries out a run below one of its own', async (t) => {
  const { holdfast, dataDir, run, below } = await waitingChild(t);
  const { principal, calls } = holdfast.runtime;
  inDatabase(dataDir, (db) =>
    db
      .prepare(`UPDATE traces SET status = 'running', owner_instance_id = ? WHERE trace_id = ?`)
      .run(calls.workerId, below.runId),
  );
  await assert.rejects(removeSession(holdfast.runtime, principal, run.view.sessionId), {
    code: 'RUN_BUSY',
    details: { run_id: below.runId },
  });
  await run.refresh();
  assert.equal(run.status, 'waiting_confirmation');
});

check('a run whose run above was removed says so, and goes on no more', async (t) => {
  const { holdfast, dataDir, run, below } = await waitingChild(t);
  const { runs, principal } = holdfast.runtime;
  inDatabase(dataDir, (db) => db.prepare('DELETE FROM traces WHERE trace_id = ?').run(run.id));
  await assert.rejects(runs.resume(principal, below.runId), { code: 'RUN_ENDED', message: /above/ });
  assert.equal((await runs.get(principal, below.runId)).state.status, 'waiting_confirmation');
  assert.equal((await runs.stop(principal, below.runId)).state.status, 'stopped');
});

/** So many more runs below the only one that has a child as leave room for one. */
function crowd(dataDir: string): void {
  inDatabase(dataDir, (db) => {
    const row = db.prepare('SELECT * FROM traces WHERE parent_trace_id IS NOT NULL').get() ?? {};
    const names = Object.keys(row);
    const add = db.prepare(`INSERT INTO traces (${names.join()}) VALUES (${names.map(() => '?').join()})`);
    db.exec('BEGIN');
    for (let i = 0; i < LIMITS.runTree - 3; i += 1) {
      const other = { ...row, trace_id: `0${i}-${String(row['trace_id'])}`, parent_call: `crowd/${i}` };
      add.run(...(names.map((name) => other[name as keyof typeof other]) as string[]));
    }
    db.exec('COMMIT');
  });
}
