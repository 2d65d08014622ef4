import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { removeSession, type Runtime } from '../../src/app/index.ts';
import { Holdfast } from '../../src/index.ts';
import { addRecord, countAllRecords, listCheckpoints, MEMORY, openSession, PLAN } from '../../src/sessions/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

/** A runtime whose sessions work in one folder, with one tool that writes there, one elsewhere, and one that reads. */
async function opened(t: TestContext) {
  const folder = await temporaryFolder(t);
  const [dataDir, work] = [join(folder, 'data'), join(folder, 'work')];
  mkdirSync(work);
  writeFileSync(join(work, 'a.txt'), 'before');
  const holdfast = await Holdfast.open({ dataDir, workspaceOf: () => work });
  t.after(() => holdfast.close());
  const done: string[] = [];
  const inside = noteTool({
    name: 'write_file',
    execute: ({ note }) => {
      writeFileSync(join(work, 'a.txt'), note);
      return { ok: true };
    },
  });
  const outside = noteTool({
    name: 'send_mail',
    execute: ({ note }) => {
      done.push(note);
      return { ok: true };
    },
  });
  const reading = noteTool({ name: 'look', effect: 'read' });
  const model = callsThenDone(
    [{ name: 'look' }],
    [
      { name: 'write_file', note: 'first' },
      { name: 'send_mail', note: 'one' },
    ],
    [{ name: 'look' }],
    [{ name: 'write_file', note: 'second' }],
  );
  const agent = holdfast.agent({ model, tools: [inside, outside, reading], checkpoints: 'before_writes' });
  return { holdfast, runtime: holdfast.runtime, agent, done, work, dataDir };
}

const pointsOf = async ({ store, principal }: Runtime, root: string) =>
  (await store.read('test', (tx) => listCheckpoints(tx, principal, root))).items;

check('a run makes a checkpoint before each reply that writes, and none for what only reads', async (t) => {
  const { runtime, agent, done, work } = await opened(t);
  const run = await agent.run('Go.');
  assert.equal(run.status, 'completed');
  const root = run.view.sessionId;
  const points = await pointsOf(runtime, root);
  assert.deepEqual(
    points.map(({ reason }) => reason),
    ['before a write', 'before a write'],
  );
  const { history } = runtime.histories;
  const [first, second] = points.map(({ checkpointId }) => checkpointId);
  assert.deepEqual(await history.diff(runtime.principal, root, first ?? '', second ?? ''), [
    { path: 'a.txt', change: 'changed' },
  ]);
  const preview = await history.preview(runtime.principal, root, second ?? '');
  assert.deepEqual(preview.notUndone.map(({ toolCallId }) => toolCallId).length, 1);
  await history.revert(runtime.principal, root, second ?? '');
  assert.equal(readFileSync(join(work, 'a.txt'), 'utf8'), 'first');
  const whole = await history.preview(runtime.principal, root, first ?? '');
  assert.equal(whole.notUndone.length, 3);
  await history.revert(runtime.principal, root, first ?? '');
  assert.equal(readFileSync(join(work, 'a.txt'), 'utf8'), 'before');
  assert.deepEqual(done, ['one']);
});

check('the data folder is part of no workspace that it lies in, and no workspace itself', async (t) => {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'state');
  let work = folder;
  const holdfast = await Holdfast.open({ dataDir, workspaceOf: () => work });
  t.after(() => holdfast.close());
  const { store, calls, principal, projectId, histories } = holdfast.runtime;
  const root = await store.write('test', (tx) => openSession(tx, calls.sessions, principal, { projectId }));
  writeFileSync(join(folder, 'a.txt'), 'before');
  const asked = { rootFrameId: root, branchId: root, reason: 'test' };
  const point = await histories.history.checkpoint(principal, asked);
  const { entries, skipped } = await histories.workspaces.readTree(point.workspaceTreeId ?? '');
  assert.deepEqual([entries.map(({ path }) => path), skipped], [['a.txt'], [{ path: 'state', reason: 'excluded' }]]);
  await store.write('test', (tx) =>
    addRecord(tx, calls.sessions, principal, root, PLAN, { title: 'Since', status: 'draft' }),
  );
  writeFileSync(join(folder, 'a.txt'), 'after');
  await histories.history.revert(principal, root, point.checkpointId);
  assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'before');
  assert.equal((await store.read('test', (tx) => countAllRecords(tx, root)))['plan'], 1);
  for (work of [dataDir, join(dataDir, 'workspace-cas')])
    await assert.rejects(histories.history.checkpoint(principal, asked), { code: 'INVALID_VALUE' });
});

check('without its checkpoint no call is made', async (t) => {
  const { runtime, agent, done, work } = await opened(t);
  rmSync(work, { recursive: true });
  await assert.rejects(agent.run('Go.'), { code: 'WORKSPACE_NOT_A_FOLDER' });
  assert.deepEqual(done, []);
  const { items } = await runtime.runs.list(runtime.principal, { limit: 5 });
  assert.equal(items.length, 1);
  assert.deepEqual(await pointsOf(runtime, items[0]?.place.rootFrameId ?? ''), []);
});

/** How many rows of each table name a session, whatever the column is called. */
function rowsNaming(dataDir: string, root: string): Record<string, number> {
  using db = new DatabaseSync(join(dataDir, 'holdfast.db'), { readOnly: true });
  const tables = db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all() as { name: string }[];
  const naming = tables.flatMap(({ name }) => {
    const columns = db.prepare(`SELECT name FROM pragma_table_info(?)`).all(name) as { name: string }[];
    const where = columns.map((column) => `"${column.name}" = :root`).join(' OR ');
    const found = db.prepare(`SELECT COUNT(*) AS rows FROM "${name}" WHERE ${where}`).get({ root });
    const rows = Number(found?.['rows']);
    return rows === 0 ? [] : [[name, rows] as const];
  });
  return Object.fromEntries(naming);
}

check('a session goes whole, with the bytes that only it used; what is kept for the audit is named', async (t) => {
  const { holdfast, runtime, agent, work, dataDir } = await opened(t);
  const { principal, store, calls, histories, projectId } = runtime;
  const run = await agent.run('Go.');
  const root = run.view.sessionId;
  const other = await store.write('test', (tx) => openSession(tx, calls.sessions, principal, { projectId }));
  for (const session of [root, other]) {
    const bytes = Buffer.from('both have it');
    await histories.artifacts.add(principal, session, { filename: 'shared.txt', bytes });
  }
  await histories.artifacts.add(principal, root, { filename: 'own.txt', bytes: Buffer.from('only here') });
  await store.write('test', async (tx) => {
    await addRecord(tx, calls.sessions, principal, root, PLAN, { title: 'Next', status: 'draft' });
    await addRecord(tx, calls.sessions, principal, root, MEMORY, { block: 'notes', content: 'x' });
  });
  writeFileSync(join(work, 'a.txt'), 'as the other has it');
  const kept = await histories.history.checkpoint(principal, { rootFrameId: other, branchId: other, reason: 'kept' });
  assert.ok(Object.keys(rowsNaming(dataDir, root)).length > 10);
  assert.deepEqual(await removeSession(runtime, principal, root), [
    { what: 'operations', count: 3 },
    { what: 'effects', count: 3 },
  ]);
  await histories.workspaces.collect(-1);
  const left = rowsNaming(dataDir, root);
  assert.deepEqual(
    Object.keys(left).filter((table) => !/^(?:feed|operations|effect)/.test(table)),
    [],
  );
  const packs = join(dataDir, 'workspace-cas', 'packs');
  const all = Buffer.concat(readdirSync(packs).map((name) => readFileSync(join(packs, name)))).toString('latin1');
  assert.ok(!all.includes('only here') && !all.includes('first'));
  assert.ok(all.includes('both have it') && all.includes('as the other has it'));
  assert.deepEqual(await histories.workspaces.verifyTree(kept.workspaceTreeId ?? ''), []);
  await holdfast.close();
});
