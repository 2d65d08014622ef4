import { join } from 'node:path';
import { makeReport, type Report, reportDocument, reportHtml } from '../../src/app/index.ts';
import { settleByPerson } from '../../src/calls/index.ts';
import { type Clock, systemClock } from '../../src/core/index.ts';
import { functionModel, Holdfast, type ModelFunction, NotDone, tool } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { authorOf, openSupervised } from '../support/supervised-world.ts';

const HOUR_MS = 3_600_000;
const HOSTILE = `<script>alert(1)</script>\u202e"&'\u0007\u200b`;

const inputSchema = {
  type: 'object',
  properties: { what: { type: 'string' }, password: { type: 'string' } },
  additionalProperties: false,
} as const;

const plain = tool({
  name: 'plain',
  description: 'Does.',
  inputSchema,
  effect: 'idempotent',
  needsApproval: false,
  execute: () => ({}),
});
const lost = tool({
  name: 'lost',
  description: 'Answers never.',
  inputSchema,
  effect: 'once',
  needsApproval: false,
  execute: () => {
    throw new Error('no answer');
  },
});
const refusing = tool({
  name: 'refusing',
  description: 'Does nothing.',
  inputSchema,
  effect: 'once',
  needsApproval: false,
  execute: () => {
    throw new NotDone(`It is closed. ${HOSTILE}`);
  },
});
const asking = tool({
  name: 'asking',
  description: 'Asks.',
  inputSchema,
  effect: 'once',
  needsApproval: true,
  execute: () => ({}),
});

/** Calls the tools that the request names, and is then done. */
const caller: ModelFunction = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== 'user') return 'Done.';
  const names = last.text.split(' ')[0]?.split(',') ?? [];
  return { calls: names.map((toolName) => ({ toolName, arguments: { what: HOSTILE, password: 'hunter2' } })) };
};

async function night(
  dataDir: string,
  clock: Clock = systemClock,
): Promise<{ readonly holdfast: Holdfast; readonly report: Report }> {
  const holdfast = await Holdfast.open({ dataDir, clock });
  const tools = [plain, lost, refusing, asking];
  const agent = holdfast.agent({ model: functionModel(caller), tools });
  for (const task of [`plain,refusing ${HOSTILE}`, 'lost', 'asking']) await agent.run(task);
  const { runtime } = holdfast;
  const now = runtime.calls.clock.nowMs();
  return { holdfast, report: await makeReport(runtime, runtime.principal, { since: now - HOUR_MS, now }) };
}

check('a report says what was reported, unknown, refused and waits, each with its one command', async (t) => {
  const { holdfast, report } = await night(join(await temporaryFolder(t), 'data'));
  const { counts, calls, waiting, runs } = report;
  assert.deepEqual(
    [counts.runs, counts.calls, counts.verified, counts.reported, counts.unknown, counts.refused, counts.open],
    [3, 4, 0, 1, 1, 1, 1],
  );
  const unknown = calls.find((call) => call.outcome?.state === 'unknown');
  assert.match(
    unknown?.outcome?.state === 'unknown' ? unknown.outcome.resolve : '',
    /^holdfast operations settle status_[0-9a-f]{32} --done\|--not-done --reason TEXT$/,
  );
  assert.deepEqual([waiting.length, waiting[0]?.tool, waiting[0]?.advice], [1, 'asking', null]);
  assert.equal(waiting[0]?.resolve, `holdfast approvals show ${waiting[0]?.requestId}`);
  assert.deepEqual(
    runs.map(({ status, outcome, resolve }) => [status, outcome, resolve === null]),
    [
      ['waiting_confirmation', null, true],
      ['failed', 'unknown', false],
      ['completed', null, true],
    ],
  );
  assert.ok(counts.turns >= 4 && counts.tokens.prompt > 0);
  await holdfast.close();
});

check('a run that ended on an unknown call says so until that is known, and then that it can go on', async (t) => {
  let laterMs = 0;
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + laterMs };
  const { holdfast, report } = await night(join(await temporaryFolder(t), 'data'), clock);
  const { runtime } = holdfast;
  const before = report.runs.find(({ status }) => status === 'failed');
  assert.match(before?.reason ?? '', /unknown/);
  const call = report.calls.find(({ outcome }) => outcome?.state === 'unknown');
  laterMs = HOUR_MS; // the call's lease is over
  await settleByPerson(runtime.calls, runtime.principal, call?.statusRef ?? '', {
    verdict: 'done',
    reason: 'It was seen.',
  });
  const now = runtime.calls.clock.nowMs();
  const after = await makeReport(runtime, runtime.principal, { since: 0, now });
  const run = after.runs.find(({ status }) => status === 'failed');
  const goOn = `holdfast runs resume ${run?.runId}`;
  assert.deepEqual(
    [after.counts.unknown, run?.outcome, run?.reason, run?.resolve],
    [0, null, `What was unknown of a call when it ended is known by now; to go on: ${goOn}`, goOn],
  );
  await holdfast.close();
});

check('no text of an agent becomes markup, moves other text, or shows a secret', async (t) => {
  const { holdfast, report } = await night(join(await temporaryFolder(t), 'data'));
  const html = reportHtml(report);
  assert.doesNotMatch(html, /<script|hunter2|\u202e|\u200b/);
  assert.match(html, /&#60;script&#62;alert\(1\)&#60;\/script&#62;\\u202e/);
  assert.doesNotMatch(html, /https?:|src=|href=|@import|url\(/);
  assert.match(html, /default-src 'none'/);
  const document = JSON.stringify(reportDocument(report));
  assert.doesNotMatch(document, /hunter2/);
  await holdfast.close();
});

check('only what was touched since then is told, but what waits or stands open always', async (t) => {
  const { holdfast } = await night(join(await temporaryFolder(t), 'data'));
  const { runtime } = holdfast;
  const now = runtime.calls.clock.nowMs();
  const later = await makeReport(runtime, runtime.principal, { since: now + HOUR_MS, now });
  assert.deepEqual([later.counts.runs, later.counts.waiting], [1, 1]);
  const other = { ...runtime.principal, tenant: 'somebody-else' };
  const { counts } = await makeReport(runtime, other, { since: 0, now });
  assert.deepEqual([counts.runs, counts.calls, counts.waiting], [0, 0, 0]);
  await assert.rejects(makeReport(runtime, runtime.principal, { since: -1, now }), { code: 'INVALID_VALUE' });
  await holdfast.close();
});

check('a supervised run tells what was found and how it ended, and its repair is told once', async (t) => {
  const world = await openSupervised({ dataDir: join(await temporaryFolder(t), 'data') });
  await world.agent.run('Write the total.');
  const { runtime } = world.holdfast;
  const now = runtime.calls.clock.nowMs();
  const report = await makeReport(runtime, runtime.principal, { since: 0, now });
  assert.deepEqual([report.counts.runs, report.calls.length], [2, 2]);
  const [own] = report.runs.filter((run) => run.parentRunId === null);
  assert.deepEqual([own?.supervision?.status, own?.supervision?.repairs], ['verified', 1]);
  const ofRuns = report.runs.reduce((sum, run) => sum + run.tokens.prompt, 0);
  assert.ok((own?.supervision?.tokens.prompt ?? 0) > 0);
  assert.equal(report.counts.tokens.prompt, ofRuns + (own?.supervision?.tokens.prompt ?? 0));
  assert.match(reportHtml(report), /result verified \(independent_review_passed\), 2 reviewed, 1 repaired/);
  await world.holdfast.close();
});

check('a supervision that stands still is told however long ago its run was touched', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const died = (point: string): void => {
    if (point === 'auto-review-started') throw new Error('died');
  };
  const world = await openSupervised({ dataDir, options: { faults: { reach: died } } });
  await assert.rejects(world.agent.run('Write the total.'), /died/);
  const { runtime } = world.holdfast;
  const later = runtime.calls.clock.nowMs() + HOUR_MS;
  const { runs } = await makeReport(runtime, runtime.principal, { since: later, now: later });
  assert.deepEqual(
    runs.map(({ runId, supervision, resolve }) => [supervision?.status, resolve === `holdfast runs resume ${runId}`]),
    [['reviewing', true]],
  );
  const stranger = { ...runtime.principal, tenant: 'another' };
  assert.deepEqual(await runtime.autonomy.openPlaces(stranger), []);
  await world.holdfast.close();
});

check('what is handed back, and what was tampered with, does not look verified', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const world = await openSupervised({ dataDir, author: authorOf('total 1') });
  await world.agent.run('Write the total.');
  const { runtime } = world.holdfast;
  await runtime.store.write('test.tamper', (tx) => tx.run("UPDATE auto_mode_runs SET status = 'verified'", []));
  const report = await makeReport(runtime, runtime.principal, { since: 0, now: runtime.calls.clock.nowMs() });
  const [own] = report.runs.filter((run) => run.parentRunId === null);
  assert.deepEqual(
    [own?.supervision?.status, own?.supervision?.reason, own?.supervision?.claimed],
    ['failed', 'safety_boundary', 'verified'],
  );
  assert.match(reportHtml(report), /result failed \(safety_boundary; it claims verified\)/);
  await world.holdfast.close();
});
