import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sha256Hex } from '../../../src/core/index.ts';
import { oracle } from '../../archive/support/packages.ts';
import { zip } from '../../archive/support/zip-builder.ts';
import { exported, lockBehind, sendBytes, staged } from '../../gateway/package-world.ts';
import { openWorld, untilRun, type World } from '../../gateway/world.ts';
import type { ModelFunction } from '../../../src/index.ts';
import { callsThenDone } from '../../calls/desk.ts';
import { assert, check, contract } from '../../support/index.ts';

const PATH = '/api/v1/sessions/import';

interface Imported {
  readonly root_frame_id: string;
  readonly project_id: string;
  readonly kernel_state: string;
  readonly trust_state: string;
}

async function imported(world: World, name = 'b-notebook'): Promise<Imported & { readonly token: string }> {
  const token = await world.token(['agent', 'approver', 'admin']);
  const { status, text } = await sendBytes(world, PATH, token, oracle(name));
  assert.equal(status, 201, text);
  return { ...(JSON.parse(text) as Imported), token };
}

/** Sends what a program sends that knows the contract and not us: no key, fields of its own. */
async function ask(world: World, method: string, path: string, token: string, body?: object) {
  const response = await fetch(`${world.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = (await response.json()) as Record<string, unknown> & { error?: { code: string } };
  return { status: response.status, code: answer.error?.code, answer };
}

function rows({ dataDir }: World, sql: string): unknown[] {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

contract(
  'PKG-158 PKG-159 PKG-160 PKG-164',
  'the raw bytes are imported as a locked session that runs nothing',
  async (t) => {
    const world = await openWorld(t);
    const made = await imported(world);
    assert.deepEqual([made.kernel_state, made.trust_state], ['ended', 'quarantined']);
    assert.ok(!oracle('b-notebook').includes(made.root_frame_id));
    const client = await world.client(['agent']);
    assert.deepEqual((await client.listRuns()).runs, []);
    assert.equal(world.holdfast.runtime.runs.running(made.root_frame_id), undefined);
    assert.deepEqual(rows(world, 'SELECT * FROM session_tickets'), []);
    const kernel = await client.showKernel(made.root_frame_id);
    assert.deepEqual([kernel.view_only, kernel.trust_state, kernel.kernel_state], [true, 'quarantined', 'ended']);
    assert.equal(kernel.quarantine?.reason, 'untrusted_session_package');
    assert.equal(kernel.quarantine.package_sha256, sha256Hex(oracle('b-notebook')));
    assert.ok(existsSync(join(world.dataDir, 'session-imports', made.root_frame_id)));
    assert.equal((await client.showSession(made.root_frame_id)).trust_state, 'quarantined_import');
    assert.deepEqual(staged(world), []);
  },
);

contract(
  'PKG-161',
  'a quarantined session is told nothing, runs nothing and gets no checkpoint: 423 each',
  async (t) => {
    const world = await openWorld(t);
    const { root_frame_id: root, token } = await imported(world);
    const asked = [
      [`/frames/${root}/message`, { content: 'Go on', message: 'Go on' }],
      [`/frames/${root}/kernel/execute`, { code: '1', language: 'python' }],
      [`/frames/${root}/branches/checkpoints`, { reason: 'x', branch_id: root }],
    ] as const;
    for (const [path, body] of asked) {
      const { status, code } = await ask(world, 'POST', path, token, body);
      assert.deepEqual([status, code], [423, 'SESSION_QUARANTINED'], path);
      assert.equal((await ask(world, 'POST', path, token, {})).status, 423, 'whatever the body is');
    }
    const run = await ask(world, 'POST', '/runs', token, { task: 'go', session_id: root });
    assert.deepEqual([run.status, run.code], [400, 'IDEMPOTENCY_KEY_REQUIRED']);
    const client = await world.client(['agent', 'admin']);
    await assert.rejects(client.startRun({ task: 'go', session_id: root }), {
      status: 423,
      code: 'SESSION_QUARANTINED',
    });
    await assert.rejects(client.sendMessage(root, { content: 'go' }), { status: 423 });
    assert.deepEqual((await client.listRuns()).runs, []);
  },
);

contract(
  'PKG-162',
  'an artifact of a quarantined session is not edited: the guard follows it to its session',
  async (t) => {
    const world = await openWorld(t);
    const { root_frame_id: root, token } = await imported(world);
    const workspace = join(world.dataDir, 'session-imports', root);
    const before = filesIn(workspace);
    const found = rows(world, `SELECT artifact_id FROM artifacts WHERE root_frame_id = '${root}'`);
    assert.ok(found.length > 0);
    const versions = () => rows(world, 'SELECT version_id FROM artifact_versions').length;
    const count = versions();
    for (const { artifact_id: artifact } of found as { artifact_id: string }[]) {
      const { status, code } = await ask(world, 'POST', `/artifacts/${artifact}/edit`, token, { content: 'other' });
      assert.deepEqual([status, code], [423, 'SESSION_QUARANTINED']);
    }
    assert.deepEqual(filesIn(workspace), before);
    assert.equal(versions(), count);
    const [{ artifact_id: first } = { artifact_id: '' }] = found as { artifact_id: string }[];
    const other = await world.client(['agent'], { tenant: 'other' });
    await assert.rejects(other.editArtifact(first, 'x'), { status: 404, code: 'RECORD_NOT_FOUND' });
    const both = await world.client(['agent', 'approver']);
    await both.recoverSession(root, { action: 'restart_fresh', confirmed: true });
    const edited = await both.editArtifact(first, 'other', { key: 'k' });
    assert.deepEqual(await both.editArtifact(first, 'other', { key: 'k' }), edited);
    assert.equal(edited.sha256, sha256Hex('other'));
    assert.equal(versions(), count + 1);
  },
);

/** Every file of a folder with its bytes. */
function filesIn(folder: string): [string, string][] {
  const names = (readdirSync(folder, { recursive: true }) as string[]).sort();
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return files.map((name) => [name, readFileSync(join(folder, name), 'hex')]);
}

check(
  'a run that waits in a session which is locked is neither resumed nor decided, nor let go by a rule',
  async (t) => {
    const world = await openWorld(t);
    const agent = await world.client(['agent']);
    const approver = await world.client(['approver']);
    const { run_id: run, session_id: session } = await agent.startRun({ task: 'go' });
    const { pending } = await untilRun(agent, run, 'waiting_confirmation');
    const { decision_id: request, digest } = await approver.showApproval(pending[0] ?? '');
    lockBehind(world, session);
    await assert.rejects(agent.resumeRun(run), { status: 423, code: 'SESSION_QUARANTINED' });
    for (const shown of [digest, '0'.repeat(64)])
      await assert.rejects(approver.decide(request, { decision: 'approve', digest: shown }), {
        status: 423,
        code: 'SESSION_QUARANTINED',
      });
    await assert.rejects(approver.putRule({ decision: 'allow', tool: 'take_note', session_id: session }), {
      status: 423,
      code: 'SESSION_QUARANTINED',
    });
    assert.equal((await agent.showRun(run)).status, 'waiting_confirmation');
    assert.equal((await agent.showKernel(session)).quarantine?.reason, 'unreadable');
  },
);

contract('PKG-163', 'a quarantined session can be exported, and its package imported again', async (t) => {
  const world = await openWorld(t);
  const { root_frame_id: root, token } = await imported(world);
  const { status, bytes } = await exported(world, root, token);
  assert.equal(status, 200);
  const again = await sendBytes(world, PATH, token, bytes);
  assert.equal(again.status, 201);
  assert.notEqual((JSON.parse(again.text) as Imported).root_frame_id, root);
});

contract('PKG-165', 'DELETE removes a quarantined session, its quarantine and its folder', async (t) => {
  const world = await openWorld(t);
  const { root_frame_id: root, token } = await imported(world);
  const folder = join(world.dataDir, 'session-imports', root);
  const removed = await ask(world, 'DELETE', `/frames/${root}`, token);
  assert.deepEqual([removed.status, removed.answer], [200, { ok: true }]);
  assert.ok(!existsSync(folder));
  assert.ok(!existsSync(join(world.dataDir, 'session-imports', root, 'workspace')));
  assert.deepEqual(rows(world, "SELECT key FROM session_settings WHERE key LIKE 'session:import-quarantine:%'"), []);
  assert.equal((await ask(world, 'GET', `/frames/${root}/kernel`, token)).status, 404);
  assert.equal((await ask(world, 'DELETE', `/frames/${root}`, token)).status, 404);
});

/** A call, then an answer; what came with the session is not counted. */
const callsAgain: ModelFunction = (request) => {
  const messages = request.messages.slice(request.messages.findLastIndex(({ role }) => role === 'user'));
  return callsThenDone([{ note: 'milk' }])({ ...request, messages });
};

contract('PKG-153 PKG-154 PKG-155 PKG-156', 'over HTTP a confirmed fresh restart is the only way out', async (t) => {
  const world = await openWorld(t, { model: callsAgain });
  const { root_frame_id: root } = await imported(world);
  const approver = await world.client(['approver'], { subject: 'ada' });
  const refused = { status: 409, code: 'RECOVERY_REFUSED' };
  await assert.rejects(approver.recoverSession(root, { action: 'restart_fresh' }), refused);
  await assert.rejects(approver.recoverSession(root, { action: 'restore', confirmed: true }), refused);
  assert.equal((await approver.showKernel(root)).view_only, true);
  const agent = await world.client(['agent']);
  await assert.rejects(agent.recoverSession(root, { action: 'restart_fresh', confirmed: true }), { status: 403 });
  const trusted = await approver.recoverSession(root, { action: 'restart_fresh', confirmed: true });
  assert.deepEqual(trusted, { root_frame_id: root, quarantine_cleared: true, trust_state: 'trusted' });
  const kernel = await approver.showKernel(root);
  assert.deepEqual([kernel.quarantine, kernel.trust_state], [null, 'trusted']);
  const [last] = rows(
    world,
    `SELECT kind FROM action_groups WHERE root_frame_id = '${root}' ORDER BY ordinal DESC LIMIT 1`,
  ) as { kind: string }[];
  assert.equal(last?.kind, 'session_import_trust');
  const { run_id: run } = await agent.sendMessage(root, { content: 'Go on' });
  const status = async () => (await agent.showRun(run)).status;
  // What the imported history says decides whether the model of this test asks for a call once more.
  while ((await status()) === 'running') await new Promise((settle) => setTimeout(settle, 10));
  assert.ok(['waiting_confirmation', 'completed'].includes(await status()));
});

check('in a session of this installation nothing is locked, and code has no kernel: 409', async (t) => {
  const world = await openWorld(t);
  const client = await world.client(['agent', 'admin', 'approver']);
  const { session_id: session } = await client.createSession({ name: 's' });
  const kernel = await client.showKernel(session);
  assert.deepEqual([kernel.trust_state, kernel.view_only, kernel.kernel_state], ['local', false, 'none']);
  await assert.rejects(client.executeInKernel(session, { code: '1' }), { status: 409, code: 'KERNEL_MISSING' });
  await assert.rejects(client.executeInKernel('f-nowhere', { code: '1' }), { status: 404 });
  await assert.rejects(client.recoverSession(session, { action: 'restart_fresh', confirmed: true }), {
    code: 'NOT_QUARANTINED',
  });
  const made = await client.createCheckpoint(session, { reason: 'here' }, { key: 'k' });
  assert.deepEqual(await client.createCheckpoint(session, { reason: 'here' }, { key: 'k' }), made);
  await assert.rejects(client.createCheckpoint(session, { reason: 'x', expected_head: null }), {
    code: 'CHECKPOINT_HEAD_MOVED',
  });
  assert.deepEqual(await client.removeSession(session), { ok: true });
  await assert.rejects(client.showSession(session), { status: 404 });
});

check('an import that is sent again under its key is answered as before, and made once', async (t) => {
  const world = await openWorld(t);
  const client = await world.client(['agent']);
  const bytes = Uint8Array.from(oracle('a-minimal'));
  const first = await client.importSession(bytes, { key: 'once' });
  assert.deepEqual(await client.importSession(bytes, { key: 'once' }), first);
  const other = Uint8Array.from(oracle('a2-empty'));
  await assert.rejects(client.importSession(other, { key: 'once' }), { code: 'IDEMPOTENCY_CONFLICT' });
  const second = await client.importSession(bytes);
  assert.notEqual(second.root_frame_id, first.root_frame_id);
  assert.equal((await client.listSessions()).sessions.length, 2);
});

check('what is refused leaves nothing: no project, no session, no file', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const client = await world.client(['agent']);
  const before = await client.listProjects();
  for (const bytes of [
    Buffer.from('no zip at all, just a line of text'),
    zip([{ name: 'x' }]),
    oracle('h2-case-twins'),
  ]) {
    const { status, text } = await sendBytes(world, PATH, token, bytes);
    assert.equal(status, 400, text);
    assert.ok(!text.includes(world.dataDir));
  }
  assert.deepEqual(await client.listProjects(), before);
  assert.deepEqual((await client.listSessions()).sessions, []);
  assert.deepEqual(staged(world), []);
  assert.ok(!existsSync(join(world.dataDir, 'session-imports')));
});

check('what was imported is of the tenant that sent it, and of nobody else', async (t) => {
  const world = await openWorld(t);
  const { root_frame_id: root } = await imported(world);
  const other = await world.client(['agent', 'approver', 'admin'], { tenant: 'other' });
  const absent = { status: 404, code: 'SESSION_NOT_FOUND' };
  await assert.rejects(other.showKernel(root), absent);
  await assert.rejects(other.exportSession(root), absent);
  await assert.rejects(other.recoverSession(root, { action: 'restart_fresh', confirmed: true }), absent);
  await assert.rejects(other.sendMessage(root, { content: 'go' }), absent);
  await assert.rejects(other.removeSession(root), absent);
  const theirs = await other.importSession(Uint8Array.from(oracle('a-minimal')));
  assert.deepEqual(
    (await other.listSessions()).sessions.map((one) => one.session_id),
    [theirs.root_frame_id],
  );
  assert.equal((await (await world.client(['agent'])).listSessions()).sessions.length, 1);
});
