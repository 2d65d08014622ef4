import { viewOfRun } from '../../src/app/index.ts';
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
