import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';

check('the commands of docs/operations.md run, one after another', async (t) => {
  const home = await temporaryFolder(t);
  const commands = commandsOf('docs/operations.md', 'holdfast');
  assert.ok(commands.length >= 3);
  assert.equal((await holdfast(['migrate'], { cwd: home })).exit, 0);
  for (const command of commands) {
    const { exit, stderr } = await holdfast(command.split(' ').slice(1), { cwd: home });
    assert.equal(exit, 0, `${command}: ${stderr}`);
  }
});
