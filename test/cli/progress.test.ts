import { withProgress } from '../../src/cli/progress.ts';
import { assert, check } from '../support/index.ts';

function terminal(isTTY: boolean) {
  const said: string[] = [];
  const sink = { isTTY, write: (text: string) => said.push(text) };
  const stdout = { isTTY, write: (text: string) => said.push(`stdout: ${text}`) };
  return { said, terminal: { stdout, stderr: sink, env: {} } };
}

const slow = () => new Promise<string>((settle) => setTimeout(() => settle('done'), 1200));

check('work of more than a second says so at a terminal, on standard error, and leaves a clear line', async () => {
  const { said, terminal: at } = terminal(true);
  assert.equal(await withProgress(at, 'Exporting', slow), 'done');
  assert.deepEqual([said[0], said.at(-1)], ['\r\u001b[2KExporting … 1 s', '\r\u001b[2K']);
  assert.ok(!said.join('').includes('stdout'));
});

check('quick work says nothing, and neither does slow work into a pipe', async () => {
  const quick = terminal(true);
  assert.equal(await withProgress(quick.terminal, 'Importing', async () => 7), 7);
  const piped = terminal(false);
  await withProgress(piped.terminal, 'Importing', slow);
  assert.deepEqual([quick.said, piped.said], [[], []]);
  const failing = terminal(true);
  await assert.rejects(withProgress(failing.terminal, 'x', () => slow().then(() => Promise.reject(new Error('no')))));
  assert.equal(failing.said.at(-1), '\r\u001b[2K');
});
