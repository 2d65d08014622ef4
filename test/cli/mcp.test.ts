import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

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
  assert.match(none.stderr, /FILE_MISSING/);
  writeFileSync(join(home, 'holdfast.policy.json'), '{"version":1,"name":"p","revision":"1","server":"s"}');
  const gone = await holdfast(['mcp', '--', join(home, 'no-such-command')], { cwd: home });
  assert.equal(gone.exit, 2);
  assert.match(gone.stderr, /MCP_CONNECT_FAILED/);
  const ended = await holdfast(['mcp', '--', process.execPath, '-e', 'process.exit(3)'], { cwd: home });
  assert.equal(ended.exit, 1);
  assert.equal(ended.stdout, '');
});
