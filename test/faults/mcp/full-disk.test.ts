import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { assert, check, installedCommand, temporaryFolder } from '../../support/index.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SERVER = join(ROOT, 'test', 'fixtures', 'mcp', 'guarded-server.ts');
const COMMAND = installedCommand();
const POLICY = {
  version: 1,
  name: 'full',
  revision: '1',
  server: 'world',
  tools: { read: { effect: 'read' }, write: { effect: 'once' } },
  rules: [{ id: 'all', tools: ['read', 'write'], decision: 'allow' }],
};
const CALLS = 40;

interface Told {
  readonly isError?: boolean;
  readonly _meta?: { readonly 'holdfast/outcome': { readonly outcome: string; readonly code: string } };
}

check('on a disk with a real limit a write that cannot be written down is not run, and is told so', async (t) => {
  const home = await temporaryFolder(t);
  writeFileSync(join(home, 'policy.json'), JSON.stringify(POLICY));
  const server = [process.execPath, SERVER, join(home, 'world.jsonl')];
  const options = ['--policy', join(home, 'policy.json'), '--data-dir', join(home, 'data')];
  const guard = [process.execPath, COMMAND, 'mcp', ...options, '--', ...server];
  const child = spawn('bash', ['-c', `trap '' XFSZ; ulimit -f 4000; exec "$@"`, 'bash', ...guard], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.after(() => child.kill('SIGKILL'));
  const gone = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const call = async (name: string, id: number, filler: string): Promise<Told> => {
    const params = { name, arguments: { id, filler } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    const { value } = (await lines.next()) as { value: string };
    return (JSON.parse(value) as { result: Told }).result;
  };
  const told = new Map<number, string>();
  for (let id = 0; id < CALLS; id += 1) {
    const { isError, _meta } = await call('write', id, 'x'.repeat(60_000));
    told.set(id, isError === true ? (_meta?.['holdfast/outcome'].outcome ?? 'an error') : 'done');
  }
  assert.notEqual((await call('read', CALLS, '')).isError, true, 'a read needs no record before it');
  child.stdin.end();
  await gone;
  const world = existsSync(join(home, 'world.jsonl')) ? readFileSync(join(home, 'world.jsonl'), 'utf8') : '';
  const happened = (id: number): number => world.split(`"id":${id},`).length - 1;
  const all = [...told.values()];
  assert.ok(all.includes('done') && all.includes('not_started'), all.join(' '));
  assert.deepEqual(
    all.filter((one) => one !== 'done' && one !== 'not_started' && one !== 'unknown'),
    [],
  );
  for (const [id, outcome] of told) {
    if (outcome === 'not_started') assert.equal(happened(id), 0, `call ${id}`);
    else assert.equal(happened(id), 1, `call ${id} was told as ${outcome}`);
  }
});

check('a data folder that cannot be written starts neither guard nor server', async (t) => {
  const home = await temporaryFolder(t);
  writeFileSync(join(home, 'policy.json'), JSON.stringify(POLICY));
  const started = join(home, 'started');
  const server = ['bash', '-c', `touch ${started}; cat`];
  const options = ['--policy', join(home, 'policy.json'), '--data-dir', '/proc/holdfast-data'];
  const child = spawn(process.execPath, [COMMAND, 'mcp', ...options, '--', ...server], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 2, said);
  assert.match(said, /[A-Z_]{6,}/);
  assert.equal(existsSync(started), false);
});
