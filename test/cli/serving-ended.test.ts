import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { HoldfastClient } from '../../src/client/index.ts';
import {
  assert,
  check,
  configuredFolder,
  holdfast,
  installedCommand,
  LETTER_AGENT,
  temporaryFolder,
} from '../support/index.ts';

const SERVER = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'guarded-server.ts');

/** The command as a process that is watched; what it says is gathered, and can be waited for. */
function started(t: TestContext, cwd: string, args: readonly string[]) {
  const child = spawn(process.execPath, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const until = async (what: () => unknown): Promise<void> => {
    while (!what() && child.exitCode === null) await Promise.race([once(child.stdout, 'data'), ended]);
  };
  return { child, said, ended, until };
}

/** `serve` with an agent whose one tool does `work`; the run of it that was begun. */
async function servedTool(t: TestContext, work: string, ...options: string[]) {
  const agent = LETTER_AGENT.replace('needsApproval: true', 'needsApproval: false')
    .replace('execute: (', 'execute: async (')
    .replace('return { posted: to };', `${work} await sleep(20_000); return {};`);
  const { folder } = await configuredFolder(t, agent);
  const gateway = started(t, folder, [installedCommand(), 'serve', '--port', '0', '--quiet', ...options]);
  await gateway.until(() => /first token|"token"/.test(gateway.said.stdout));
  const [, url = '', token = ''] = /(http:[^\s"]+)\W+(?:token\W+)?([^\s"]+)/.exec(gateway.said.stdout) ?? [];
  const owner = new HoldfastClient({ url, token });
  const { token: text } = await owner.createToken({ subject: 'writer', roles: ['agent'] });
  const { run_id: runId } = await new HoldfastClient({ url, token: text ?? '' }).startRun({ task: 'Write to Ada.' });
  return { ...gateway, folder, runId };
}

check('an error outside any call ends serve by a code, with its runs and what shows their unknown calls', async (t) => {
  const thrown = "setInterval(() => { throw new RangeError('in /some/where'); }, 1);";
  const { said, ended, folder, runId } = await servedTool(t, thrown);
  assert.equal(await ended, 1);
  assert.match(said.stderr, /^SERVING_ENDED: An error outside any call \(RangeError\) ended the gateway\. /m);
  assert.ok(said.stderr.includes(`It carried out: ${runId}. What had started is unknown until it is known.`));
  assert.match(said.stderr, /holdfast operations list --open\. Then start it again: holdfast serve /);
  assert.doesNotMatch(said.stderr, /UNEXPECTED|some.where|before its time/);
  const { stdout } = await holdfast(['operations', 'list', '--open'], { cwd: folder });
  assert.match(stdout, /post/);
});

check('with --json, serve that is ended is one more document on standard error: the answer was given', async (t) => {
  for (const work of ["setInterval(() => { throw new RangeError('x'); }, 1);", 'process.exit(0);']) {
    const { said, ended } = await servedTool(t, work, '--json');
    assert.equal(await ended, 1);
    assert.deepEqual(Object.keys(JSON.parse(said.stdout) as object), ['url', 'token']);
    const { error } = JSON.parse(said.stderr) as { error: { code: string } };
    assert.equal(error.code, 'SERVING_ENDED');
  }
});

check('a tool that ends serve by its exit never makes it exit with 0, and what may be unknown is told', async (t) => {
  const { said, ended } = await servedTool(t, 'process.exit(0);');
  assert.equal(await ended, 1);
  assert.match(said.stderr, /unknown until it is known: holdfast operations list --open$/m);
});

check('an error outside any call ends a guard by its code, and its host reads nothing but the protocol', async (t) => {
  const home = await temporaryFolder(t);
  const rules = [{ id: 'all', tools: ['hangs', 'write'], decision: 'allow' }];
  const policy = { version: 1, name: 'p', revision: '1', server: 'world', rules };
  writeFileSync(join(home, 'holdfast.policy.json'), JSON.stringify(policy));
  writeFileSync(
    join(home, 'throws.mjs'),
    "process.on('SIGUSR2', () => setTimeout(() => { throw new RangeError('in /some/where'); }));",
  );
  const guard = ['mcp', '--json', '--', process.execPath, SERVER, join(home, 'world.jsonl')];
  const args = ['--import', join(home, 'throws.mjs'), installedCommand(), ...guard];
  const { child, said, ended, until } = started(t, home, args);
  const call = (id: number, name: string): void => {
    const params = { name, arguments: { id } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
  };
  call(1, 'hangs');
  call(2, 'write');
  await until(() => said.stdout.includes('\n'));
  child.kill('SIGUSR2');
  assert.equal(await ended, 1);
  assert.match(said.stderr, /^SERVING_ENDED: .*\(RangeError\) ended the guard\. It carried out: [0-9a-f]{32}\. /m);
  assert.match(said.stderr, /holdfast operations list --open\. Then start it again/);
  assert.doesNotMatch(said.stderr, /UNEXPECTED|some.where/);
  for (const line of said.stdout.trim().split('\n'))
    assert.equal((JSON.parse(line) as { jsonrpc?: string }).jsonrpc, '2.0');
  const { stdout } = await holdfast(['operations', 'list', '--open'], { cwd: home });
  assert.match(stdout, /hangs/);
});
