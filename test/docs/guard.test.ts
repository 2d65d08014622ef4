import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';

check('the commands of docs/guard.md run as they stand, in order', async (t) => {
  const cwd = await temporaryFolder(t);
  mkdirSync(join(cwd, 'project'));
  const commands = commandsOf('docs/guard.md', 'holdfast');
  assert.equal(commands.length, 2);
  const server = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
  const [init = '', test = ''] = commands;
  // npx would ask a registry: the same server, as it is installed here.
  const words = init.replace('npx @modelcontextprotocol/server-filesystem', `${process.execPath} ${server}`).split(' ');
  const made = await holdfast(words.slice(1), { cwd });
  assert.equal(made.exit, 0, made.stderr);
  const policy = JSON.parse(readFileSync(join(cwd, 'holdfast.policy.json'), 'utf8')) as { server: string };
  assert.equal(policy.server, 'files');
  const call = /'(.*)'/.exec(test)?.[1] ?? '';
  const tested = await holdfast(['policy', 'test', call], { cwd });
  assert.equal(tested.exit, 3, tested.stderr);
});
