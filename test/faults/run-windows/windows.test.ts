import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, type RunView } from '../../../src/index.ts';
import { viewOfRun } from '../../../src/app/index.ts';
import { settleByPerson } from '../../../src/calls/index.ts';
import { assert, builtProgram, check, temporaryFolder } from '../../support/index.ts';
import { endLeases } from '../../support/leases.ts';
import { type ClerkOptions, defineClerks, WORLD } from './clerk.ts';

const program = builtProgram(join(import.meta.dirname, 'program.ts'));

/** Runs the program until it is dead; answers what it said, and whether it was killed. */
function start(dataDir: string, ...args: readonly string[]): Promise<{ said: string; killed: boolean }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, dataDir, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (said += text));
  return new Promise((resolve) => void child.on('close', (_code, by) => resolve({ said, killed: by === 'SIGKILL' })));
}

async function killedAt(t: TestContext, ...args: readonly string[]): Promise<string> {
  const dataDir = join(await temporaryFolder(t), 'data');
  assert.ok((await start(dataDir, ...args)).killed, `${args.join(' ')} was to be killed`);
  return dataDir;
}

/** Opened once the dead process is known to be dead and its leases are over. */
async function reopened(t: TestContext, dataDir: string, options: ClerkOptions = {}) {
  const clock = { nowMs: () => Date.now() + 120_000 };
  const holdfast = await Holdfast.open({ dataDir, clock });
  t.after(() => holdfast.close());
  const agents = defineClerks(holdfast, dataDir, options);
  const { runtime } = holdfast;
  const { items } = await runtime.runs.list(runtime.principal, { limit: 9 });
  const top = items.find((run) => run.parent === null);
  assert.ok(top);
  const view = (): Promise<RunView> => viewOfRun(runtime, runtime.principal, top.runId);
  const resume = async (): Promise<RunView> => {
    await agents.get(top.agent)?.resume(top.runId);
    return view();
  };
  return { runtime, view, resume, runs: items };
}

const world = (dataDir: string): number => {
  const log = join(dataDir, '..', WORLD);
  return existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0;
};
const states = (view: RunView) => view.calls.map((call) => call.outcome?.state ?? null);

/** Every result of a call has its message. */
function assertShown(dataDir: string): void {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'), { readOnly: true });
  const bare = db.prepare(`SELECT count(*) AS n FROM action_events e WHERE type = 'result'
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.event_id = e.event_id)`);
  assert.equal(bare.get()?.['n'], 0);
  db.close();
}

check('decided and not started: it waits with nothing pending, and runs once when it is resumed', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'asks', 'approvals.decide');
  const { view, resume } = await reopened(t, dataDir, { needsApproval: true });
  assert.equal((await view()).status, 'waiting_confirmation');
  assert.equal((await view()).pending.length, 0);
  assert.equal(world(dataDir), 0);
  assert.equal((await resume()).status, 'completed');
  assert.equal(world(dataDir), 1);
});

for (const at of ['calls.begin', 'tool'] as const)
  check(`executing (${at}): it is unknown, nothing runs again, and a verdict lets the run go on`, async (t) => {
    const dataDir = await killedAt(t, 'clerk', 'plain', at);
    const { runtime, view, resume } = await reopened(t, dataDir);
    const found = await view();
    assert.equal(found.status, 'failed');
    assert.equal(found.outcome, 'unknown');
    assert.equal((await resume()).outcome, 'unknown');
    const said = { verdict: 'not_done', reason: 'I looked.' } as const;
    await settleByPerson(runtime.calls, runtime.principal, found.calls[0]?.statusRef ?? '', said);
    assert.equal((await resume()).status, 'completed');
    assert.equal(world(dataDir), 0);
    assertShown(dataDir);
  });

check('receipt without result: the receipt proves the call, and the result is written', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'no-results', 'calls.receipts');
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  db.exec('DROP TRIGGER no_results');
  db.close();
  const { view, resume } = await reopened(t, dataDir);
  assert.deepEqual(states(await view()), ['done']);
  assert.equal((await resume()).status, 'completed');
  assert.equal(world(dataDir), 1);
  assertShown(dataDir);
});

check('result without message: they are one commit, so neither is there without the other', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'plain', 'calls.finish');
  assertShown(dataDir);
  let asked = 0;
  const { view, resume } = await reopened(t, dataDir, { asked: () => void (asked += 1) });
  assert.equal((await view()).outcome, 'interrupted');
  assert.deepEqual(states(await view()), ['done']);
  assert.equal((await resume()).status, 'completed');
  assert.equal(asked, 1, 'the reply that is stored is not asked for again');
  assert.equal(world(dataDir), 1);
});

check('orphaned call: a stored reply whose call never started is carried out, and not asked for again', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'plain', 'runs.reply');
  let asked = 0;
  const { view, resume } = await reopened(t, dataDir, { asked: () => void (asked += 1) });
  assert.equal((await view()).outcome, 'interrupted');
  assert.equal(world(dataDir), 0);
  assert.equal((await resume()).status, 'completed');
  assert.equal(asked, 1);
  assert.equal(world(dataDir), 1);
});

check('batch without status: a request that was written without the run’s status makes it wait', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'plain', 'runs.reply');
  assert.ok((await start(dataDir, 'clerk', 'resume-asks', 'runs.stand')).killed);
  const { view } = await reopened(t, dataDir, { needsApproval: true });
  assert.equal((await view()).status, 'waiting_confirmation');
  assert.equal((await view()).pending.length, 1);
  assert.equal(world(dataDir), 0);
});

check(
  'child finished and parent unaware: the parent takes what the child came to, and nobody is asked twice',
  async (t) => {
    const dataDir = await killedAt(t, 'lead', 'plain', 'runs.reply', '3');
    let asked = 0;
    const { view, resume, runs } = await reopened(t, dataDir, { asked: () => void (asked += 1) });
    assert.deepEqual(
      runs.map((run) => run.state.status),
      ['completed', 'running'],
    );
    assert.equal((await view()).outcome, 'interrupted');
    assert.equal((await resume()).status, 'completed');
    assert.equal(asked, 1);
    assert.equal(world(dataDir), 1);
  },
);

check('two processes at once: one has the run, the other is told, and the call is made once', async (t) => {
  const dataDir = await killedAt(t, 'clerk', 'asks', 'approvals.decide');
  const both = await Promise.all([1, 2].map(() => start(dataDir, 'clerk', 'resume-asks', 'never')));
  const said = both.map((one) => one.said).toSorted();
  assert.ok(said.includes('completed'), said.join());
  for (const one of said) assert.match(one, /^(completed|RUN_BUSY|RUN_ENDED)$/);
  assert.equal(world(dataDir), 1);
});

check('a dead instance beside a live one: only what the dead one had is let go', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const goOn = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const live = await Holdfast.open({ dataDir });
  t.after(() => live.close());
  const during = (): Promise<void> => {
    begun.resolve();
    return goOn.promise;
  };
  const going = defineClerks(live, dataDir, { during }).get('clerk')?.run('go');
  await begun.promise;
  assert.ok((await start(dataDir, 'clerk', 'plain', 'runs.reply')).killed);
  endLeases(dataDir, live.runtime.calls.workerId);
  const third = await Holdfast.open({ dataDir });
  t.after(() => third.close());
  assert.equal(third.runtime.reconciled.length, 1);
  const { items } = await third.runtime.runs.list(third.runtime.principal, { limit: 9 });
  assert.deepEqual(
    items.map(({ state }) => state.status === 'running' && state.ownerInstanceId !== null),
    [false, true],
  );
  goOn.resolve();
  assert.equal((await going)?.status, 'completed');
});

/** Of a process that is to look soon for what others have left. Milliseconds. */
const LEASE_MS = 2_000;

for (const [commit, status, outcome] of [
  ['runs.reply', 'running', 'interrupted'],
  ['calls.begin', 'failed', 'unknown'],
] as const)
  check(`a process that dies beside one that stays (${commit}): there its run is ${outcome} before long`, async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const stays = await Holdfast.open({ dataDir, instanceLeaseMs: LEASE_MS });
    t.after(() => stays.close());
    assert.ok((await start(dataDir, 'clerk', 'plain', commit)).killed);
    endLeases(dataDir, stays.runtime.calls.workerId);
    const { runs, principal } = stays.runtime;
    const [run] = (await runs.list(principal, { limit: 1 })).items;
    const look = () => viewOfRun(stays.runtime, principal, run?.runId ?? '');
    let view = await look();
    for (let looks = 0; looks < 400 && view.outcome === null; looks += 1, view = await look()) await sleep(25);
    assert.deepEqual([view.status, view.outcome], [status, outcome]);
    assert.equal(world(dataDir), 0);
  });
