import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { installedPackage } from '../../scripts/installed.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

/** A folder as package managers make one, where the package is installed. */
async function consumer(t: TestContext, manifest: object | null) {
  const folder = await temporaryFolder(t);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(installedPackage(), join(folder, 'node_modules', 'holdfast'));
  if (manifest) writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  return { folder, run: (...args: string[]) => holdfast(args, { cwd: folder }) };
}

check('init, and the run after it, work whatever the package of the folder says about its modules', async (t) => {
  for (const [manifest, file] of [
    [{ name: 'a', type: 'commonjs' }, 'holdfast.config.mts'],
    [{ name: 'a', type: 'module' }, 'holdfast.config.ts'],
    [{ name: 'a' }, 'holdfast.config.ts'],
    [null, 'holdfast.config.ts'],
  ] as const) {
    const { run } = await consumer(t, manifest);
    const made = await run('init', '--json');
    assert.equal((JSON.parse(made.stdout) as { config: string }).config, file);
    const waiting = await run('run', 'Remember the milk');
    assert.equal(waiting.exit, 3, waiting.stderr);
    assert.match((await run('init')).stderr, /CONFIG_EXISTS/);
  }
});

check('a configuration that is no module for Node.js is told by the name that makes it one', async (t) => {
  const { folder, run } = await consumer(t, { name: 'a', type: 'commonjs' });
  await run('init');
  renameSync(join(folder, 'holdfast.config.mts'), join(folder, 'holdfast.config.ts'));
  const { exit, stderr } = await run('run', 'Remember the milk');
  assert.equal(exit, 2);
  assert.match(stderr, /CONFIG_INVALID: .*"type": "commonjs".*\n.*Rename it to `holdfast\.config\.mts`/);
});

check('a configuration that does not load says the kind of its error, and how to see it whole', async (t) => {
  const { folder, run } = await consumer(t, { name: 'a', type: 'module' });
  writeFileSync(join(folder, 'holdfast.config.ts'), "import { x } from 'nowhere';\nexport default x;\n");
  const { exit, stderr } = await run('run', 'go');
  assert.equal(exit, 2);
  assert.match(stderr, /does not load \(Error, ERR_MODULE_NOT_FOUND\)\.\n.*`node holdfast\.config\.ts`/);
  writeFileSync(join(folder, 'holdfast.config.ts'), 'export default {;\n');
  assert.match((await run('run', 'go')).stderr, /does not load \(SyntaxError.*\)\.\n.*`node holdfast\.config\.ts`/);
});
