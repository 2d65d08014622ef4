// node program.ts DATA_DIR AGENT WHAT COMMIT NTH
// Runs the agent, or resumes the newest run, and dies by SIGKILL right after the n-th commit of that name; with the
// name `tool`, in the middle of the tool. WHAT: plain, asks, resume, resume-asks, no-results.
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Holdfast } from '../../../src/index.ts';
import { defineClerks } from './clerk.ts';

const [dataDir = '', agentName = '', what = '', commit = '', nth = '1'] = process.argv.slice(2);
const die = (): void => void process.kill(process.pid, 'SIGKILL');
let left = Number(nth);
/** Whoever resumes comes when every lease of the dead is over, those of sessions and operations too. */
const aheadMs = what.startsWith('resume') ? 60_000 : 0;
const holdfast = await Holdfast.open({
  dataDir,
  clock: { nowMs: () => Date.now() + aheadMs },
  observer: (event) => {
    if (event.kind === 'committed' && event.wrote && event.names.includes(commit) && (left -= 1) === 0) die();
  },
});
if (what === 'no-results') {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  db.exec(`CREATE TRIGGER no_results BEFORE INSERT ON action_events WHEN new.type = 'result'
    BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  db.close();
}
const needsApproval = what.endsWith('asks');
const during = commit === 'tool' ? die : () => undefined;
const agent = defineClerks(holdfast, dataDir, { needsApproval, during }).get(agentName);
const { runs, principal } = holdfast.runtime;
try {
  const [newest] = (await runs.list(principal, { limit: 1 })).items;
  const run = await (what.startsWith('resume') ? agent?.resume(newest?.runId ?? '') : agent?.run('go'));
  while (run?.status === 'waiting_confirmation') await run.approve(run.pending[0]);
  writeSync(1, run?.status ?? '');
} catch (error) {
  writeSync(1, error instanceof Error && 'code' in error ? String(error.code) : 'an error');
}
await holdfast.close();
