import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assert, check } from '../support/index.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const PROGRAM = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
await import(${JSON.stringify(`file://${join(ROOT, 'src', 'index.ts')}`)});
process.stdout.write(JSON.stringify(loaded));
`;

check('who loads Holdfast loads nothing of the guard, and no library that checks shapes', async () => {
  const args = ['--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 24 });
  const loaded = JSON.parse(stdout) as string[];
  assert.ok(loaded.length > 100, 'modules were seen');
  assert.deepEqual(
    loaded.filter((url) => url.includes('/src/mcp/') || url.includes('/node_modules/zod/')),
    [],
  );
});
