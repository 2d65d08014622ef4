import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { assert, builtProgram, check, temporaryFolder } from '../support/index.ts';

const WAITER = join(import.meta.dirname, '..', '..', 'bench', 'children', 'waiting-runs.ts');
const WAITING = 400;
/** Rows share what their columns repeat where Node.js gives them as lists. */
const MOST = 'setReturnArrays' in StatementSync.prototype ? 3 : 4;
/** Without compilers the heap holds no code that was made meanwhile, and its size is the same each time. */
const FLAGS = ['--expose-gc', '--jitless'];

check('a run that waits in a process keeps only a few kilobytes of its heap', async (t) => {
  const args = [...FLAGS, builtProgram(WAITER), join(await temporaryFolder(t), 'data'), String(WAITING)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { added } = JSON.parse(stdout) as { readonly added: number };
  const kilobytes = (added * 1024) / WAITING;
  assert.ok(kilobytes > 0.5 && kilobytes < MOST, `${kilobytes.toFixed(2)} KB each`);
});
