import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { HoldfastClient } from '../../src/client/index.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check } from '../support/index.ts';
import { configuredFolder, LETTER_AGENT } from '../support/configured-folder.ts';

const COMMAND = join(ROOT, 'bin', 'holdfast.js');

interface Served {
  readonly folder: string;
  readonly url: string;
  /** The first token, null where there was one already. */
  readonly token: string | null;
  /** Sends the signal and gives the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
  readonly log: () => string;
}

/** The real `holdfast serve` on a free port, in a folder of its own. */
async function served(t: TestContext, folder: string): Promise<Served> {
  const child = spawn(process.execPath, [COMMAND, 'serve', '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const exited = once(child, 'exit');
  let said = '';
  for await (const part of child.stdout.setEncoding('utf8')) {
    said += String(part);
    if (said.includes('\n')) break;
  }
  const { url, token } = JSON.parse(said) as { url: string; token: string | null };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
  return { folder, url, token, stop, log: () => log };
}

async function untilPending(client: HoldfastClient) {
  for (;;) {
    const [request] = (await client.listApprovals()).requests;
    if (request) return request;
    await new Promise((settle) => setTimeout(settle, 20));
  }
}

async function untilEnded(client: HoldfastClient, runId: string) {
  for (;;) {
    const run = await client.showRun(runId);
    if (run.status !== 'running' && run.status !== 'waiting_confirmation') return run;
    await new Promise((settle) => setTimeout(settle, 20));
  }
}

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

/** The `curl` commands of a document, each on one line. */
function curlCommands(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8').replace(/\\\n\s*/g, '');
  return text.split('\n').filter((line) => line.startsWith('curl '));
}

for (const document of ['README.md', 'docs/gateway.md'])
  check(`${document}: its curl lines run as they stand, from the first token to a finished run`, async (t) => {
    const { folder } = await configuredFolder(t, LETTER_AGENT);
    const { url, token } = await served(t, folder);
    const owner = new HoldfastClient({ url, token: token ?? '' });
    const env: Record<string, string> = { ...process.env, HOLDFAST: url, OWNER: token ?? '' } as Record<string, string>;
    const answers: string[] = [];
    for (const command of curlCommands(document)) {
      // The reader fills in what the answers before gave.
      if (command.includes('$REQUEST')) {
        const request = await untilPending(owner);
        Object.assign(env, { REQUEST: request.decision_id, DIGEST: request.digest });
      }
      if (command.includes('$RUN')) await untilEnded(owner, env['RUN'] ?? '');
      const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8', timeout: 30_000 });
      // A stream is read for a second, and curl then ends with 28.
      assert.equal(status, command.includes('--max-time') ? 28 : 0, `${command}: ${stderr}`);
      assert.ok(!stdout.startsWith('{"error"'), `${command}: ${stdout}`);
      answers.push(stdout);
      const { token: agent, run_id: run } = stdout.startsWith('{')
        ? (JSON.parse(stdout) as { token?: string; run_id?: string })
        : {};
      if (agent) env['AGENT'] = agent;
      if (run) env['RUN'] = run;
    }
    assert.ok(answers.length >= 5);
    assert.ok(answers.some((answer) => answer.includes('"status":"completed"')));
    assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
  });
