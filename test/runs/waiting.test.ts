import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

const decider = join(import.meta.dirname, 'decider.ts');
const decideElsewhere = (dataDir: string, decision: 'approve' | 'reject') =>
  promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', decider, dataDir, decision]);

const asking = () => ({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });

check('a run that waits here goes on when another process decides, either way', async (t) => {
  for (const [decision, text] of [
    ['approve', /told: \{"ok":true\}/],
    ['reject', /APPROVAL_DENIED/],
  ] as const) {
    const { holdfast, dataDir } = await openDesk(t);
    const run = await holdfast.agent(asking()).run('go');
    const ended = run.wait();
    await decideElsewhere(dataDir, decision);
    await ended;
    assert.equal(run.status, 'completed');
    assert.match(run.text, text);
  }
});

check('a parent that waits for its child goes on when another process decides below', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const child = holdfast.agent({ ...asking(), name: 'helper' });
  const model = callsThenDone([{ name: 'ask_helper' }]);
  const parent = holdfast.agent({
    name: 'lead',
    children: [child],
    model: async (request) => {
      const reply = await model(request);
      if (typeof reply === 'string' || !reply.calls) return reply;
      return { calls: reply.calls.map((call) => ({ ...call, arguments: { task: 'x' } })) };
    },
  });
  const run = await parent.run('go');
  const ended = run.wait();
  await decideElsewhere(dataDir, 'approve');
  await ended;
  assert.equal(run.status, 'completed');
});

check('an expired request carries its run on, with nothing run', async (t) => {
  const { holdfast } = await openDesk(t, { approvalExpiresMs: 50 });
  const run = await holdfast.agent(asking()).run('go');
  await run.wait();
  assert.equal(run.status, 'completed');
  assert.match(run.text, /APPROVAL_EXPIRED/);
});

check('a run that is stopped elsewhere, or decided here, is waited for no longer', async (t) => {
  const { holdfast } = await openDesk(t);
  const agent = holdfast.agent(asking());
  const stopped = await agent.run('go');
  const ended = stopped.wait();
  await holdfast.runtime.runs.stop(holdfast.runtime.principal, stopped.id);
  assert.equal((await ended).status, 'stopped');
  const decided = await agent.run('go');
  const waited = agent.resume(decided.id).then((run) => run.wait());
  await sleep(30);
  await decided.approve(decided.pending[0]);
  assert.equal((await waited).status, 'completed');
});

check('however many runs wait, the feed is looked at once a tick, and not at all when none waits', async (t) => {
  const { holdfast, counts } = await openDesk(t);
  const agent = holdfast.agent(asking());
  const runs = await Promise.all(Array.from({ length: 20 }, () => agent.run('go')));
  const all = runs.map((run) => run.wait());
  await sleep(60);
  counts.reset();
  await sleep(200);
  assert.ok(counts.statementsOf('runs.news').length <= 12, 'one look for all of them');
  assert.equal(counts.statementsOf('runs.waiting').length, 0);
  for (const run of runs) await run.stop();
  await Promise.all(all);
  await sleep(50);
  counts.reset();
  await sleep(100);
  assert.equal(counts.statementsOf('runs.news').length, 0);
});

check(
  'however many requests wait, one timer a process looks for those whose time is over, and writes nothing',
  async (t) => {
    const { holdfast, counts } = await openDesk(t);
    const agent = holdfast.agent(asking());
    await Promise.all(Array.from({ length: 20 }, () => agent.run('go')));
    counts.reset();
    await sleep(2500);
    const looks = counts.statementsOf('approvals.due').length;
    assert.ok(looks >= 1 && looks <= 3, `${looks} looks`);
    const wrote = counts.events.filter((event) => event.kind === 'committed' && event.wrote);
    assert.deepEqual(
      wrote.flatMap((event) => ('names' in event ? event.names : [])).filter((name) => name !== 'instances.beat'),
      [],
    );
  },
);

check(
  'from a decision elsewhere to its call there are two commits: the run is taken with its pen, the call begins',
  async (t) => {
    let desk: Awaited<ReturnType<typeof openDesk>> | undefined;
    const before: string[] = [];
    const execute = (): { ok: boolean } => {
      for (const event of desk?.counts.events ?? [])
        if (event.kind === 'committed' && event.wrote) before.push(...event.names);
      return { ok: true };
    };
    desk = await openDesk(t);
    const { holdfast, dataDir, counts } = desk;
    const tools = [noteTool({ needsApproval: true, execute })];
    const run = await holdfast.agent({ model: callsThenDone([{}]), tools }).run('go');
    const ended = run.wait();
    await sleep(60);
    counts.reset();
    await decideElsewhere(dataDir, 'approve');
    await ended;
    assert.deepEqual(
      before.filter((name) => name !== 'instances.beat'),
      ['runs.take', 'calls.begin'],
    );
  },
);

check(
  'a run that comes to wait is written down in three commits, and nothing of those beside it is undone',
  async (t) => {
    const { holdfast, counts } = await openDesk(t);
    const agent = holdfast.agent(asking());
    counts.reset();
    await agent.run('go');
    const wrote = counts.events.filter((event) => event.kind === 'committed' && event.wrote);
    assert.deepEqual(
      wrote.flatMap((event) => ('names' in event ? event.names : [])).filter((name) => name !== 'instances.beat'),
      ['runs.start', 'runs.reply', 'sessions.release'],
    );
    await Promise.all(Array.from({ length: 20 }, () => agent.run('go')));
    assert.equal(counts.count('rolled_back'), 0);
  },
);
