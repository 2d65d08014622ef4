import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { Holdfast } from '../../src/index.ts';
import { beginTurn, openSession } from '../../src/sessions/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

type Document = Readonly<Record<string, unknown>>;

/** A data folder with one session, a folder it works in, and the command on them. */
async function world(t: TestContext) {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const workspace = join(folder, 'work');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'a.txt'), 'old');
  const made = await Holdfast.open({ dataDir });
  const { store, calls, principal, projectId } = made.runtime;
  const root = await store.write('test.session', async (tx) => {
    const rootFrameId = await openSession(tx, calls.sessions, principal, { projectId, name: 'Study' });
    await beginTurn(tx, calls.sessions, principal, { rootFrameId, branchId: rootFrameId, content: 'Look.' });
    return rootFrameId;
  });
  await made.close();
  const command = async (...args: string[]) => {
    const { exit, stdout } = await holdfast([...args, '--json', '--data-dir', dataDir], { cwd: folder });
    return { exit, document: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Document };
  };
  const sessions = (...args: string[]) => command('sessions', ...args);
  return { root, dataDir, workspace, command, sessions, file: () => readFileSync(join(workspace, 'a.txt'), 'utf8') };
}

check('a session is checkpointed, changed, compared and taken back once a person has approved it', async (t) => {
  const { root, workspace, command, sessions, file } = await world(t);
  const made = await sessions('checkpoint', root, '--workspace', workspace);
  const point = String(made.document['checkpoint_id']);
  writeFileSync(join(workspace, 'a.txt'), 'new');
  const differs = await sessions('diff', root, point);
  assert.deepEqual(
    (differs.document['changes'] as Document[]).map((one) => [one['path'], one['change']]),
    [['a.txt', 'changed']],
  );
  const waiting = await sessions('revert', root, point);
  assert.deepEqual([waiting.exit, waiting.document['status'], file()], [3, 'waiting_confirmation', 'new']);
  const run = String(waiting.document['run_id']);
  const [request] = (await command('approvals', 'list')).document['requests'] as Document[];
  assert.equal(request?.['tool'], 'revert_session');
  await command('approvals', 'approve', String(request?.['decision_id']));
  const resumed = await command('runs', 'resume', run);
  assert.deepEqual([resumed.exit, resumed.document['status'], file()], [0, 'completed', 'old']);
  const shown = await sessions('show', root);
  const [head, undo] = shown.document['checkpoints'] as Document[];
  assert.deepEqual([head?.['reverted_to'], undo?.['reason']], [point, 'before revert']);
  const back = await sessions('revert', root, String(undo?.['checkpoint_id']), '--yes');
  assert.deepEqual([back.exit, file()], [0, 'new']);
  const two = await sessions('diff', root, point, String(undo?.['checkpoint_id']));
  assert.equal((two.document['changes'] as Document[]).length, 1);
  assert.equal((await sessions('revert', root, 'nobody')).exit, 2);
});

check('a fork is shown beside the main branch, and sessions are listed with their names', async (t) => {
  const { root, sessions } = await world(t);
  const point = String((await sessions('checkpoint', root)).document['checkpoint_id']);
  const forked = await sessions('fork', root, point, '--name', 'Other way');
  const shown = await sessions('show', root);
  const branches = shown.document['branches'] as Document[];
  assert.deepEqual(new Set(branches.map((one) => one['name'])), new Set(['Other way', null]));
  assert.ok(branches.some((one) => one['branch_id'] === forked.document['branch_id']));
  const listed = (await sessions('list')).document['sessions'] as Document[];
  assert.deepEqual(
    listed.map((one) => [one['session_id'], one['name']]),
    [[root, 'Study']],
  );
});

check('a session with runs is deleted whole, what stays is named, and what is unresolved keeps it', async (t) => {
  const { root, dataDir, sessions } = await world(t);
  let lost = false;
  const tool = noteTool({
    execute: () => {
      if (lost) throw new Error('connection reset');
      return { ok: true };
    },
  });
  const opened = await Holdfast.open({ dataDir });
  const agent = opened.agent({ model: callsThenDone([{}]), tools: [tool], checkpoints: 'before_writes' });
  const run = await agent.run('Take a note.', { rootFrameId: root });
  assert.equal(run.status, 'completed');
  lost = true;
  const other = await agent.run('Take a note.');
  assert.equal(other.view.outcome, 'unknown');
  await opened.close();
  const shown = await sessions('show', root);
  assert.deepEqual(
    (shown.document['checkpoints'] as Document[]).map((one) => one['reason']),
    ['before a write'],
  );
  assert.equal((await sessions('delete', root)).exit, 2);
  const deleted = await sessions('delete', root, '--yes');
  assert.equal(deleted.exit, 0);
  assert.deepEqual(deleted.document['kept'], [
    { what: 'operations', count: 1 },
    { what: 'effects', count: 1 },
  ]);
  assert.equal((await sessions('show', root)).exit, 2);
  const kept = await sessions('delete', other.view.sessionId, '--yes');
  assert.equal((kept.document['error'] as Document)['code'], 'SESSION_UNRESOLVED');
  assert.equal((await sessions('show', other.view.sessionId)).exit, 0);
});

check('a session that is deleted is told so, whatever becomes of what nothing names any more', async (t) => {
  const { root, dataDir, workspace, sessions } = await world(t);
  assert.equal((await sessions('checkpoint', root, '--workspace', workspace)).exit, 0);
  const database = new DatabaseSync(join(dataDir, 'holdfast.db'));
  database.exec(`UPDATE workspace_trees SET captured_at = 1;
    CREATE TRIGGER full BEFORE DELETE ON workspace_trees BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
  database.close();
  const deleted = await sessions('delete', root, '--yes');
  assert.deepEqual([deleted.exit, deleted.document['deleted']], [0, true]);
  assert.equal((await sessions('show', root)).exit, 2);
});

check('a revert names what it does not undo, in text and in JSON', async (t) => {
  const { root, dataDir, workspace, sessions } = await world(t);
  const point = String((await sessions('checkpoint', root, '--workspace', workspace)).document['checkpoint_id']);
  const opened = await Holdfast.open({ dataDir });
  const agent = opened.agent({ model: callsThenDone([{ id: 'mail-1' }]), tools: [noteTool()] });
  await agent.run('Send it.', { rootFrameId: root });
  await opened.close();
  const preview = await sessions('diff', root, point);
  assert.equal((preview.document['not_undone'] as Document[]).length, 1);
  const text = await holdfast(['sessions', 'revert', root, point, '--data-dir', dataDir], {});
  assert.equal(text.exit, 3);
  assert.match(text.stderr, /Not undone, since it was done outside the workspace:\n {2}\S+ {2}\S+/);
  const done = await sessions('revert', root, point, '--yes');
  assert.equal(done.exit, 0);
  const [call] = done.document['calls'] as Document[];
  assert.match(JSON.stringify(call), /not_undone.*side_effect_class/);
});

check('records are shown kind by kind, bytes of artifacts are written out, and a branch is gone on with', async (t) => {
  const { root, dataDir, workspace, sessions, file } = await world(t);
  const opened = await Holdfast.open({ dataDir });
  const { principal, histories } = opened.runtime;
  const bytes = Buffer.from('id,score');
  const { id: version } = await histories.artifacts.add(principal, root, { filename: 'out.csv', bytes });
  await opened.close();
  const counts = await sessions('records', root);
  assert.deepEqual(counts.document['counts'], { artifact: 1, artifact_version: 1 });
  const versions = await sessions('records', root, 'artifact_version');
  const [shown] = versions.document['records'] as Document[];
  assert.deepEqual([shown?.['version_id'], shown?.['size_bytes']], [version, 8]);
  assert.equal((await sessions('records', root, 'secrets')).exit, 2);
  const target = join(workspace, 'saved.csv');
  assert.equal((await sessions('artifact', version, '--to', target)).exit, 0);
  assert.equal(readFileSync(target, 'utf8'), 'id,score');
  assert.equal((await sessions('artifact', version)).exit, 2);
  assert.equal((await sessions('artifact', 'none', '--to', target)).exit, 2);
  const point = String((await sessions('checkpoint', root, '--workspace', workspace)).document['checkpoint_id']);
  const branch = String((await sessions('fork', root, point)).document['branch_id']);
  writeFileSync(join(workspace, 'a.txt'), 'on the main branch');
  await sessions('checkpoint', root);
  assert.equal((await sessions('activate', root, branch)).exit, 3);
  assert.equal((await sessions('activate', root, branch, '--yes')).exit, 0);
  assert.deepEqual([(await sessions('show', root)).document['active_branch_id'], file()], [branch, 'old']);
  assert.equal((await sessions('activate', root, 'none')).exit, 2);
});
