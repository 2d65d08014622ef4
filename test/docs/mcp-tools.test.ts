import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  const [stdio = '', http = ''] = blocksOf('docs/mcp-tools.md');
  const { tools, skipped } = await runExample(folder, 'stdio', stdio, given);
  const effects = new Map((tools as Tool[]).map((tool) => [tool.name, tool.effect]));
  assert.deepEqual(
    ['files__read_text_file', 'files__write_file', 'files__move_file'].map((name) => effects.get(name)),
    ['read', 'idempotent', 'once'],
  );
  assert.deepEqual(skipped, []);
  const { connect } = await runExample(folder, 'http', http);
  assert.equal(typeof connect, 'function');
});
