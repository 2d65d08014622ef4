import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sinceOf } from '../../src/cli/report.ts';
import { configuredFolder, LETTER_AGENT } from '../support/configured-folder.ts';
import { commandsOf } from '../support/document-commands.ts';
import { assert, check } from '../support/index.ts';

const NOW = Date.parse('2026-03-02T07:00:00Z');

check('a report begins at a time, or a span before now', () => {
  assert.equal(sinceOf('90m', NOW), NOW - 5_400_000);
  assert.equal(sinceOf('12h', NOW), NOW - 43_200_000);
  assert.equal(sinceOf('7d', NOW), NOW - 604_800_000);
  assert.equal(sinceOf('2026-03-01T22:00:00Z', NOW), NOW - 32_400_000);
  assert.equal(sinceOf('999999d', NOW), 0);
  for (const wrong of ['', 'yesterday', '12', '12x', '-3h', '1.5h', '2026-13-40', '1969-01-01T00:00:00Z'])
    assert.throws(() => sinceOf(wrong, NOW), { code: 'INVALID_VALUE' });
});

check('holdfast report prints what waits with its command, as text, as JSON and as one page', async (t) => {
  const { folder, holdfast, json } = await configuredFolder(t, LETTER_AGENT);
  const { exit } = await holdfast('run', 'Post it.');
  assert.equal(exit, 3);
  const [documented = ''] = commandsOf('docs/autonomy.md', 'holdfast');
  const told = await holdfast(...documented.split(' ').slice(1));
  assert.equal(told.exit, 0, told.stderr);
  assert.match(told.stdout, /1 runs, 1 calls: 0 verified, 0 only reported, 0 unknown, 0 refused or not done; 1 wait/);
  assert.match(told.stdout, /→ holdfast approvals show /);
  const page = readFileSync(join(folder, 'morning.html'), 'utf8');
  assert.match(page, /Waits for a decision \(1\)/);
  assert.equal(statSync(join(folder, 'morning.html')).mode & 0o077, 0);
  const { document } = await json('report');
  assert.deepEqual([document['format'], document['version']], ['holdfast-report', 1]);
  const again = await json('report', '--html', 'morning.html');
  assert.equal(again.exit, 2, 'a file that is there is never overwritten');
  const wrong = await json('report', '--since', 'yesterday', '--html', 'other.html');
  assert.deepEqual([wrong.exit, wrong.document.error?.code], [2, 'INVALID_VALUE']);
  assert.equal(existsSync(join(folder, 'other.html')), false);
});
