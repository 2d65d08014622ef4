import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastClient } from '../../src/client/index.ts';
import { assert, check } from '../support/index.ts';
import { configuredFolder, LETTER_AGENT } from '../support/configured-folder.ts';
import { endLeases } from '../support/leases.ts';
import { runCurlLines, type Served, served, untilEnded, untilPending } from './served.ts';

check('serve shows the first token once, serves, and ends with 0 when it is told to stop', async (t) => {
  const { folder } = await configuredFolder(t, LETTER_AGENT);
  const first = await served(t, folder);
  assert.match(first.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const owner = new HoldfastClient({ url: first.url, token: first.token ?? '' });
  assert.deepEqual((await owner.principal()).roles, ['approver', 'admin']);
  assert.equal(await first.stop('SIGINT'), 0);
  const again = await served(t, folder);
  assert.equal(again.token, null);
  const known = new HoldfastClient({ url: again.url, token: first.token ?? '' });
  assert.equal((await known.principal()).subject, 'owner');
  assert.equal(await again.stop(), 0);
  assert.ok(!(first.log() + again.log()).includes((first.token ?? 'none').slice(-43)));
});

check('a run that one process began is approved over HTTP in another, which carries it out', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const run = await json('run', 'Write to Ada.');
  assert.equal(run.exit, 3);
  const { url, token } = await served(t, folder);
  const owner = new HoldfastClient({ url, token: token ?? '' });
  const request = await untilPending(owner);
  const decided = await owner.decide(request.decision_id, { decision: 'approve', digest: request.digest });
  assert.equal(decided.run_continues, true);
  const done = await untilEnded(owner, request.run_id ?? '');
  assert.deepEqual([done.status, done.calls[0]?.outcome], ['completed', 'done']);
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
});

check('a run that waits in serve goes on when the command approves it in another process', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const before = await json('run', 'Write to Ada.');
  const [early] = before.document['pending'] as string[];
  const { document: shown } = await json('approvals', 'show', early ?? '');
  await json('approvals', 'approve', early ?? '', '--digest', String(shown['digest']));
  const { url, token } = await served(t, folder);
  const owner = new HoldfastClient({ url, token: token ?? '' });
  // Decided while nobody was there to carry it on: serve does so when it opens.
  const first = await untilEnded(owner, String(before.document['run_id']));
  assert.equal(first.status, 'completed');
  const { token: text } = await owner.createToken({ subject: 'writer', roles: ['agent'] });
  const writer = new HoldfastClient({ url, token: text ?? '' });
  const { run_id: runId } = await writer.startRun({ agent: 'agent', task: 'Write to Ada.' });
  const { decision_id: requestId, digest } = await untilPending(owner);
  const approved = await json('approvals', 'approve', requestId, '--digest', digest);
  assert.equal(approved.exit, 0);
  assert.equal((await untilEnded(owner, runId)).status, 'completed');
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\nAda\n');
});

for (const document of ['README.md', 'docs/gateway.md'])
  check(`${document}: its curl lines run as they stand, from the first token to a finished run`, async (t) => {
    const { folder } = await configuredFolder(t, LETTER_AGENT);
    await runCurlLines(document, await served(t, folder));
    assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
  });

/** Of a `serve` that is to see soon that it was taken for dead. Milliseconds. */
const LEASE_MS = 3_000;

function leaseShortly(folder: string): void {
  const file = join(folder, 'holdfast.config.ts');
  writeFileSync(file, readFileSync(file, 'utf8').replace('({ agents', `({ instanceLeaseMs: ${LEASE_MS}, agents`));
}

/** Whoever was stopped in the middle of a commit keeps everybody else from writing. */
function somebodyWrites(folder: string): boolean {
  const db = new DatabaseSync(join(folder, '.holdfast', 'holdfast.db'), { timeout: 200 });
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch {
    return true;
  } finally {
    db.close();
  }
}

/** Stops a `serve` until its lease has ended, and wakes it once `meanwhile` is done. */
async function slept({ folder, send }: Served, meanwhile: () => Promise<unknown>): Promise<void> {
  for (send('SIGSTOP'); somebodyWrites(folder); send('SIGSTOP')) {
    send('SIGCONT');
    await sleep(20);
  }
  endLeases(join(folder, '.holdfast'));
  await meanwhile();
  send('SIGCONT');
}

/** The first answer at this address that is not a refusal for the time being. */
async function once<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1)
    try {
      return await ask();
    } catch (error) {
      if (tries === 200) throw error;
      await sleep(50);
    }
}

check(
  'a serve that slept longer than its lease says so and goes on as another: what was decided is carried on',
  async (t) => {
    const { folder, json } = await configuredFolder(t, LETTER_AGENT);
    leaseShortly(folder);
    const serve = await served(t, folder);
    const owner = new HoldfastClient({ url: serve.url, token: serve.token ?? '' });
    const run = await json('run', 'Write to Ada.');
    const [waiting = ''] = run.document['pending'] as string[];
    const { document: shown } = await json('approvals', 'show', waiting);
    await slept(serve, async () => {
      assert.equal((await json('approvals', 'approve', waiting, '--digest', String(shown['digest']))).exit, 0);
    });
    for (;;) {
      const { status } = await once(() => owner.showRun(String(run.document['run_id'])));
      if (status === 'completed') break;
      await sleep(20);
    }
    assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
    assert.match(serve.log(), /"serve\.taken_for_dead"/);
    assert.match(serve.log(), /"serve\.came_back"/);
    const { token } = await once(() => owner.createToken({ subject: 'writer', roles: ['agent'] }));
    const writer = new HoldfastClient({ url: serve.url, token: token ?? '' });
    assert.match((await once(() => writer.startRun({ task: 'Write to Ada.' }))).run_id, /^[0-9a-f]{32}$/);
    assert.equal(await serve.stop(), 0);
  },
);

for (const other of ['nobody', 'another process'] as const)
  check(
    `a call under way in a serve that slept is unknown when it wakes, where ${other} let go of its run`,
    async (t) => {
      const agent = LETTER_AGENT.replace('needsApproval: true', 'needsApproval: false')
        .replace('execute: (', 'execute: async (')
        .replace('return { posted: to };', 'await sleep(600_000); return {};');
      const { folder, json } = await configuredFolder(t, agent);
      leaseShortly(folder);
      const serve = await served(t, folder);
      const owner = new HoldfastClient({ url: serve.url, token: serve.token ?? '' });
      const { token } = await owner.createToken({ subject: 'writer', roles: ['agent'] });
      const writer = new HoldfastClient({ url: serve.url, token: token ?? '' });
      const { run_id: runId } = await writer.startRun({ task: 'Write to Ada.' });
      while (!existsSync(join(folder, 'letters.txt'))) await sleep(20);
      const view = async () => (await json('runs', 'show', runId)).document;
      let left: Awaited<ReturnType<typeof view>> | undefined;
      await slept(serve, async () => {
        if (other === 'another process') left = await view();
      });
      while (!serve.log().includes('"serve.came_back"')) await sleep(20);
      const shown = await view();
      assert.deepEqual([shown['status'], shown['outcome']], ['failed', 'unknown']);
      // The call's own process may still say why it does not know.
      if (left) assert.deepEqual({ ...shown, calls: [] }, { ...left, calls: [] }, 'what it did is left as it is');
      assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
      assert.equal((await json('audit')).exit, 0);
      assert.match((await once(() => writer.startRun({ task: 'Write to Ada.' }))).run_id, /^[0-9a-f]{32}$/);
    },
  );

/** Its model never answers the first time that it is asked, of which it leaves a file (`asked`). */
const SILENT_AT_FIRST = `const tools = []; const model = async () => {
    if (existsSync('asked')) return 'answered';
    writeFileSync('asked', '');
    return sleep(600_000, 'late');
  };`;

check(
  'a run whose model was answering when serve fell asleep is interrupted, not stopped, and can go on',
  async (t) => {
    const { folder, json } = await configuredFolder(t, SILENT_AT_FIRST);
    leaseShortly(folder);
    const serve = await served(t, folder);
    const owner = new HoldfastClient({ url: serve.url, token: serve.token ?? '' });
    const { run_id: runId } = await owner.startRun({ task: 'Say it.' });
    while (!existsSync(join(folder, 'asked'))) await sleep(20);
    await slept(serve, async () => undefined);
    while (!serve.log().includes('"serve.came_back"')) await sleep(20);
    const { document: shown } = await json('runs', 'show', runId);
    assert.deepEqual([shown['status'], shown['outcome']], ['running', 'interrupted']);
    await once(() => owner.resumeRun(runId));
    assert.equal((await untilEnded(owner, runId)).text, 'answered');
  },
);

check(
  'a run whose model is answering when serve is told to stop is interrupted, and the next serve goes on',
  async (t) => {
    const { folder, json } = await configuredFolder(t, SILENT_AT_FIRST);
    const first = await served(t, folder);
    const token = first.token ?? '';
    const { run_id: runId } = await new HoldfastClient({ url: first.url, token }).startRun({ task: 'Say it.' });
    while (!existsSync(join(folder, 'asked'))) await sleep(20);
    assert.equal(await first.stop('SIGTERM'), 0);
    const { document: shown } = await json('runs', 'show', runId);
    assert.deepEqual([shown['status'], shown['outcome']], ['running', 'interrupted']);
    const owner = new HoldfastClient({ url: (await served(t, folder)).url, token });
    await owner.resumeRun(runId);
    assert.equal((await untilEnded(owner, runId)).text, 'answered');
  },
);
