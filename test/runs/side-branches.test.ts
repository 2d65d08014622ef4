import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { sideBranchesOf, sideBranchStoryDocument } from '../../src/app/index.ts';
import { runLines } from '../../src/cli/run-lines.ts';
import type { ModelFunction, ModelMessage } from '../../src/index.ts';
import { listEvents } from '../../src/sessions/index.ts';
import { assert, check, PLAIN } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

const opening = { type: 'reflection', instruction: 'What went well?' } as const;

/** Answers side branches (they have no tools) from a list, and the main line as a run that makes one call. */
function reflective(
  said: readonly (string | { readonly call: string })[],
  seen: (readonly ModelMessage[])[] = [],
): ModelFunction {
  const main = callsThenDone([{}]);
  let asked = 0;
  return (request) => {
    if (request.tools.length > 0) return main(request);
    seen.push(request.messages);
    const next = said[asked] ?? 'nothing more';
    asked += 1;
    return typeof next === 'string'
      ? next
      : { text: 'hm', calls: [{ callId: 'x1', toolName: next.call, arguments: { note: 'no' } }] };
  };
}

const waiting = (model: ModelFunction, more: object = {}) => ({
  model,
  tools: [noteTool({ needsApproval: true })],
  ...more,
});

check(
  'a side branch has its turn before the main line, sees what was before it, and its words stay out of the main line',
  async (t) => {
    const closed: unknown[] = [];
    const sideBranches = [{ type: 'review', onClosed: (said: { text: string | null }) => void closed.push(said.text) }];
    const { holdfast } = await openDesk(t, { sideBranches });
    const seen: (readonly ModelMessage[])[] = [];
    const run = await holdfast.agent(waiting(reflective(['It went well.'], seen))).run('go');
    const branchId = await run.openSideBranch({ type: 'review', instruction: 'Was that wise?' });
    assert.deepEqual(run.view.sideBranches, [
      { branchId, type: 'review', turnsUsed: 0, maxTurns: 5, state: 'open', text: '', cut: null },
    ]);
    await run.approve(run.pending[0]);
    assert.equal(run.status, 'completed');
    assert.deepEqual(run.view.sideBranches, [
      { branchId, type: 'review', turnsUsed: 1, maxTurns: 5, state: 'closed', text: 'It went well.', cut: null },
    ]);
    assert.deepEqual(closed, ['It went well.']);
    assert.deepEqual(
      seen[0]?.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'user'],
    );
    assert.equal(seen[0]?.at(-1)?.text, 'Was that wise?');
    assert.match(run.text, /^told: \{"ok":true\}$/);
  },
);

check('a side branch whose last turn was cut says so, to its kind and wherever it is shown', async (t) => {
  const closed: unknown[] = [];
  const onClosed = (said: { readonly text: string | null; readonly cut: string | null }): void =>
    void closed.push([said.text, said.cut]);
  const { holdfast } = await openDesk(t, { sideBranches: [{ type: 'review', onClosed }] });
  const main = callsThenDone([{}]);
  const model: ModelFunction = (request) =>
    request.tools.length > 0 ? main(request) : { text: 'half a', finishReason: 'length' };
  const run = await holdfast.agent(waiting(model)).run('go');
  const branchId = await run.openSideBranch({ type: 'review', instruction: 'Was that wise?' });
  await run.approve(run.pending[0]);
  assert.deepEqual(closed, [['half a', 'length']]);
  assert.deepEqual(
    run.view.sideBranches.map(({ text, cut }) => [text, cut]),
    [['half a', 'length']],
  );
  const { runtime } = holdfast;
  const [story] = await sideBranchesOf(runtime, runtime.principal, run.id);
  assert.deepEqual(story && sideBranchStoryDocument(story), {
    branch_id: branchId,
    type: 'review',
    turns_used: 1,
    max_turns: 5,
    state: 'closed',
    text: 'half a',
    cut: 'length',
    instruction: 'Was that wise?',
    turns: [{ text: 'half a', cut: 'length', proposed: [] }],
  });
  assert.match(runLines(run.view, PLAIN).join('\n'), /side branch review, .*: half a \(cut\)/);
});

check('a branch that waits beside its run has its turns and leaves the run waiting', async (t) => {
  const { holdfast } = await openDesk(t);
  const run = await holdfast.agent(waiting(reflective(['Fine.']))).run('go');
  await run.openSideBranch(opening);
  await run.resume();
  assert.equal(run.status, 'waiting_confirmation');
  assert.equal(run.pending.length, 1);
  assert.equal(run.view.sideBranches[0]?.state, 'closed');
  assert.equal(run.text, '');
});

check('a branch has no tools: what it calls all the same is refused and told, and its turns are bounded', async (t) => {
  const { holdfast } = await openDesk(t);
  let ran = 0;
  const seen: (readonly ModelMessage[])[] = [];
  const tools = [noteTool({ needsApproval: true, execute: () => (ran += 1) })];
  const call = { call: 'take_note' };
  const agent = holdfast.agent({ model: reflective([call, call, call, call], seen), tools, sideBranchMaxTurns: 2 });
  const run = await agent.run('go');
  await run.openSideBranch(opening);
  await run.resume();
  assert.equal(run.view.sideBranches[0]?.turnsUsed, 2);
  assert.equal(run.view.sideBranches[0]?.state, 'closed');
  assert.equal(seen.length, 2);
  assert.match(seen[1]?.at(-1)?.text ?? '', /^NOT STARTED \(TOOL_NOT_ALLOWED\)/);
  assert.equal(ran, 0);
  assert.equal(run.view.turnsUsed, 3, 'what a side branch spends is the run’s');
});

check(
  'one branch at a time, of a kind that is known, of a run that nobody carries out and that has not ended',
  async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const run = await holdfast.agent(waiting(reflective([]))).run('go');
    await assert.rejects(run.openSideBranch({ ...opening, type: 'gossip' }), { code: 'RUN_BRANCH_UNKNOWN' });
    for (const maxTurns of [0, 1001, 1.5])
      await assert.rejects(run.openSideBranch({ ...opening, maxTurns }), { code: 'INVALID_VALUE' });
    const open = await run.openSideBranch({ ...opening, maxTurns: 1 });
    await assert.rejects(run.openSideBranch(opening), {
      code: 'RUN_BUSY',
      details: { run_id: run.id, branch_id: open },
      resolve: `It is given its turns when the run is carried on: holdfast runs resume ${run.id}`,
    });
    const { runs, principal } = holdfast.runtime;
    const stranger = { ...principal, tenant: 'other' };
    await assert.rejects(runs.openSideBranch(stranger, run.id, opening), { code: 'RUN_NOT_FOUND' });
    await run.stop();
    await assert.rejects(run.openSideBranch(opening), { code: 'RUN_ENDED' });
    const started = Promise.withResolvers<void>();
    const slow: ModelFunction = ({ signal }) =>
      new Promise((resolve) => {
        started.resolve();
        signal.addEventListener('abort', () => resolve('late'), { once: true });
      });
    const going = holdfast.agent({ name: 'slow', model: slow }).run('go');
    await started.promise;
    const busy = (await runs.list(principal, { limit: 1 })).items[0]?.runId ?? '';
    const refusal = {
      code: 'RUN_BUSY',
      details: { run_id: busy },
      resolve: `Wait for whoever carries the run out, or stop it: holdfast runs stop ${busy}`,
    };
    await assert.rejects(runs.openSideBranch(principal, busy, opening), refusal);
    const beside = await openDesk(t, { dataDir });
    beside.holdfast.agent({ name: 'slow', model: slow });
    await assert.rejects(beside.holdfast.runtime.runs.resume(principal, busy), refusal);
    await runs.stop(principal, busy);
    await going;
  },
);

check('a budget ends a run in its side branch too, with the branch open, and more lets it go on', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const usage = { inputTokens: 60, outputTokens: 40 };
  const counted: ModelFunction = async (request) => {
    const said = await reflective(['Fine.'])(request);
    return typeof said === 'string' ? { text: said, usage } : { ...said, usage };
  };
  const run = await holdfast.agent(waiting(counted, { budgets: { maxTokens: 100 } })).run('go');
  await run.openSideBranch(opening);
  await run.resume();
  assert.equal(run.status, 'failed');
  assert.equal(run.view.sideBranches[0]?.turnsUsed, 0);
  await holdfast.close();
  const { holdfast: next } = await openDesk(t, { dataDir });
  const agent = next.agent(waiting(counted, { budgets: { maxTokens: 1000 } }));
  const again = await agent.resume(run.id, { adopt: true });
  assert.equal(again.view.sideBranches[0]?.state, 'closed');
  assert.equal(again.status, 'waiting_confirmation');
});

check(
  'side branch half-counted: killed between two turns, the stored ones count, and no turn is had twice',
  async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const agent = waiting(reflective([{ call: 'take_note' }, { call: 'take_note' }, 'Fine.']));
    const run = await holdfast.agent(agent).run('go');
    await run.openSideBranch({ ...opening, maxTurns: 3 });
    await holdfast.close();
    const program = join(import.meta.dirname, 'side-branch-program.ts');
    const { signal } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, dataDir, run.id]);
    assert.equal(signal, 'SIGKILL');
    const clock = { nowMs: () => Date.now() + 60_000 };
    const { holdfast: next } = await openDesk(t, { dataDir, clock });
    const seen: (readonly ModelMessage[])[] = [];
    const later = next.agent(waiting(reflective(['Fine.', 'more', 'more'], seen)));
    const resumed = await later.resume(run.id);
    assert.equal(resumed.view.sideBranches[0]?.turnsUsed, 3);
    assert.equal(seen.length, 1, 'two turns were stored before');
    assert.equal(resumed.view.sideBranches[0]?.text, 'Fine.');
  },
);

check('a goal tree stands beside a run, is shown with it, and goes with its session', async (t) => {
  const { holdfast } = await openDesk(t);
  const run = await holdfast.agent(waiting(reflective([]))).run('go');
  assert.equal(run.view.goals, null);
  const tree = { mission: 'Keep the notes.', children: [{ title: 'Take one', done: false }] };
  await run.setGoals(tree);
  assert.deepEqual(run.view.goals, tree);
  await assert.rejects(run.setGoals({ mission: 7 } as never), { code: 'TRACE_RECORD_INVALID' });
  const { runs, principal } = holdfast.runtime;
  await assert.rejects(runs.goals({ ...principal, tenant: 'other' }, run.id), { code: 'RUN_NOT_FOUND' });
  await run.stop();
  await assert.rejects(run.setGoals(tree), { code: 'RUN_ENDED' });
  assert.deepEqual(run.view.goals, tree);
});

check('what a side branch asks for all the same is written down without the secret fields of its tool', async (t) => {
  const { holdfast } = await openDesk(t);
  const calls = [
    { callId: 'x1', toolName: 'take_note', arguments: { note: '4711-blue' } },
    { callId: 'x2', toolName: 'take_note', arguments: '{"note":"4711-blue' },
    { callId: 'x3', toolName: 'other', arguments: { note: 'in the open' } },
  ];
  const main = callsThenDone([{}]);
  let asked = 0;
  const seen: string[] = [];
  const model: ModelFunction = (request) => {
    if (request.tools.length > 0) return main(request);
    seen.push(JSON.stringify(request.messages.slice(-4)));
    asked += 1;
    return asked === 1 ? { text: 'hm', calls } : 'Well.';
  };
  const tools = [noteTool({ needsApproval: true, secretFields: ['note'] })];
  const run = await holdfast.agent({ model, tools }).run('go');
  await run.openSideBranch({ ...opening, maxTurns: 2 });
  await run.approve(run.pending[0]);
  assert.equal(run.status, 'completed');
  const { store, principal } = holdfast.runtime;
  const { items } = await store.read('test', (tx) => listEvents(tx, principal, run.view.sessionId));
  const [turn] = items.filter(({ type }) => type === 'side_branch_turn').map(({ result }) => JSON.stringify(result));
  assert.doesNotMatch(turn ?? '', /4711/);
  assert.match(turn ?? '', /\[REDACTED\].*\[REDACTED\].*in the open/);
  assert.match(seen[1] ?? '', /x1.*\[REDACTED\].*x2/, 'and the model is shown what is written down');
});

check(
  'a side branch of a kind that is not known here is not closed untold: the run is left for whoever knows it',
  async (t) => {
    const closed: unknown[] = [];
    const sideBranches = [{ type: 'review', onClosed: (said: { text: string | null }) => void closed.push(said.text) }];
    const { holdfast, dataDir } = await openDesk(t, { sideBranches });
    const agent = waiting(reflective(['It went well.']), { name: 'reviewed' });
    const run = await holdfast.agent(agent).run('go');
    await run.openSideBranch({ type: 'review', instruction: 'Was that wise?' });
    await holdfast.close();
    const unknowing = await openDesk(t, { dataDir });
    await assert.rejects(unknowing.holdfast.agent(agent).resume(run.id), { code: 'RUN_BRANCH_UNKNOWN' });
    const { runs, principal } = unknowing.holdfast.runtime;
    assert.equal((await runs.get(principal, run.id)).state.status, 'waiting_confirmation', 'it stands as before');
    await unknowing.holdfast.close();
    const knowing = await openDesk(t, { dataDir, sideBranches });
    const later = await knowing.holdfast.agent(agent).resume(run.id);
    assert.deepEqual(closed, ['It went well.']);
    assert.equal(later.view.sideBranches[0]?.state, 'closed');
    assert.equal(later.status, 'waiting_confirmation');
  },
);
