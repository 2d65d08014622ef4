import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { viewOfRun } from '../../src/app/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { type DamagedRun, Holdfast, type ModelFunction } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { defineClerks, WORLD } from '../faults/run-windows/clerk.ts';
import { assert, check } from '../support/index.ts';
import { inDatabase, killAgain, killedAt, openLater, rowsOf, runOfAgent, saved, tamper } from './damage-world.ts';

const stateOf = async ({ runtime: { runs, principal } }: Holdfast, runId: string) =>
  (await runs.get(principal, runId)).state;

const OF_OPERATIONS = {
  'its arguments': `arguments_json = '{"note":"silk"}'`,
  'what allowed it': `approval_digest = '${'0'.repeat(64)}'`,
  'its reference': `status_ref = 'status_${'0'.repeat(32)}'`,
  'a number': 'updated_at = 1 << 60',
  'its state': `state = 'succeeded', completed_at = updated_at`,
};

for (const [what, change] of Object.entries(OF_OPERATIONS))
  check(`a run whose operation was changed (${what}) is left as it is, and the other is recovered`, async (t) => {
    const dataDir = await killedAt(t, 'lead', 'plain', 'tool');
    const [lead, clerk] = [runOfAgent(dataDir, 'lead'), runOfAgent(dataDir, 'clerk')];
    const mend = saved(dataDir, 'operations');
    tamper(dataDir, `UPDATE operations SET ${change}`);
    const rows = rowsOf(dataDir, clerk);
    const heard: DamagedRun[] = [];
    const holdfast = await openLater(t, dataDir, { onDamage: (run) => void heard.push(run) });
    const { runtime } = holdfast;
    assert.deepEqual(runtime.reconciled, [lead]);
    assert.deepEqual(runtime.damaged, heard);
    assert.deepEqual(
      heard.map(({ runId, tenant }) => [runId, tenant]),
      [[clerk, 'local']],
    );
    const agent = defineClerks(holdfast, dataDir, {}).get('clerk');
    assert.ok(agent);
    await assert.rejects(agent.resume(clerk), { code: 'RUN_DAMAGED' });
    await assert.rejects(runtime.runs.stop(runtime.principal, clerk), { code: 'RUN_DAMAGED' });
    const opening = runtime.runs.openSideBranch(runtime.principal, clerk, { type: 'goal_review', instruction: 'look' });
    await assert.rejects(opening, (error: { code?: string }) => error.code === 'RUN_DAMAGED');
    const { outcome, damage } = await viewOfRun(runtime, runtime.principal, clerk);
    assert.deepEqual([outcome, damage?.code], ['unknown', heard[0]?.code]);
    assert.equal((await runtime.runs.stop(runtime.principal, lead)).state.status, 'stopped');
    assert.equal(rowsOf(dataDir, clerk), rows, 'nothing of it was touched');
    assert.ok(!existsSync(join(dataDir, '..', WORLD)), 'and nothing was done');
    await holdfast.close();
    mend();
    const again = await openLater(t, dataDir);
    assert.deepEqual([again.runtime.reconciled, again.runtime.damaged], [[clerk], []]);
    const state = await stateOf(again, clerk);
    assert.deepEqual([state.status, state.status === 'failed' && state.code], ['failed', 'OUTCOME_UNKNOWN']);
  });

const OF_RECEIPTS = {
  'what came back': `UPDATE local_receipts SET result_json = '{"ok":false}'`,
  'one that is no JSON': `UPDATE local_receipts SET result_json = 'ok'`,
  'one that is gone': 'DELETE FROM downstream_receipts',
};

for (const [what, change] of Object.entries(OF_RECEIPTS))
  check(`a receipt that was changed (${what}) proves nothing, and its run is left as it is`, async (t) => {
    const dataDir = await killedAt(t, 'clerk', 'no-results', 'calls.receipts');
    const clerk = runOfAgent(dataDir, 'clerk');
    const mends = ['local_receipts', 'downstream_receipts'].map((table) => saved(dataDir, table));
    tamper(dataDir, change);
    const rows = rowsOf(dataDir, clerk);
    const holdfast = await openLater(t, dataDir);
    assert.deepEqual(
      holdfast.runtime.damaged.map(({ runId, code }) => [runId, code]),
      [[clerk, 'OPERATION_RECORD_BROKEN']],
    );
    assert.equal(rowsOf(dataDir, clerk), rows);
    await holdfast.close();
    for (const mend of mends) mend();
    const again = await openLater(t, dataDir);
    assert.deepEqual(again.runtime.reconciled, [clerk]);
    const view = await viewOfRun(again.runtime, again.runtime.principal, clerk);
    assert.deepEqual(
      view.calls.map(({ outcome }) => outcome?.state),
      ['done'],
    );
  });

check('a run whose last request was changed is left as it is, and waits again once it is mended', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'plain', 'runs.reply');
  await killAgain(dataDir, 'clerk', 'resume-asks', 'runs.stand');
  const clerk = runOfAgent(dataDir, 'clerk');
  const mend = saved(dataDir, 'permission_requests');
  tamper(dataDir, `UPDATE permission_requests SET canonical_arguments = '{"note":"silk"}'`);
  const rows = rowsOf(dataDir, clerk);
  const holdfast = await openLater(t, dataDir);
  const { runtime } = holdfast;
  assert.deepEqual(
    runtime.damaged.map(({ runId, code }) => [runId, code]),
    [[clerk, 'APPROVAL_CORRUPT']],
  );
  const agent = defineClerks(holdfast, dataDir, { needsApproval: true }).get('clerk');
  await assert.rejects(agent?.resume(clerk) ?? Promise.resolve(), { code: 'RUN_DAMAGED' });
  const view = await viewOfRun(runtime, runtime.principal, clerk);
  assert.deepEqual([view.damage?.code, view.pending], ['APPROVAL_CORRUPT', []]);
  assert.equal(rowsOf(dataDir, clerk), rows);
  assert.equal((await agent?.run('go'))?.status, 'waiting_confirmation', 'other runs go on as always');
  await holdfast.close();
  mend();
  const again = await openLater(t, dataDir);
  assert.deepEqual(again.runtime.reconciled, [clerk]);
  assert.equal((await stateOf(again, clerk)).status, 'waiting_confirmation');
});

const OF_ROWS = {
  'its configuration': [`context = context || ' '`, 'JSON_NOT_CANONICAL'],
  'one that is no object': [`context = '[]'`, 'RUN_RECORD_BROKEN'],
  'its roles': [`roles = '[ "approver"]'`, 'JSON_NOT_CANONICAL'],
  'a number': ['turns_used = 1 << 60', 'RUN_RECORD_BROKEN'],
} as const;

for (const [what, [change, code]] of Object.entries(OF_ROWS))
  check(`a run whose own row was changed (${what}) keeps nobody from the others`, async (t) => {
    const dataDir = await killedAt(t, 'lead', 'plain', 'tool');
    const [lead, clerk] = [runOfAgent(dataDir, 'lead'), runOfAgent(dataDir, 'clerk')];
    const mend = saved(dataDir, 'traces', clerk);
    tamper(dataDir, `UPDATE traces SET ${change} WHERE trace_id = '${clerk}'`);
    const rows = rowsOf(dataDir, clerk);
    const holdfast = await openLater(t, dataDir);
    const { runs, principal } = holdfast.runtime;
    assert.deepEqual(holdfast.runtime.reconciled, [lead]);
    assert.deepEqual(
      holdfast.runtime.damaged.map((run) => [run.runId, run.code]),
      [[clerk, code]],
    );
    const page = await runs.list(principal, { limit: 9 });
    assert.deepEqual([page.items.map(({ runId }) => runId), page.damaged.map(({ runId }) => runId)], [[lead], [clerk]]);
    for (const refused of [runs.get(principal, clerk), runs.resume(principal, clerk), runs.stop(principal, clerk)])
      await assert.rejects(refused, (error: { code?: string; resolve?: string }) => {
        assert.match(error.resolve ?? '', /holdfast audit/);
        return error.code === code;
      });
    assert.equal((await runs.stop(principal, lead)).state.status, 'stopped', 'one below keeps no other from its end');
    assert.equal(rowsOf(dataDir, clerk), rows);
    await holdfast.close();
    mend();
    assert.deepEqual((await openLater(t, dataDir)).runtime.reconciled, [clerk]);
  });

/** Runs that look as if their process had died before it wrote the results of their calls. */
function orphan(dataDir: string): void {
  tamper(
    dataDir,
    `DELETE FROM messages WHERE event_id IN (SELECT event_id FROM action_events WHERE type = 'result')`,
    `DELETE FROM action_events WHERE type = 'result'`,
    `UPDATE traces SET status = 'running', owner_instance_id = 'a dead one', error_code = NULL, finished_at = NULL`,
  );
}

check('of a reply with two calls, one of them damaged, no result is written', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const calls = ['milk', 'bread'].map((note) => ({ toolName: 'take_note', arguments: { note } }));
  const model: ModelFunction = ({ messages }) => {
    if (messages.at(-1)?.role === 'tool') throw new Error('no more');
    return { calls };
  };
  const agent = holdfast.agent({ model, tools: [noteTool()], retries: { most: 0 } });
  const { id } = await agent.run('go');
  orphan(dataDir);
  const mend = saved(dataDir, 'operations');
  tamper(dataDir, `UPDATE operations SET arguments_json = '{"note":"silk"}' WHERE arguments_json LIKE '%bread%'`);
  const rows = rowsOf(dataDir, id);
  const { runs } = holdfast.runtime;
  assert.deepEqual(
    (await runs.recover()).damaged.map(({ runId }) => runId),
    [id],
  );
  assert.equal(rowsOf(dataDir, id), rows);
  mend();
  assert.deepEqual(await runs.recover(), { released: [id], damaged: [] });
  const view = await viewOfRun(holdfast.runtime, holdfast.runtime.principal, id);
  assert.deepEqual(
    view.calls.map(({ outcome }) => outcome?.state),
    ['done', 'done'],
  );
});

check('more damaged runs than a page has are all passed over, and what comes after them is recovered', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
  const { id } = await agent.run('go');
  const last = await agent.run('go');
  tamper(dataDir, `UPDATE traces SET status = 'running', owner_instance_id = 'a dead one', finished_at = NULL`);
  const columns = inDatabase(dataDir, (db) =>
    db
      .prepare(`SELECT name FROM pragma_table_info('traces')`)
      .all()
      .map(({ name }) => String(name)),
  );
  const made: Record<string, string> = {
    trace_id: `substr(trace_id, 1, 20) || printf('%012d', n)`,
    parent_trace_id: 'trace_id',
    parent_call: 'n',
    context: `'[]'`,
  };
  tamper(
    dataDir,
    `WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n <= ${LIMITS.sessionPageRows})
     INSERT INTO traces (${columns.join()}) SELECT ${columns.map((one) => made[one] ?? one).join()}
     FROM traces, c WHERE trace_id = '${id}'`,
  );
  const { released, damaged } = await holdfast.runtime.runs.recover();
  assert.deepEqual(released.toSorted(), [id, last.id].toSorted());
  assert.equal(damaged.length, LIMITS.sessionPageRows + 1);
});

check('what is no damage of one run still ends the opening', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'plain', 'tool');
  inDatabase(dataDir, (db) =>
    db.exec(`CREATE TRIGGER no_release BEFORE UPDATE ON traces BEGIN SELECT RAISE(ABORT, 'no room'); END`),
  );
  const clock = { nowMs: () => Date.now() + 120_000 };
  await assert.rejects(Holdfast.open({ dataDir, clock }), { code: 'STORE_CONSTRAINT' });
  inDatabase(dataDir, (db) => db.exec('DROP TRIGGER no_release'));
  assert.equal((await openLater(t, dataDir)).runtime.reconciled.length, 1);
});

check(
  'whoever carries on what is decided is told of a waiting run that cannot be read, and carries on the others',
  async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
    const [bad, good] = [await agent.run('go'), await agent.run('go')];
    const { approvals, principal } = holdfast.runtime;
    const [request] = good.pending;
    assert.ok(request);
    await approvals.decide(principal, [{ requestId: request.requestId, digest: request.digest, decision: 'approve' }]);
    tamper(dataDir, `UPDATE traces SET context = '[]' WHERE trace_id = '${bad.id}'`);
    const told: string[] = [];
    await holdfast.carryOnDecided({ onError: (runId) => void told.push(runId) });
    assert.equal((await good.wait()).status, 'completed');
    assert.deepEqual(told, [bad.id]);
  },
);
