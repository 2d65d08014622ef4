import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TAMPERINGS } from '../../examples/travel/tampering.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';

check('the example of docs/packages.md runs: exported, tampered with, imported, trusted, gone on with', async () => {
  const commands = commandsOf('docs/packages.md', 'node');
  assert.deepEqual(commands, ['node examples/travel/travel.ts']);
  for (const command of commands) {
    const [, script = ''] = command.split(' ');
    const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, script)], { cwd: ROOT });
    for (const { what } of TAMPERINGS) assert.ok(stdout.includes(what), what);
    assert.match(stdout, /Total: 64\.00/);
  }
});
