import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { assert, check, installedCommand, temporaryFolder } from '../../support/index.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SERVER = join(ROOT, 'test', 'fixtures', 'mcp', 'guarded-server.ts');
const COMMAND = installedCommand();
const asked = {
  effect: 'reconcilable',
  status: {
    tool: 'find',
    arguments: { a: '/a' },
    happened: [{ at: '/json/orders/0', present: true }],
    not_happened: [{ at: '/json/orders/0', present: false }],
  },
};
const POLICY = {
  version: 1,
  name: 'kills',
  revision: '1',
  server: 'world',
  settle_tool: true,
  tools: { find: { effect: 'read' }, makes: asked, loses: asked },
  rules: [{ id: 'all', tools: ['find', 'makes', 'loses'], decision: 'allow' }],
};

interface Result {
  readonly isError?: boolean;
  readonly tools?: readonly { readonly name: string }[];
  readonly content?: readonly { readonly text: string }[];
  readonly _meta?: { readonly 'holdfast/outcome': { readonly outcome: string; readonly status_ref: string } };
}

/** One life of guard and server, as their host sees it. */
class Life {
  readonly child: ChildProcess;
  readonly gone: Promise<unknown>;
  readonly #answers: AsyncIterator<string>;

  constructor(home: string) {
    const server = [process.execPath, SERVER, join(home, 'world.jsonl')];
    const options = ['--policy', join(home, 'policy.json'), '--data-dir', join(home, 'data')];
    this.child = spawn(process.execPath, [COMMAND, 'mcp', ...options, '--', ...server], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.gone = once(this.child, 'close');
    assert.ok(this.child.stdout);
    this.#answers = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  ask(method: string, params: object): void {
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`);
  }

  async answer(): Promise<Result> {
    const { value } = (await this.#answers.next()) as { value: string };
    return (JSON.parse(value) as { result: Result }).result;
  }

  call(name: string, args: object): Promise<Result> {
    this.ask('tools/call', { name, arguments: args });
    return this.answer();
  }

  killServer(): void {
    const { pid } = this.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    for (const one of children) process.kill(Number(one), 'SIGKILL');
  }
}

for (const [tool, words, outcome] of [
  ['makes', /^DONE/, 'done'],
  ['loses', /^OUTCOME UNKNOWN .*has not happened yet/, 'unknown'],
] as const)
  check(`a server killed in ${tool}: the host is told unknown, starts anew, and asks what became of it`, async (t) => {
    const home = await temporaryFolder(t);
    writeFileSync(join(home, 'policy.json'), JSON.stringify(POLICY));
    const effects = (): number =>
      existsSync(join(home, 'world.jsonl'))
        ? readFileSync(join(home, 'world.jsonl'), 'utf8').split('\n').length - 1
        : 0;
    const first = new Life(home);
    t.after(() => first.child.kill('SIGKILL'));
    first.ask('tools/list', {});
    assert.equal((await first.answer()).tools?.[0]?.name, 'holdfast_settle');
    first.ask('tools/call', { name: tool, arguments: { a: 7 } });
    for (let waited = 0; tool === 'makes' && effects() === 0 && waited < 500; waited += 1) await pause(20);
    if (tool === 'loses') await pause(500);
    first.killServer();
    const lost = await first.answer();
    const about = lost._meta?.['holdfast/outcome'];
    assert.deepEqual([lost.isError, about?.outcome], [true, 'unknown']);
    await first.gone;

    const second = new Life(home);
    t.after(() => second.child.kill('SIGKILL'));
    const settled = await second.call('holdfast_settle', { status_ref: about?.status_ref });
    assert.match(settled.content?.[0]?.text ?? '', words);
    assert.equal(settled._meta?.['holdfast/outcome'].outcome, outcome);
    assert.equal(effects(), tool === 'makes' ? 1 : 0);
    second.child.stdin?.end();
    await second.gone;
  });
