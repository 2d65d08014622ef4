import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type HoldfastConfig, openConfigured } from '../../src/app/index.ts';
import type { Tool } from '../../src/tools/index.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('the examples of docs/mcp-tools.md run as they stand, on the filesystem server', async (t) => {
  const folder = await temporaryFolder(t);
  const workFolder = join(folder, 'work');
  mkdirSync(workFolder);
  const manifest = new URL(import.meta.resolve('@modelcontextprotocol/server-filesystem/package.json'));
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> };
  const given = [
    `const serverProgram = ${JSON.stringify(new URL(Object.values(bin)[0] ?? '', manifest).pathname)};`,
    `const workFolder = ${JSON.stringify(workFolder)};`,
  ];
  const [stdio = '', http = '', configured = ''] = blocksOf('docs/mcp-tools.md');
  const { tools, skipped } = await runExample(folder, 'stdio', stdio, given);
  const effects = new Map((tools as Tool[]).map((tool) => [tool.name, tool.effect]));
  assert.deepEqual(
    ['files__read_text_file', 'files__write_file', 'files__move_file'].map((name) => effects.get(name)),
    ['read', 'idempotent', 'once'],
  );
  assert.deepEqual(skipped, []);
  const { connect } = await runExample(folder, 'http', http);
  assert.equal(typeof connect, 'function');
  const model =
    "const model = ({ messages: { length } }) => length > 1 ? 'Seen.' : { calls: [{ toolName: 'files__list_allowed_directories', arguments: {} }] };";
  const { default: config } = await runExample(folder, 'configured', configured, [...given, model]);
  const opened = await openConfigured(config as HoldfastConfig, join(folder, 'data'));
  const run = await opened.agents.get('clerk')?.run('Where are you?');
  // It has no policy, so a person is asked.
  assert.deepEqual([run?.status, run?.pending[0]?.tool], ['waiting_confirmation', 'files__list_allowed_directories']);
  await opened.close();
});
