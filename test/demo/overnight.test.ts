import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';
import { ROOT } from '../structure/repository-files.ts';

const COMMAND = 'node examples/overnight-report/overnight.ts';

check('three nights: found, repaired and verified; handed back; killed in mid-repair and recovered', async (t) => {
  assert.ok(commandsOf('docs/autonomy.md', 'node').includes(COMMAND));
  const [, program = ''] = COMMAND.split(' ');
  const folder = join(await temporaryFolder(t), 'kept');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, folder], { cwd: ROOT, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  for (const line of [
    /found +major: North is given as 4210\.00/,
    /verified +verified: independent_review_passed/,
    /handed back completed_with_issues: findings; budget_exhausted: max_repair_rounds/,
    /killed +SIGKILL after the repaired report was on the disk/,
    /asked +the report on the disk is the one that was asked for/,
    /5 runs|6 runs/,
    /result completed with issues/,
  ])
    assert.match(stdout, line);
  assert.equal(stdout.match(/verified +verified: independent_review_passed/g)?.length, 2);
  for (const kept of ['data', 'desk-1', 'desk-2', 'desk-3', 'report.html'])
    assert.equal(existsSync(join(folder, kept)), true, kept);
});
