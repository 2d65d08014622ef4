import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

const secret = 'a secret of the receiver';
const asking = () => ({
  model: callsThenDone([{ note: 'my secret note' }]),
  tools: [noteTool({ needsApproval: true })],
});

interface Got {
  readonly body: string;
  readonly signature: string;
}

/** A receiver on a real socket that answers these statuses one after the other, the last one for ever. */
async function receiver(t: TestContext, ...statuses: readonly number[]) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => void (body += text));
    request.on('end', () => {
      got.push({ body, signature: String(request.headers['holdfast-signature']) });
      const status = statuses[got.length - 1] ?? statuses.at(-1) ?? 200;
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 400 && !holds(); i += 1) await sleep(25);
  assert.ok(holds(), 'it came in time');
}

check('a webhook is told once, signed, without the arguments, and again after failures', async (t) => {
  const { got, url } = await receiver(t, 500, 302, 200);
  const { holdfast } = await openDesk(t, { notices: { webhook: { url, secret }, pauseMs: 5 } });
  const run = await holdfast.agent(asking()).run('go');
  await until(() => got.length === 3);
  await sleep(300);
  assert.equal(got.length, 3);
  for (const { body, signature } of got) {
    const [, seconds, hex] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
    assert.equal(hex, createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'));
    const notice = JSON.parse(body) as Record<string, unknown>;
    assert.equal(notice['request_id'], run.pending[0]?.requestId);
    assert.equal(notice['run_id'], run.id);
    assert.doesNotMatch(body, /secret note/);
  }
});

const addNotice = `INSERT INTO notices (request_id, hook, state, due_at) VALUES (?, ?, 'due', 1)`;

check(
  'what is left to tell by a hook that is no longer named, or of another tenant, is left and keeps nothing',
  async (t) => {
    const principal = { tenant: 'other', subject: 'somebody', roles: ['approver'] };
    const other = await openDesk(t, { principal, projectId: 'theirs' });
    const theirs = await other.holdfast.agent(asking()).run('go');
    const db = new DatabaseSync(join(other.dataDir, 'holdfast.db'));
    t.after(() => db.close());
    const add = db.prepare(addNotice);
    for (let i = 0; i < 20; i += 1) add.run(`request-${i}`, 'command');
    const requestId = theirs.pending[0]?.requestId ?? '';
    add.run(requestId, 'webhook');
    const { got, url } = await receiver(t, 200);
    const { holdfast } = await openDesk(t, { dataDir: other.dataDir, notices: { webhook: { url, secret } } });
    const own = await holdfast.agent(asking()).run('go');
    await until(() => got.length > 0);
    assert.deepEqual(
      got.map(({ body }) => (JSON.parse(body) as { request_id: string }).request_id),
      [own.pending[0]?.requestId],
    );
    const left = db.prepare(`SELECT count(*) AS rows FROM notices WHERE state = 'due' AND hook = ?`);
    assert.equal(left.get('command')?.['rows'], 20);
    const theirsLeft = db.prepare(`SELECT state FROM notices WHERE request_id = ?`).get(requestId);
    assert.deepEqual(theirsLeft?.['state'], 'due', 'only a process of their tenant can tell it');
  },
);

check('a notice of a damaged request is given up as one is that nobody takes', async (t) => {
  const { got, url } = await receiver(t, 200);
  const notices = { webhook: { url, secret }, attempts: 2, pauseMs: 1 };
  const waiting = await openDesk(t);
  const telling = await openDesk(t, { dataDir: waiting.dataDir, notices });
  const run = await waiting.holdfast.agent({ ...asking(), name: 'damaged' }).run('go');
  const db = new DatabaseSync(join(telling.dataDir, 'holdfast.db'));
  t.after(() => db.close());
  const state = () => db.prepare('SELECT state FROM notices').get()?.['state'];
  // It is received before it is written down as told.
  await until(() => state() === 'told');
  db.exec('DROP TRIGGER trg_permission_action_immutable');
  const tamper = `UPDATE permission_requests SET canonical_arguments = '{"note":"other"}' WHERE decision_id = ?`;
  const requestId = run.pending[0]?.requestId ?? '';
  db.prepare(tamper).run(requestId);
  db.prepare(`UPDATE notices SET state = 'due', attempts = 0, due_at = 1`).run();
  await until(() => state() === 'given_up');
  assert.equal(got.length, 1);
});

check('a webhook that never answers well is given up, and the run waits on', async (t) => {
  const { got, url } = await receiver(t, 503);
  const { holdfast } = await openDesk(t, { notices: { webhook: { url, secret }, attempts: 3, pauseMs: 1 } });
  const run = await holdfast.agent(asking()).run('go');
  await until(() => got.length === 3);
  await sleep(300);
  assert.equal(got.length, 3);
  assert.equal((await run.refresh()).status, 'waiting_confirmation');
});

check(
  'what waited before the process began is told by one of two processes, and what was decided is not',
  async (t) => {
    const { got, url } = await receiver(t, 200);
    const { holdfast, dataDir } = await openDesk(t);
    const agent = holdfast.agent(asking());
    const first = await agent.run('go');
    const second = await agent.run('go');
    await first.reject(first.pending[0]);
    await holdfast.close();
    const notices = { webhook: { url, secret } };
    await Promise.all([openDesk(t, { dataDir, notices }), openDesk(t, { dataDir, notices })]);
    await until(() => got.length === 1);
    await sleep(400);
    assert.equal(got.length, 1);
    assert.match(got[0]?.body ?? '', new RegExp(second.pending[0]?.requestId ?? 'none'));
  },
);

check('a command gets the notice on its input, and no shell sees it', async (t) => {
  const file = join(await temporaryFolder(t), 'told.json');
  const script = `require('fs').writeFileSync(process.argv[1], require('fs').readFileSync(0))`;
  const { holdfast } = await openDesk(t, { notices: { command: [process.execPath, '-e', script, file] } });
  const run = await holdfast.agent(asking()).run('go');
  const read = (): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  };
  await until(() => read().endsWith('\n'));
  const notice = JSON.parse(read()) as Record<string, unknown>;
  assert.equal(notice['request_id'], run.pending[0]?.requestId);
});

check('a hook that cannot be one is refused at opening', async (t) => {
  for (const notices of [
    { webhook: { url: 'file:///etc/x', secret } },
    { webhook: { url: 'http://127.0.0.1/', secret: 'short' } },
    { command: [] },
    { command: ['true'], attempts: 0 },
    { command: ['true'], timeoutMs: 30_001 },
    { command: ['true'], pauseMs: -1 },
  ])
    await assert.rejects(openDesk(t, { notices }), { code: 'INVALID_VALUE' });
});

/** A receiver that takes requests and never answers, or answers for ever. */
async function hanging(t: TestContext, answer: 'nothing' | 'a flood') {
  let asked = 0;
  let closed = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.socket.once('close', () => void (closed += 1));
    if (answer === 'nothing') return;
    response.writeHead(200);
    const pour = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    };
    response.on('drain', pour);
    pour();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    asked: () => asked,
    closed: () => closed,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
  };
}

check('a webhook that hangs is broken off in time and tried again; it keeps no program waiting', async (t) => {
  const { asked, closed, url } = await hanging(t, 'nothing');
  const file = join(await temporaryFolder(t), 'told');
  const command = [process.execPath, '-e', `require('fs').appendFileSync(process.argv[1], 'x')`, file];
  const notices = { webhook: { url, secret }, command, timeoutMs: 1500, attempts: 2, pauseMs: 1 };
  const { holdfast } = await openDesk(t, { notices });
  await holdfast.agent(asking()).run('go');
  await until(() => readIfThere(file) === 'x');
  await until(() => asked() === 2);
  await until(() => closed() === 2);
  await sleep(300);
  assert.equal(asked(), 2, 'it was given up');
});

check('a webhook that answers for ever has told: nothing but the head of its answer is read', async (t) => {
  const { asked, closed, url } = await hanging(t, 'a flood');
  const { holdfast } = await openDesk(t, { notices: { webhook: { url, secret }, pauseMs: 1 } });
  await holdfast.agent(asking()).run('go');
  await until(() => asked() === 1);
  await until(() => closed() === 1);
  await sleep(300);
  assert.equal(asked(), 1);
});

check('a runtime that closes waits for no hook, and whoever opens next tells what was broken off', async (t) => {
  const { asked, url } = await hanging(t, 'nothing');
  const { holdfast, dataDir } = await openDesk(t, {
    notices: { webhook: { url, secret }, timeoutMs: 30_000, pauseMs: 1 },
  });
  const run = await holdfast.agent(asking()).run('go');
  await until(() => asked() === 1);
  const hangs = sleep(20_000, 'it hangs', { ref: false });
  assert.equal(await Promise.race([holdfast.close().then(() => 'closed'), hangs]), 'closed');
  assert.equal(asked(), 1);
  const { got, url: next } = await receiver(t, 200);
  await openDesk(t, { dataDir, notices: { webhook: { url: next, secret } } });
  await until(() => got.length === 1);
  assert.match(got[0]?.body ?? '', new RegExp(run.pending[0]?.requestId ?? 'none'));
});

const readIfThere = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

check(
  'a program that hangs and heeds no signal is killed and tried again; one that leaves another behind has told',
  async (t) => {
    const folder = await temporaryFolder(t);
    const tries = join(folder, 'tries');
    const stubborn = `process.on('SIGTERM', () => {}); require('fs').appendFileSync(process.argv[1], process.pid + ' ');
    setInterval(() => {}, 1000)`;
    const node = (script: string, file: string) => [process.execPath, '-e', script, file];
    const { holdfast } = await openDesk(t, {
      notices: { command: node(stubborn, tries), timeoutMs: 1000, attempts: 2, pauseMs: 1 },
    });
    await holdfast.agent(asking()).run('go');
    const pids = () => readIfThere(tries).split(' ').filter(Boolean).map(Number);
    await until(() => pids().length === 2);
    const alive = (pid: number): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await until(() => pids().every((pid) => !alive(pid)));
    await sleep(300);
    assert.equal(pids().length, 2, 'it was given up');
    const left = join(folder, 'left');
    const leaving = `require('fs').appendFileSync(process.argv[1], 'x');
    require('child_process').spawn('sleep', ['3'], { stdio: 'inherit', detached: true }).unref()`;
    const { holdfast: other, dataDir } = await openDesk(t, { notices: { command: node(leaving, left), pauseMs: 1 } });
    await other.agent(asking()).run('go');
    await until(() => readIfThere(left) === 'x');
    const db = new DatabaseSync(join(dataDir, 'holdfast.db'), { readOnly: true });
    const state = () => String(db.prepare('SELECT state FROM notices').get()?.['state']);
    await until(() => state() === 'told');
    db.close();
  },
);

check('a notice that processes break off as they end is no failure: it is told however often that was', async (t) => {
  const { asked, url } = await hanging(t, 'nothing');
  const notices = { webhook: { url, secret }, timeoutMs: 30_000, pauseMs: 1, attempts: 2 };
  const { holdfast, dataDir } = await openDesk(t, { notices });
  await holdfast.agent(asking()).run('go');
  await until(() => asked() === 1);
  await holdfast.close();
  for (const times of [2, 3, 4]) {
    const { holdfast: next } = await openDesk(t, { dataDir, notices });
    await until(() => asked() === times);
    await next.close();
  }
  const { got, url: well } = await receiver(t, 200);
  await openDesk(t, { dataDir, notices: { webhook: { url: well, secret } } });
  await until(() => got.length === 1);
});

check('a process that ends tells first what it leaves waiting, and waits for no more than one try', async (t) => {
  const { got, url } = await receiver(t, 503, 503, 200);
  const { holdfast } = await openDesk(t, { notices: { webhook: { url, secret }, pauseMs: 3_600_000 } });
  const agent = holdfast.agent(asking());
  for (const times of [1, 2, 3]) {
    await agent.run('go');
    await holdfast.runtime.tellWaiting();
    assert.equal(got.length, times);
  }
  const { asked, url: slow } = await hanging(t, 'nothing');
  const other = await openDesk(t, { notices: { webhook: { url: slow, secret }, timeoutMs: 300 } });
  await other.holdfast.agent(asking()).run('go');
  const hangs = sleep(20_000, 'it hangs', { ref: false });
  assert.equal(await Promise.race([other.holdfast.runtime.tellWaiting().then(() => 'over'), hangs]), 'over');
  assert.equal(asked(), 1);
  const { holdfast: quiet } = await openDesk(t);
  await quiet.runtime.tellWaiting();
});
