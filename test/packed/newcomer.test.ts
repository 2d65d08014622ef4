import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCurlLines, served } from '../gateway/served.ts';
import { assert, check } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';
import { install, pack } from './package-under-test.ts';

check('a newcomer installs the package, does what README.md says over HTTP, and sees a run finish', async (t) => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-newcomer-')));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const folder = install(home, pack(home));
  const command = join(folder, 'node_modules', 'holdfast', 'bin', 'holdfast.js');
  const said = commandsOf('README.md', 'npx');
  assert.ok(said.includes('npx holdfast init') && said.includes('npx holdfast serve'));
  const made = spawnSync(process.execPath, [command, 'init'], { cwd: folder, encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  const gateway = await served(t, folder, command);
  const answers = await runCurlLines('README.md', gateway);
  assert.match(answers.at(-1) ?? '', /"outcome":"done".*"tool":"add_note"/);
  assert.equal(await gateway.stop(), 0);
});
