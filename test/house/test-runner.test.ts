import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isAlone } from '../../scripts/test-processes.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const IMPORTS = "import { assert, check, contract } from './support/contract.ts';\n";

async function runOn(t: TestContext, files: Record<string, string>, ...args: string[]) {
  const folder = await temporaryFolder(t);
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
  mkdirSync(join(folder, 'test/support'), { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  cpSync(join(ROOT, 'test/support/contract.ts'), join(folder, 'test/support/contract.ts'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'test', name), IMPORTS + text);
  // A child of a test run would report to its parent instead of running by itself.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const result = spawnSync(process.execPath, ['scripts/test.ts', ...args], { cwd: folder, env, encoding: 'utf8' });
  const counts = /(\d+) passed, (\d+) failed, (\d+) skipped\n$/.exec(result.stdout)?.slice(1).map(Number);
  return { folder, status: result.status, counts, text: result.stdout + result.stderr };
}

check('green is 0, and the last line counts', async (t) => {
  const result = await runOn(t, {
    'a.test.ts': "check('a', () => assert.ok(true));\ncontract('OPS-01', 'b', () => assert.ok(true));",
  });
  assert.deepEqual([result.status, result.counts], [0, [2, 0, 0]]);
  assert.doesNotMatch(result.text, /Warning/);
});

check('a test that asserts nothing is red', async (t) => {
  const result = await runOn(t, { 'a.test.ts': "check('a', () => {});" });
  assert.deepEqual([result.status, result.counts], [1, [0, 1, 0]]);
  assert.match(result.text, /this test made no assertion/);
});

check('a file that does not load is red and says why', async (t) => {
  const result = await runOn(t, { 'a.test.ts': "check('a', () => assert.ok(true));\nthrow new Error('why not');" });
  assert.equal(result.status, 1);
  assert.match(result.text, /why not/);
});

check('more than four contract IDs, or one that is none, is red', async (t) => {
  for (const ids of ['OPS-01 OPS-02 OPS-03 OPS-04 OPS-05', 'OPS-1', 'XYZ-01', '']) {
    const result = await runOn(t, { 'a.test.ts': `contract('${ids}', 'a', () => assert.ok(true));` });
    assert.equal(result.status, 1, ids);
  }
});

check('a name that no test bears, and a place without tests, are no success', async (t) => {
  const files = { 'a.test.ts': "check('a', () => assert.ok(true));" };
  assert.equal((await runOn(t, files, '--name', 'no-such-name')).status, 1);
  assert.equal((await runOn(t, files, 'scripts')).status, 2);
  assert.equal((await runOn(t, files, '--name', '^a$')).status, 0);
});

check(
  'light files of a folder share a process; one that does not load is red by its name, and the others run',
  async (t) => {
    const seen = "import { appendFileSync } from 'node:fs';\nappendFileSync('seen', `${process.pid}\\n`);\n";
    const names = Array.from({ length: 14 }, (_, i) => `${String.fromCharCode(97 + i)}.test.ts`);
    const text = (name: string): string =>
      name === 'c.test.ts' ? "throw new Error('why not');" : `${seen}check('${name}', () => assert.ok(true));`;
    const result = await runOn(t, Object.fromEntries(names.map((name) => [name, text(name)])));
    assert.deepEqual([result.status, result.counts], [1, [13, 1, 0]]);
    assert.match(result.text, /✖ test\/c\.test\.ts\n[^]*why not/);
    const processes = readFileSync(join(result.folder, 'seen'), 'utf8').trim().split('\n');
    assert.deepEqual([processes.length, new Set(processes).size], [13, 3]);
  },
);

check('a file that changes its process, looks at it, or hooks every test of it has one to itself', () => {
  const own = [
    "process.env['A'] = 'b';",
    "process.on('warning', seen);",
    "process.chdir('/');",
    'process.memoryUsage().rss;',
    'gc();',
    'globalThis.fetch = never;',
    "t.mock.timers.enable({ apis: ['setTimeout'] });",
    "import { after } from 'node:test';",
    "import { type TestContext, before } from 'node:test';",
  ];
  for (const text of own) assert.equal(isAlone('test/core/a.test.ts', text), true, text);
  for (const text of [
    'process.execPath',
    'process.pid',
    "import { type TestContext } from 'node:test';",
    't.after(end);',
  ])
    assert.equal(isAlone('test/core/a.test.ts', text), false, text);
  assert.equal(isAlone('test/faults/calls/crash.test.ts', ''), true);
});
