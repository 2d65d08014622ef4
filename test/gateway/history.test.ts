import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { HoldfastClient } from '../../src/client/index.ts';
import { sha256Hex } from '../../src/core/index.ts';
import { addRecord, MEMORY, PLAN } from '../../src/sessions/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { openWorld, untilRun, type World } from './world.ts';

const OWNER = { tenant: 'local', subject: 'owner', roles: ['approver'] };

/** A gateway whose sessions all work in one folder, with an agent that does one writing call outside it. */
async function openHistory(t: Parameters<typeof openWorld>[0]) {
  const folder = join(await temporaryFolder(t), 'work');
  mkdirSync(folder);
  const world = await openWorld(t, { holdfast: { workspaceOf: () => folder } });
  const agent = await world.client(['agent']);
  const approver = await world.client(['approver']);
  const { session_id: session } = await agent.createSession();
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  return { world, folder, agent, approver, session, write, read };
}

/** Lets the only thing that waits in a run happen. */
async function approve(agent: HoldfastClient, approver: HoldfastClient, runId: string) {
  const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
  const shown = await approver.showApproval(pending[0] ?? '');
  await approver.decide(shown.decision_id, { decision: 'approve', digest: shown.digest });
  await untilRun(agent, runId, 'completed');
  return shown;
}

check(
  'a checkpoint over HTTP waits for whoever writes to the session: history and workspace are of one moment',
  async (t) => {
    const { world, agent, session, write } = await openHistory(t);
    const { histories } = world.holdfast.runtime;
    let answered = false;
    const db = new DatabaseSync(join(world.dataDir, 'holdfast.db'));
    const queued = () => db.prepare("SELECT reason FROM session_tickets WHERE state = 'queued'").get()?.['reason'];
    const asking = await histories.pen.hold(OWNER, session, { owner: 'run', reason: 'run' }, async () => {
      write('report.txt', 'half-way');
      const asked = agent.createCheckpoint(session, { reason: 'now' });
      void asked.then(() => (answered = true));
      while (!answered && queued() === undefined) await new Promise((settle) => setTimeout(settle, 10));
      assert.equal(queued(), 'checkpoint');
      write('report.txt', 'whole');
      return { asked };
    });
    db.close();
    const { checkpoint_id: made } = await asking.asked;
    const { changes } = await histories.history.preview(OWNER, session, made);
    assert.deepEqual(changes, []);
  },
);

check('a revert over HTTP waits for a person, stands in a ledger, and names what it does not undo', async (t) => {
  const { agent, approver, session, write, read, world } = await openHistory(t);
  write('report.txt', 'first');
  const point = await agent.createCheckpoint(session, { reason: 'as it was' });
  write('report.txt', 'second');
  write('more.txt', 'new');
  const { run_id: elsewhere } = await agent.startRun({ task: 'go', session_id: session });
  await approve(agent, approver, elsewhere);
  const before = await agent.diffCheckpoint(session, point.checkpoint_id);
  assert.deepEqual(before.changes, [
    { path: 'more.txt', change: 'removed' },
    { path: 'report.txt', change: 'changed' },
  ]);
  assert.equal(before.files_changed, 2);
  assert.equal(before.not_undone.length, 1);
  const key = 'back-once';
  const asked = await agent.revertSession(session, { checkpoint_id: point.checkpoint_id }, { key });
  assert.deepEqual(await agent.revertSession(session, { checkpoint_id: point.checkpoint_id }, { key }), asked);
  assert.notEqual(asked.session_id, session);
  const waiting = await untilRun(agent, asked.run_id, 'waiting_confirmation');
  assert.equal(read('report.txt'), 'second');
  const shown = await approve(agent, approver, asked.run_id);
  assert.equal(shown.tool, 'revert_session');
  assert.equal(waiting.pending.length, 1);
  assert.equal(read('report.txt'), 'first');
  const { checkpoints } = await agent.listCheckpoints(session);
  assert.equal(checkpoints.at(-1)?.reverted_to, point.checkpoint_id);
  const undo = checkpoints.at(-2);
  assert.equal(undo?.internal, true);
  const back = await agent.diffCheckpoint(session, point.checkpoint_id, { to: undo.checkpoint_id });
  assert.deepEqual(
    back.changes.map(({ path, change }) => [path, change]),
    [
      ['more.txt', 'added'],
      ['report.txt', 'changed'],
    ],
  );
  const { messages } = await agent.listMessages(asked.session_id);
  assert.ok(messages.some(({ content }) => content.includes('not_undone') && content.includes(point.checkpoint_id)));
  assert.ok(!JSON.stringify(messages).includes(world.dataDir));
});

check('a branch is forked at a checkpoint, once for its key, and gone on with once a person says so', async (t) => {
  const { agent, approver, session, write, read, folder } = await openHistory(t);
  write('a.txt', 'one');
  const { checkpoint_id: first } = await agent.createCheckpoint(session, { reason: 'one' });
  const made = await agent.forkBranch(session, { checkpoint_id: first, name: 'other way' }, { key: 'fork-1' });
  assert.deepEqual(
    await agent.forkBranch(session, { checkpoint_id: first, name: 'other way' }, { key: 'fork-1' }),
    made,
  );
  const { branches } = await agent.listBranches(session);
  assert.deepEqual(
    branches.map(({ name }) => name),
    branches[0]?.branch_id === session ? [null, 'other way'] : ['other way', null],
  );
  write('b.txt', 'only on the main branch');
  await agent.createCheckpoint(session, { reason: 'two' });
  const { run_id: run } = await agent.activateBranch(session, made.branch_id);
  await approve(agent, approver, run);
  assert.equal((await agent.showSession(session)).active_branch_id, made.branch_id);
  assert.equal(read('a.txt'), 'one');
  assert.equal(existsSync(join(folder, 'b.txt')), false);
  for (const refused of [
    agent.forkBranch(session, { checkpoint_id: 'none' }),
    agent.revertSession(session, { checkpoint_id: 'none' }),
    agent.activateBranch(session, 'none'),
  ])
    await assert.rejects(refused, { status: 404 });
});

async function recorded(world: World, session: string) {
  const { histories, calls, store } = world.holdfast.runtime;
  const filename = `répö'rt<.html`;
  const html = '<script>alert(1)</script>';
  const more = { contentType: 'text/html' };
  const first = await histories.artifacts.add(OWNER, session, { filename, bytes: Buffer.from(html), ...more });
  const second = await histories.artifacts.add(OWNER, session, { filename, bytes: Buffer.alloc(3_000_000, 7) });
  await store.write('test.records', async (tx) => {
    await addRecord(tx, calls.sessions, OWNER, session, PLAN, { title: 'Next', status: 'draft', confidence: 0.5 });
    for (const content of ['a', 'b', 'c'])
      await addRecord(tx, calls.sessions, OWNER, session, MEMORY, { block: 'notes', content });
  });
  return { filename, html, first, second };
}

check('artifacts are listed, shown with their versions, and their bytes are saved, never shown', async (t) => {
  const { world, agent, session } = await openHistory(t);
  const { filename, html, first, second } = await recorded(world, session);
  const { artifacts } = await agent.listArtifacts(session);
  assert.deepEqual(
    artifacts.map((one) => [one.filename, one.latest_version_id]),
    [[filename, second.id]],
  );
  const page = await agent.listArtifactVersions(session, first.artifactId, { limit: 1 });
  assert.deepEqual([page.versions[0]?.version_id, page.versions[0]?.sha256], [first.id, sha256Hex(html)]);
  const rest = await agent.listArtifactVersions(session, first.artifactId, { after: page.next ?? '' });
  assert.equal(rest.versions[0]?.size_bytes, 3_000_000);
  const saved = await agent.readArtifactVersion(second.id);
  const bytes = Buffer.from(await new Response(saved.body).arrayBuffer());
  assert.deepEqual([bytes.length, sha256Hex(bytes)], [saved.sizeBytes, saved.sha256]);
  const token = await world.token(['approver']);
  const response = await fetch(`${world.url}${page.versions[0]?.url}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(response.headers.get('content-type'), 'application/octet-stream');
  assert.equal(response.headers.get('content-disposition'), "attachment; filename*=UTF-8''r%C3%A9p%C3%B6%27rt%3C.html");
  assert.equal(await response.text(), html);
  await assert.rejects(agent.readArtifactVersion('none'), { status: 404, code: 'RECORD_NOT_FOUND' });
  const other = await world.client(['agent'], { tenant: 'other' });
  await assert.rejects(other.readArtifactVersion(first.id), { status: 404, code: 'RECORD_NOT_FOUND' });
});

check('records are counted, and listed kind by kind in pages', async (t) => {
  const { world, agent, session } = await openHistory(t);
  await recorded(world, session);
  const all = await agent.listRecords(session);
  assert.deepEqual(all, { counts: { artifact: 1, artifact_version: 2, plan: 1, memory: 3 }, records: [], next: null });
  const page = await agent.listRecords(session, { kind: 'memory', limit: 2 });
  const rest = await agent.listRecords(session, { kind: 'memory', limit: 2, after: page.next ?? '' });
  assert.deepEqual(
    [...page.records, ...rest.records].map(({ content }) => content),
    ['a', 'b', 'c'],
  );
  const plans = await agent.listRecords(session, { kind: 'plan' });
  assert.deepEqual([plans.records[0]?.['title'], plans.records[0]?.['confidence']], ['Next', 0.5]);
  await assert.rejects(agent.listRecords(session, { kind: 'secret' }), { status: 400 });
  await assert.rejects(agent.listRecords(session, { kind: 'plan', after: 'x' }), { status: 400 });
});
