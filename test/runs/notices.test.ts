import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
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
  ])
    await assert.rejects(openDesk(t, { notices }), { code: 'INVALID_VALUE' });
});
