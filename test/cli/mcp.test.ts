import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { assert, check, holdfast, installedCommand, temporaryFolder } from '../support/index.ts';

const FILES = join(
  import.meta.dirname,
  '..',
  '..',
  'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
);

check('a policy is written from a server, and tested call by call', async (t) => {
  const home = await temporaryFolder(t);
  const cwd = { cwd: home };
  const init = [
    'mcp',
    'init',
    '--name',
    'files',
    '--preset',
    'filesystem',
    '--root',
    home,
    '--',
    process.execPath,
    FILES,
    home,
  ];
  const made = await holdfast(init, cwd);
  assert.equal(made.exit, 0, made.stderr);
  assert.match(made.stdout, /Wrote holdfast\.policy\.json for \d+ tools/);
  const again = await holdfast(init, cwd);
  assert.equal(again.exit, 2, 'a file that is there is never overwritten');
  const test = (call: object | string) =>
    holdfast(['policy', 'test', typeof call === 'string' ? call : JSON.stringify(call)], cwd);
  const read = await test({ name: 'read_text_file', arguments: { path: 'a' } });
  assert.deepEqual([read.exit, read.stdout.split('\n')[0]], [0, 'read_text_file: passes at once']);
  assert.equal((await test({ name: 'write_file', arguments: { path: 'a', content: '' } })).exit, 3);
  assert.equal((await test({ name: 'write_file', arguments: { path: '../a', content: '' } })).exit, 1);
  writeFileSync(join(home, 'call.json'), '{"name":"anything"}');
  const json = await holdfast(['policy', 'test', '@call.json', '--json'], cwd);
  assert.deepEqual([json.exit, (JSON.parse(json.stdout) as { described: boolean }).described], [3, false]);
  assert.equal((await test('not json')).exit, 2);
  writeFileSync(
    join(home, 'holdfast.policy.json'),
    readFileSync(join(home, 'holdfast.policy.json'), 'utf8').replace('"mode"', '"mood"'),
  );
  const wrong = await test({ name: 'x' });
  assert.equal(wrong.exit, 2);
  assert.match(wrong.stderr, /POLICY_INVALID/);
});

check('a guard without a policy, or in front of nothing, does not start', async (t) => {
  const home = await temporaryFolder(t);
  const none = await holdfast(['mcp', '--', 'true'], { cwd: home });
  assert.equal(none.exit, 2);
  assert.match(none.stderr, /^FILE_MISSING: [^]*what resolves it: .*holdfast mcp init/m);
  const asked = await holdfast(['policy', 'test', '{"name":"x"}'], { cwd: home });
  assert.match(asked.stderr, /^FILE_MISSING: [^]*what resolves it: .*holdfast mcp init/m);
  writeFileSync(join(home, 'holdfast.policy.json'), '{"version":1,"name":"p","revision":"1","server":"s"}');
  const gone = await holdfast(['mcp', '--', join(home, 'no-such-command')], { cwd: home });
  assert.equal(gone.exit, 2);
  assert.match(gone.stderr, /MCP_CONNECT_FAILED/);
  const ended = await holdfast(['mcp', '--', process.execPath, '-e', 'process.exit(3)'], { cwd: home });
  assert.equal(ended.exit, 1);
  assert.equal(ended.stdout, '');
});

check('the policy of a guard is found under either of its options, and not under two that differ', async (t) => {
  const home = await temporaryFolder(t);
  writeFileSync(join(home, 'mine.json'), '{"version":1,"name":"p","revision":"1","server":"s"}');
  const guard = (...options: string[]) =>
    holdfast(['mcp', ...options, '--', process.execPath, '-e', 'process.exit(3)'], { cwd: home });
  for (const option of ['--policy', '--config']) assert.equal((await guard(option, 'mine.json')).exit, 1);
  const two = await guard('--policy', 'mine.json', '--config', 'other.json');
  assert.equal(two.exit, 2);
  assert.match(two.stderr, /INVALID_VALUE.*once/);
});

check('the guard in front of an address listens on this machine until it is told to end', async (t) => {
  const home = await temporaryFolder(t);
  const server = createServer((_request, response) => void response.end('{"jsonrpc":"2.0","id":1,"result":{}}'));
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  writeFileSync(join(home, 'holdfast.policy.json'), '{"version":1,"name":"p","revision":"1","server":"s"}');
  const command = installedCommand();
  const child = spawn(process.execPath, [command, 'mcp', '--url', url, '--listen', '0'], { cwd: home });
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  t.after(() => {
    child.kill('SIGKILL');
    server.close();
  });
  let said = '';
  const address = await new Promise<string>((ready) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = /listening on (\S+)\n/.exec(said)?.[1];
      if (found !== undefined) ready(found);
    });
  });
  const answer = await fetch(address, { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  assert.equal(await answer.text(), '{"jsonrpc":"2.0","id":1,"result":{}}');
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  const taken = (server.address() as AddressInfo).port;
  const port = await holdfast(['mcp', '--url', url, '--listen', String(taken)], { cwd: home });
  assert.match(port.stderr, /MCP_CONNECT_FAILED/);
  for (const wrong of [
    ['--url', url],
    ['--url', url, '--listen', '70000'],
    ['--url', 'ftp://x', '--listen', '0'],
    [],
  ]) {
    const { exit, stderr } = await holdfast(['mcp', ...wrong], { cwd: home });
    assert.equal(exit, 2);
    assert.match(stderr, /INVALID_VALUE|MCP_CONFIG_INVALID/);
  }
  assert.equal((await holdfast(['mcp', '--url', url, '--', 'true'], { cwd: home })).exit, 2);
});
