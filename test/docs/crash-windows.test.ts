import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check } from '../support/index.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The first cells of the table under a heading of docs/runs.md, without its head. */
function windowsUnder(heading: string): readonly string[] {
  const [, section = ''] = read('docs/runs.md').split(`## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  const rows = own.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) => row.split('|')[1]?.trim() ?? '');
}

const NAMED = [
  'decided and not started',
  'executing',
  'receipt without result',
  'result without message',
  'batch without status',
  'orphaned call',
  'side branch half-counted',
  'child finished and parent unaware',
  'two processes at once',
  'a dead instance beside a live one',
];

check('every crash window of the composed system is in the table, and is a test under its name', () => {
  const windows = windowsUnder('After a restart: the composed system');
  assert.deepEqual(windows.toSorted(), NAMED.toSorted());
  const tests = read('test/faults/run-windows/windows.test.ts') + read('test/runs/side-branches.test.ts');
  for (const name of NAMED) assert.match(tests, new RegExp(`[\`']${name}( \\(.*\\))?: `), name);
});

check('every crash window of the file home is a test under its name, and the other way round', () => {
  const windows = windowsUnder('After a restart: the file home');
  const tests = read('test/contracts/runs/other-process.test.ts');
  const [, list = ''] = tests.split('const WINDOWS = [');
  const tried = [...(list.split('] as const')[0] ?? '').matchAll(/\[\d+, '([^']+)'/g)].map(([, name]) => name);
  assert.ok(windows.length >= 10);
  assert.deepEqual(windows, tried);
});
