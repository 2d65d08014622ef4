import { join } from 'node:path';
import { commandsOf } from '../support/document-commands.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

check('the commands of docs/approvals.md make rules, list them and drop one', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  await holdfast(['migrate', '--data-dir', dataDir]);
  let rule = '';
  for (const command of commandsOf('docs/approvals.md', 'holdfast')) {
    const [, ...words] = command.replaceAll("'", '').replace('RULE', rule).split(' ');
    const { exit, stdout, stderr } = await holdfast([...words, '--data-dir', dataDir]);
    assert.equal(exit, 0, `${command}: ${stderr}`);
    rule = stdout.slice(0, 32);
    if (words.includes('list')) assert.equal(stdout.trim().split('\n').length, 3, stdout);
  }
});

check('the example of docs/approvals.md makes a rule, says what it does, and drops it', async (t) => {
  const folder = await temporaryFolder(t);
  const [example = ''] = blocksOf('docs/approvals.md');
  const said = t.mock.method(console, 'log', () => undefined);
  await runExample(folder, 'rules', example.replace("'.holdfast'", JSON.stringify(join(folder, 'data'))));
  assert.match(String(said.mock.calls[0]?.arguments[0]), /also where the tool itself asks for one\./);
  assert.deepEqual(said.mock.calls[1]?.arguments, ['allow', 'take_note', '**']);
});
