import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

const COMMAND = join(ROOT, 'bin', 'holdfast.js');

/** Prints, at the end, every module that was loaded from a file. */
const LISTED = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load(url, context, next) { if (url.startsWith('file:')) loaded.push(url); return next(url, context); } });
  process.on('exit', () => process.stderr.write(loaded.join('\\n')));
`;

async function modulesOf(...args: string[]): Promise<string[]> {
  const dataDir = join(ROOT, 'no-such-folder');
  const node = ['--import', `data:text/javascript,${encodeURIComponent(LISTED)}`];
  const result = await holdfast(args, { node, env: { HOLDFAST_DATA_DIR: dataDir } });
  assert.equal(result.exit, 0, result.stdout);
  return result.stderr.split('\n');
}

check('--version loads three files and no package', async () => {
  const modules = await modulesOf('--version');
  assert.deepEqual(
    modules.map((url) => url.slice(url.lastIndexOf('/', url.lastIndexOf('/') - 1) + 1)),
    ['bin/holdfast.js', 'cli/index.ts', 'cli/version.ts'],
  );
});

check('help loads no room of the product but the command itself', async () => {
  const rooms = (await modulesOf('help')).map((url) => /\/src\/([^/]+)\//.exec(url)?.[1]).filter((room) => room);
  assert.deepEqual([...new Set(rooms)], ['cli']);
});

check('a command loads its own file, not those of its neighbours', async () => {
  const files = (await modulesOf('doctor')).map((url) => /\/src\/cli\/([^/]+)$/.exec(url)?.[1]);
  assert.ok(files.includes('doctor.ts'));
  assert.ok(!files.includes('migrate.ts') && !files.includes('verify.ts'));
});

check('a reader that goes away breaks nothing', async (t) => {
  const home = await temporaryFolder(t);
  const child = spawn(process.execPath, [COMMAND, 'help'], { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdout.destroy();
  const [exit] = (await once(child, 'close')) as [number];
  assert.deepEqual([exit, stderr], [0, '']);
});

check('an error that nothing caught is told by its kind, with exit code 2 and no stack', async () => {
  const thrown =
    "setTimeout(() => { throw new RangeError('in /some/where'); }, 0); await new Promise((go) => setTimeout(go, 5))";
  const late = `data:text/javascript,${encodeURIComponent(`process.on('newListener', (name) => { if (name === 'uncaughtException') queueMicrotask(async () => { ${thrown} }); });`)}`;
  const { exit, stderr } = await holdfast(['help'], { node: ['--import', late] });
  assert.equal(exit, 2);
  assert.match(stderr, /^UNEXPECTED: .*\(RangeError\)\.\n {2}what resolves it: .*\n$/);
});
