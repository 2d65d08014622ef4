import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';
import { ROOT } from '../structure/repository-files.ts';

check("README.md's commands run in a checkout without a build, and doctor finds nothing amiss", async (t) => {
  const home = await temporaryFolder(t);
  const commands = commandsOf('README.md', 'npx');
  assert.deepEqual(commands, ['npx holdfast migrate', 'npx holdfast doctor']);
  // npm links the checkout into its cache and asks no registry.
  const env = {
    ...process.env,
    npm_config_cache: join(home, 'cache'),
    npm_config_offline: 'true',
    HOLDFAST_DATA_DIR: join(home, 'data'),
  };
  for (const command of commands) {
    const [program = '', ...args] = command.split(' ');
    const result = spawnSync(program, args, { cwd: ROOT, env, encoding: 'utf8', input: '', timeout: 120_000 });
    assert.equal(result.status, 0, result.stderr);
    if (command.endsWith('doctor')) assert.match(result.stdout, /^ok {4}data_folder/m);
  }
});
