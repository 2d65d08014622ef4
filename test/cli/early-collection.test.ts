import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { collectEarly } from '../../src/cli/early-collection.ts';
import { assert, check } from '../support/index.ts';

const MODULE = join(import.meta.dirname, '..', '..', 'src', 'cli', 'early-collection.ts');

/** Keeps 40 MB and lets 280 MB go; prints the most that the heap was, in megabytes. */
const WORK = `
const { collectEarly } = await import(process.argv[1]);
if (process.argv[2] === 'early') collectEarly();
const kept = [];
let most = 0;
for (let i = 0; i < 80_000; i += 1) {
  const row = Array.from({ length: 500 }, () => i);
  if (i % 8 === 0) kept.push(row);
  if (i % 100 === 0) most = Math.max(most, process.memoryUsage().heapTotal);
}
console.log(Math.round(most / 1e6), kept.length);
`;

function heapOf(how: 'early' | 'as-v8-likes'): { readonly mb: number; readonly stderr: string } {
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--max-old-space-size=4096'];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', WORK, MODULE, how], { encoding: 'utf8' });
  return { mb: Number(stdout.split(' ')[0]), stderr };
}

check('a process that collects early takes little more than it keeps, by flags that this V8 knows', () => {
  const early = heapOf('early');
  const late = heapOf('as-v8-likes');
  assert.equal(early.stderr, '');
  assert.ok(early.mb > 40 && early.mb < late.mb, `${early.mb} MB, and ${late.mb} where V8 is left alone`);
});

check('a V8 that is newer than the newest that is known is left alone', () => {
  assert.deepEqual(collectEarly('99.1.0'), []);
});
