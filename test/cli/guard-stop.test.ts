import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assert, check, holdfast, installedCommand, temporaryFolder } from '../support/index.ts';

const POLICY = {
  version: 1,
  name: 'stop',
  revision: '1',
  server: 'world',
  tools: { write: { effect: 'once' } },
  rules: [{ id: 'writes', tools: ['write'], decision: 'allow' }],
};

/** A server that writes a line for each call, and answers so much later. */
const slowServer = (answersAfterMs: number): string => `
  const { appendFileSync } = require('node:fs');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (method !== 'tools/call') return;
    appendFileSync('world.txt', id + '\\n');
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'written' }] } });
    setTimeout(() => console.log(answer), ${answersAfterMs});
  });
`;

interface Guarded {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** What the host was told. */
  readonly told: () => string;
  /** What became of each call, by the ledger. */
  readonly outcomes: () => Promise<readonly unknown[]>;
}

/** A guard with one call under way, which its server has received. */
async function guardedInCall(t: TestContext, answersAfterMs: number): Promise<Guarded> {
  const home = await temporaryFolder(t);
  writeFileSync(join(home, 'holdfast.policy.json'), JSON.stringify(POLICY));
  const server = [process.execPath, '-e', slowServer(answersAfterMs)];
  const child = spawn(process.execPath, [installedCommand(), 'mcp', '--', ...server], { cwd: home });
  t.after(() => void child.kill('SIGKILL'));
  let told = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (told += text));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const params = { name: 'write', arguments: { k: 1 } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
  while (!existsSync(join(home, 'world.txt'))) await sleep(10);
  const outcomes = async (): Promise<readonly unknown[]> => {
    const { stdout } = await holdfast(['operations', 'list', '--json'], { cwd: home });
    return (JSON.parse(stdout) as { operations: { outcome: string }[] }).operations.map(({ outcome }) => outcome);
  };
  return { child, ended, told: () => told, outcomes };
}

check('a guard that is told to end keeps what a call under way answers, and its host hears it', async (t) => {
  const { child, ended, told, outcomes } = await guardedInCall(t, 700);
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  assert.match(told(), /written/);
  assert.deepEqual(await outcomes(), ['done']);
});

for (const [how, ask] of [
  ['a second signal', (child: ChildProcess) => void child.kill('SIGTERM')],
  ['a signal after its host has gone', (child: ChildProcess) => void child.stdin?.end()],
] as const)
  check(`${how} ends a guard at once, and the call under way is unknown`, async (t) => {
    const { child, ended, told, outcomes } = await guardedInCall(t, 60_000);
    ask(child);
    await sleep(300);
    assert.equal(child.exitCode, null);
    child.kill('SIGINT');
    assert.equal(await ended, 1);
    assert.equal(told(), '');
    assert.deepEqual(await outcomes(), ['unknown']);
  });
