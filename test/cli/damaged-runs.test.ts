import { join } from 'node:path';
import { killedAt, runOfAgent, tamper } from '../runs/damage-world.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check, holdfast } from '../support/index.ts';
import { endLeases } from '../support/leases.ts';

interface Doctor {
  readonly checks: readonly { readonly name: string; readonly state: string; readonly found: string }[];
}

check('a damaged run is told by every command that opens the folder, by doctor, and by the audit', async (t) => {
  const dataDir = await killedAt(t, 'lead', 'plain', 'tool');
  endLeases(dataDir);
  const [lead, clerk] = [runOfAgent(dataDir, 'lead'), runOfAgent(dataDir, 'clerk')];
  const run = (...args: string[]) => holdfast([...args, '--data-dir', dataDir], { cwd: join(dataDir, '..') });
  const runsCheck = async () => {
    const { exit, stdout } = await run('doctor', '--json');
    return { exit, ...(JSON.parse(stdout) as Doctor).checks.find(({ name }) => name === 'runs') };
  };
  assert.equal((await runsCheck()).state, 'ok', 'a dead run whose records are sound is no finding');
  tamper(dataDir, `UPDATE operations SET arguments_json = '{"note":"silk"}'`);
  const sick = await runsCheck();
  assert.deepEqual([sick.exit, sick.state], [2, 'fail']);
  assert.match(sick.found ?? '', new RegExp(`1 left .*${clerk} \\(OPERATION_RECORD_BROKEN\\)`));
  const listed = await run('runs', 'list');
  assert.equal(listed.exit, 0);
  assert.match(listed.stdout, new RegExp(`${clerk}  damaged, outcome unknown`));
  assert.match(listed.stdout, new RegExp(`${lead}  interrupted`));
  assert.match(listed.stderr, new RegExp(`run ${clerk} is left as it is.*holdfast audit`));
  const shown = await run('runs', 'show', clerk);
  assert.match(shown.stdout, /damaged: OPERATION_RECORD_BROKEN: .*\n.*holdfast audit/);
  const stopped = await run('runs', 'stop', clerk);
  assert.deepEqual([stopped.exit, stopped.stderr.includes('RUN_DAMAGED')], [2, true]);
  const audit = await run('audit');
  assert.equal(audit.exit, 1);
  assert.match(audit.stdout, new RegExp(`run ${clerk}: OPERATION_RECORD_BROKEN`));
});

check(
  'the audit names every run and permission request that cannot be read, and a list goes on without them',
  async (t) => {
    const dataDir = await killedAt(t, 'clerk', 'asks', 'approvals.decide');
    endLeases(dataDir);
    const clerk = runOfAgent(dataDir, 'clerk');
    const run = (...args: string[]) => holdfast([...args, '--data-dir', dataDir], { cwd: join(dataDir, '..') });
    tamper(
      dataDir,
      `UPDATE permission_requests SET reason = 'because'`,
      `UPDATE traces SET status = 'completed', result_text = '', finished_at = 1, owner_instance_id = NULL, context = '[]'`,
    );
    const audit = await run('audit', '--json');
    assert.equal(audit.exit, 1);
    const { damaged } = JSON.parse(audit.stdout) as { readonly damaged: readonly Record<string, string>[] };
    assert.deepEqual(
      damaged.map(({ what, code }) => [what, code]),
      [
        ['run', 'RUN_RECORD_BROKEN'],
        ['permission_request', 'APPROVAL_CORRUPT'],
      ],
    );
    const listed = await run('runs', 'list');
    assert.equal(listed.exit, 0);
    assert.match(listed.stdout, new RegExp(`${clerk}  damaged  RUN_RECORD_BROKEN`));
    const report = await run('report');
    assert.deepEqual([report.exit, report.stderr.includes('holdfast audit')], [2, true]);
  },
);

check('one damaged request keeps no other from being listed, shown and decided', async (t) => {
  const { holdfast: desk, dataDir } = await openDesk(t);
  const agent = desk.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
  const [bad, good] = [await agent.run('go'), await agent.run('go')].map(({ pending }) => pending[0]?.requestId ?? '');
  tamper(dataDir, `UPDATE permission_requests SET reason = 'because' WHERE decision_id = '${bad}'`);
  const run = (...args: string[]) => holdfast([...args, '--data-dir', dataDir], { cwd: join(dataDir, '..') });
  for (const which of [[], ['--all']]) {
    const listed = await run('approvals', 'list', ...which);
    assert.equal(listed.exit, 0, listed.stderr);
    assert.match(listed.stdout, new RegExp(`${good}  pending`));
    assert.match(listed.stdout, new RegExp(`${bad}  damaged  APPROVAL_CORRUPT; to see it: holdfast audit`));
  }
  const page = await desk.runtime.approvals.pending(desk.runtime.principal, { limit: 1 });
  assert.deepEqual([page.items, page.damaged.map(({ requestId }) => requestId), page.next], [[], [bad], bad]);
  const shown = await run('approvals', 'show', bad ?? '');
  assert.deepEqual([shown.exit, shown.stderr.includes('holdfast audit')], [2, true]);
  assert.equal((await run('approvals', 'reject', good ?? '')).exit, 0);
  const report = await run('report');
  assert.deepEqual([report.exit, report.stderr.includes('APPROVAL_CORRUPT')], [2, true]);
});
