// Three nights of one agent that nobody watches, and what can be trusted in the morning.
//   node examples/overnight-report/overnight.ts [FOLDER]   (without a folder everything is removed again)
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { document, holdfast, type Night, type RunDocument } from './commands.ts';

const say = (text: string): void => console.log(text);
const show = (what: string, text: string): void => say(`  ${what.padEnd(10)} ${text}`);
const TASK = 'Do what task.md says.';

async function main(given: string | undefined): Promise<void> {
  const place = given === undefined ? mkdtempSync(join(tmpdir(), 'holdfast-overnight-')) : resolve(given);
  mkdirSync(place, { recursive: true });
  const dataDir = join(place, 'data');
  try {
    await verified({ dataDir, desk: deskIn(place, 'desk-1') });
    await handedBack({ dataDir, desk: deskIn(place, 'desk-2'), author: 'stubborn-author' });
    await killed({ dataDir, desk: deskIn(place, 'desk-3') });
    await morning({ dataDir, desk: join(place, 'desk-1') }, join(place, 'report.html'));
    if (given !== undefined) say(`\nEverything is kept in ${given}: sessions list --data-dir ${join(given, 'data')}`);
  } finally {
    if (given === undefined) rmSync(place, { recursive: true, force: true });
  }
}

function deskIn(place: string, name: string): string {
  const desk = join(place, name);
  cpSync(join(import.meta.dirname, 'desk'), desk, { recursive: true });
  return desk;
}

const reportOf = ({ desk }: Night): string => readFileSync(join(desk, 'report.md'), 'utf8');

function showSupervision({ text, supervision }: RunDocument): void {
  show('reported', text);
  for (const { severity, claim, evidence } of supervision.findings)
    show('found', `${severity}: ${claim} (${evidence.join(', ')})`);
  const why = [supervision.reason, supervision.stop_reason].filter((one) => one !== null).join('; ');
  show(supervision.status === 'verified' ? 'verified' : 'handed back', `${supervision.status}: ${why}`);
}

async function verified(night: Night): Promise<void> {
  say(
    '1. The agent sums up March and gets North wrong. The reviewer sees it, a repair puts it right, and it is reviewed again.',
  );
  const run = await document<RunDocument>(night, ['run', TASK]);
  assert.equal(run.exit, 0);
  assert.deepEqual([run.supervision.status, run.supervision.reviews, run.supervision.repairs], ['verified', 2, 1]);
  assert.match(reportOf(night), /North \| 4120\.00/);
  showSupervision(run);
}

async function handedBack(night: Night): Promise<void> {
  say('\n2. Another author repairs the total and leaves North as it was. The budget allows one repair.');
  const run = await document<RunDocument>(night, ['run', TASK]);
  assert.equal(run.exit, 1, 'what is not verified is not done');
  assert.equal(run.supervision.status, 'completed_with_issues');
  assert.equal(run.supervision.stop_reason, 'budget_exhausted: max_repair_rounds');
  assert.match(reportOf(night), /North \| 4210\.00/);
  showSupervision(run);
}

async function killed(night: Night): Promise<void> {
  say('\n3. The process is killed in the middle of the repair: the file is written, and nobody here knows.');
  const { child, finished } = holdfast({ ...night, hold: '4120.00' }, ['run', TASK, '--json']);
  while (!existsSync(join(night.desk, 'report.md')) || !reportOf(night).includes('4120.00')) await sleep(20);
  child.kill('SIGKILL');
  assert.equal((await finished).signal, 'SIGKILL');
  show('killed', 'SIGKILL after the repaired report was on the disk, before its outcome was written down');
  const { runs } = await document<{ runs: readonly { readonly run_id: string }[] }>(night, ['runs', 'list']);
  const [newest] = runs;
  const run = await resumed(night, await authorOf(night, newest?.run_id ?? ''));
  assert.deepEqual([run.supervision.status, run.supervision.repairs], ['verified', 1]);
  const writes = run.calls.filter(({ tool }) => tool === 'write_report');
  assert.deepEqual(
    writes.map(({ outcome }) => outcome),
    ['done', 'done'],
  );
  show('asked', 'the report on the disk is the one that was asked for: it is not written twice');
  showSupervision(run);
}

/** What whoever comes in the morning is told of all three nights. */
async function morning(night: Night, page: string): Promise<void> {
  say('\n4. In the morning: holdfast report');
  const { exit, stdout, stderr } = await holdfast(night, ['report', '--since', '1h', '--html', page]).finished;
  assert.equal(exit, 0, stderr);
  assert.match(readFileSync(page, 'utf8'), /^<!doctype html>/);
  for (const line of stdout.trimEnd().split('\n')) say(`  ${line}`);
}

/** The run that a run of a repair belongs to. */
async function authorOf(night: Night, runId: string): Promise<string> {
  const { parent_run_id } = await document<{ parent_run_id: string | null }>(night, ['runs', 'show', runId]);
  return parent_run_id ?? runId;
}

/** A dead process keeps its runs for as long as its lease; then whoever resumes them has them. */
async function resumed(night: Night, runId: string): Promise<RunDocument> {
  for (;;) {
    const run = await document<RunDocument & { readonly error?: { readonly code: string } }>(night, [
      'runs',
      'resume',
      runId,
    ]);
    if (run.error === undefined && run.supervision.status === 'verified') return run;
    assert.ok(run.error === undefined || run.error.code === 'RUN_BUSY', JSON.stringify(run));
    await sleep(250);
  }
}

await main(process.argv[2]);
