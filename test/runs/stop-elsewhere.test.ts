import type { FunctionReply } from '../../src/index.ts';
import { assert, check, manualClock } from '../support/index.ts';
import { noteTool, openDesk } from '../calls/desk.ts';

check('once a stop is committed elsewhere, no write begins, however soon after it the run comes to it', async (t) => {
  const here = await openDesk(t);
  const there = await openDesk(t, { dataDir: here.dataDir });
  let runId = '';
  let posted = 0;
  const look = noteTool({
    name: 'look',
    effect: 'read',
    execute: async (_input, call) => {
      runId = call.runId ?? '';
      await there.holdfast.runtime.runs.stop(there.holdfast.runtime.principal, runId);
      return { ok: true };
    },
  });
  const post = noteTool({ execute: () => ({ at: (posted += 1) }) });
  const calls = ['look', 'take_note'].map((toolName) => ({ callId: toolName, toolName, arguments: { note: 'x' } }));
  const model = () => ({ calls });
  const run = await here.holdfast.agent({ model, tools: [look, post] }).run('go');
  assert.deepEqual([posted, run.status, run.id], [0, 'stopped', runId]);
});

for (const [what, replies] of [
  ['its last turn', ['all done']],
  ['a turn whose call waits', [{ calls: [{ callId: 'c1', toolName: 'take_note', arguments: { note: 'x' } }] }]],
  [
    'a turn whose call needs nobody',
    [{ calls: [{ callId: 'c1', toolName: 'look', arguments: { note: 'x' } }] }, 'all done'],
  ],
] as const satisfies readonly (readonly [string, readonly FunctionReply[]])[])
  check(`a run that is stopped elsewhere in ${what} is stopped, and nothing waits in it`, async (t) => {
    const here = await openDesk(t);
    const there = await openDesk(t, { dataDir: here.dataDir });
    const { runs, principal, approvals } = there.holdfast.runtime;
    let looked = 0;
    const tools = [
      noteTool({ needsApproval: true }),
      noteTool({ name: 'look', effect: 'read', execute: () => ({ at: (looked += 1) }) }),
    ];
    const left: FunctionReply[] = [...replies];
    const model = async (): Promise<FunctionReply> => {
      const [run] = (await runs.list(principal, { limit: 1 })).items;
      await runs.stop(principal, run?.runId ?? '');
      return left.shift() ?? 'asked again';
    };
    const run = await here.holdfast.agent({ model, tools }).run('go');
    assert.deepEqual([run.status, run.pending, looked, left.length], ['stopped', [], 0, replies.length - 1]);
    assert.equal((await approvals.pending(principal)).items.length, 0);
    if (replies[0] === 'all done') assert.equal(run.text, 'all done', 'what was said is kept');
    await assert.rejects(run.resume(), { code: 'RUN_ENDED' });
    assert.equal((await there.holdfast.runtime.operations.audit()).passed, true);
  });

check('once a stop is committed elsewhere, no run is begun below the stopped one, and none is taken up', async (t) => {
  const here = await openDesk(t);
  const there = await openDesk(t, { dataDir: here.dataDir });
  const { runs, principal } = there.holdfast.runtime;
  let posted = 0;
  const look = noteTool({
    name: 'look',
    effect: 'read',
    execute: async (_input, call) => {
      await runs.stop(principal, call.runId ?? '');
      return { ok: true };
    },
  });
  const post = noteTool({ execute: () => ({ at: (posted += 1) }) });
  const posting = () => ({ calls: [{ toolName: 'take_note', arguments: { note: 'x' } }] });
  const helper = here.holdfast.agent({ name: 'helper', model: posting, tools: [post] });
  const model = () => ({
    calls: [
      { callId: 'look', toolName: 'look', arguments: { note: 'x' } },
      { callId: 'ask', toolName: 'ask_helper', arguments: { task: 'x' } },
    ],
  });
  const run = await here.holdfast.agent({ name: 'lead', model, tools: [look], children: [helper] }).run('go');
  const tree = await runs.tree(principal, run.id);
  assert.deepEqual([posted, run.status, tree.length], [0, 'stopped', 1]);
});

check('once a stop is committed elsewhere, nothing that was interrupted is sent again', async (t) => {
  const clock = manualClock(Date.now());
  // Long, so that moving the clock ends no process's own lease.
  const here = await openDesk(t, { clock, instanceLeaseMs: 600_000 });
  const there = await openDesk(t, { clock, instanceLeaseMs: 600_000, dataDir: here.dataDir });
  const { runs, principal } = there.holdfast.runtime;
  let sent = 0;
  let runId = '';
  const post = noteTool({
    effect: 'reconcilable',
    settlesWithinMs: 0,
    execute: () => {
      sent += 1;
      throw new Error('connection reset');
    },
    // While the other side thinks, somebody stops the run.
    status: async () => {
      if (runId !== '') await runs.stop(principal, runId);
      return runId === '' ? { state: 'unknown' } : { state: 'not_happened' };
    },
  });
  const model = () => ({ calls: [{ callId: 'c1', toolName: 'take_note', arguments: { note: 'x' } }] });
  const run = await here.holdfast.agent({ model, tools: [post] }).run('go');
  assert.deepEqual([run.status, sent], ['failed', 1]);
  runId = run.id;
  clock.advance(60_000);
  await run.resume();
  assert.deepEqual([run.view.outcome, sent], ['unknown', 1]);
});
