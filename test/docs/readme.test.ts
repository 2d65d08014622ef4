import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { ROOT } from '../structure/repository-files.ts';

check("README.md's commands run in a checkout without a build, and doctor finds nothing amiss", async (t) => {
  const home = await temporaryFolder(t);
  // `init` and `serve` are for a folder of one's own: test/packed/packed.test.ts runs them there.
  const commands = commandsOf('README.md', 'npx').filter((command) => !/ (?:init|serve)$/.test(command));
  assert.deepEqual(commands, [
    'npx holdfast migrate',
    'npx holdfast doctor',
    'npx holdfast runs list',
    'npx holdfast approvals list',
    'npx holdfast operations list --open',
  ]);
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

const GIVEN = [
  `const drafts = new Map<string, object>();`,
  `const billing = {`,
  `  draft: async (input: object, { idempotencyKey }: { idempotencyKey: string }) => {`,
  `    drafts.set(idempotencyKey, input);`,
  `    return { draft: 'DRAFT-1', ...input };`,
  `  },`,
  `  find: async (key: string) => ({ state: drafts.has(key) ? 'happened' : 'not_happened' }) as const,`,
  `};`,
  `const model = ({ messages }: { messages: readonly { role: string; text: string }[] }) =>`,
  `  messages.at(-1)?.role === 'user'`,
  `    ? { calls: [{ toolName: 'create_refund_draft', arguments: { order_ref: 'ORDER-7', reason: 'duplicate' } }] }`,
  `    : 'It is drafted: ' + messages.at(-1)?.text;`,
];

check('the library example of README.md runs as it stands: it waits, is approved, and is done', async (t) => {
  const folder = await temporaryFolder(t);
  const [example = ''] = blocksOf('README.md');
  const inFolder = example.replace("'.holdfast'", JSON.stringify(join(folder, 'data')));
  const said = t.mock.method(console, 'log', () => undefined);
  await runExample(folder, 'readme', inFolder, GIVEN);
  assert.deepEqual(said.mock.calls[0]?.arguments, [
    'completed',
    'It is drafted: {"draft":"DRAFT-1","order_ref":"ORDER-7","reason":"duplicate"}',
  ]);
});
