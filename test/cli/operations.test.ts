import { join } from 'node:path';
import type { ModelFunction } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { tamper } from '../runs/damage-world.ts';
import { assert, check, holdfast } from '../support/index.ts';

check('a list names its next page as it was asked for, and what is damaged is said without its tricks', async (t) => {
  const desk = await openDesk(t);
  const execute = ({ note }: { readonly note: string }) => {
    if (note !== 'fine') throw new Error('connection reset');
    return { ok: true };
  };
  const model: ModelFunction = (asked) =>
    callsThenDone([{ note: asked.messages.find(({ role }) => role === 'user')?.text ?? '' }])(asked);
  const agent = desk.holdfast.agent({ model, tools: [noteTool({ execute })] });
  for (const note of ['early', 'fine', 'late']) await agent.run(note);
  await desk.holdfast.close();
  const command = (...args: string[]) =>
    holdfast(['operations', ...args], { cwd: join(desk.dataDir, '..'), env: { HOLDFAST_DATA_DIR: desk.dataDir } });

  const first = await command('list', '--open', '--limit', '1');
  const [, next = ''] = /^More: holdfast operations (list .*)$/m.exec(first.stdout) ?? [];
  assert.match(next, /^list --open --limit 1 --before \d+$/);
  const second = await command(...next.split(' '));
  assert.match(second.stdout, /^status_[0-9a-f]{32}  take_note  unknown: /);
  assert.notEqual(second.stdout.slice(0, 39), first.stdout.slice(0, 39));
  assert.doesNotMatch(second.stdout, /More:/);

  tamper(desk.dataDir, `UPDATE local_receipts SET observed_at = char(27) || '[2K' || 'done'`);
  const all = await command('list', '--json');
  const { operations } = JSON.parse(all.stdout) as { readonly operations: readonly Record<string, string | null>[] };
  const [sick] = operations.filter(({ damage }) => damage !== null);
  assert.deepEqual([operations.length, sick?.['outcome']], [3, 'unknown']);
  const shown = await command('show', sick?.['status_ref'] ?? '');
  assert.deepEqual([shown.exit, shown.stdout.includes('\u001b')], [1, false]);
  assert.match(shown.stdout, /unknown: its record is damaged/);
  const [, advice = ''] = /to see it {2}holdfast operations (.*)$/m.exec(shown.stdout) ?? [];
  const audit = await command(advice);
  assert.deepEqual([audit.exit, audit.stdout.includes('\u001b')], [1, false]);
  assert.match(audit.stdout, /did not pass/);
});

check('both audits say what the database itself finds, where nothing else is wrong', async (t) => {
  const desk = await openDesk(t);
  const model = callsThenDone([{ note: 'lost' }]);
  const lost = noteTool({
    execute: () => {
      throw new Error('connection reset');
    },
  });
  await desk.holdfast.agent({ model, tools: [lost] }).run('go');
  await desk.holdfast.close();
  tamper(
    desk.dataDir,
    'PRAGMA ignore_check_constraints = ON',
    "INSERT INTO operation_verdicts VALUES (7, 'not_done', 'person', 'owner', '', 9)",
  );
  const command = (...args: string[]) =>
    holdfast(args, { cwd: join(desk.dataDir, '..'), env: { HOLDFAST_DATA_DIR: desk.dataDir } });
  for (const args of [['operations', 'audit'], ['audit']]) {
    const { exit, stdout } = await command(...args);
    assert.equal(exit, 1);
    assert.match(stdout, /CHECK constraint failed in operation_verdicts/);
    assert.match(stdout, /row 7 of operation_verdicts refers to a row of operations that is not there/);
  }
  const { stdout } = await command('audit', '--json');
  assert.equal((JSON.parse(stdout) as { operation_errors: readonly string[] }).operation_errors.length, 2);
});
