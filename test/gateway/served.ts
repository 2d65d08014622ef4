import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastClient } from '../../src/client/index.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, type Ending, installedCommand } from '../support/index.ts';

export const COMMAND = installedCommand();

export interface Served {
  readonly folder: string;
  readonly url: string;
  /** The first token, null where there was one already. */
  readonly token: string | null;
  /** Sends the signal and gives the exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
  /** Sends the signal and waits for nothing. */
  readonly send: (signal: NodeJS.Signals) => void;
  readonly log: () => string;
}

/** The real `holdfast serve` on a free port, in a folder of its own. */
export async function served(t: Ending, folder: string, command: string = COMMAND): Promise<Served> {
  const child = spawn(process.execPath, [command, 'serve', '--port', '0', '--json'], {
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
  assert.notEqual(said, '', log);
  const { url, token } = JSON.parse(said) as { url: string; token: string | null };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
  return { folder, url, token, stop, send: (signal) => void child.kill(signal), log: () => log };
}

export async function untilPending(client: HoldfastClient) {
  for (;;) {
    const [request] = (await client.listApprovals()).requests;
    if (request) return request;
    await new Promise((settle) => setTimeout(settle, 20));
  }
}

export async function untilEnded(client: HoldfastClient, runId: string) {
  for (;;) {
    const run = await client.showRun(runId);
    if (run.status !== 'running' && run.status !== 'waiting_confirmation') return run;
    await new Promise((settle) => setTimeout(settle, 20));
  }
}

/** The `curl` commands of a document, each on one line. */
function curlCommands(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8').replace(/\\\n\s*/g, '');
  return text.split('\n').filter((line) => line.startsWith('curl '));
}

/** Runs a document's `curl` lines as they stand, as a reader does who fills in what the answers before gave. */
export async function runCurlLines(document: string, { url, token }: Served): Promise<readonly string[]> {
  const owner = new HoldfastClient({ url, token: token ?? '' });
  const env: Record<string, string> = { ...process.env, HOLDFAST: url, OWNER: token ?? '' } as Record<string, string>;
  const answers: string[] = [];
  for (const command of curlCommands(document)) {
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
  return answers;
}
