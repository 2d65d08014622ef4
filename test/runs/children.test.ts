import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { viewOfRun } from '../../src/app/index.ts';
import type { Policy } from '../../src/approvals/index.ts';
import { type AgentOptions, type FunctionReply, functionModel, Holdfast, type ModelFunction } from '../../src/index.ts';
import { armFaults, assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

/** A lead that gives these tasks to `ask_helper` in one reply and then says what it was told. */
function lead(...tasks: readonly string[]): ModelFunction {
  return ({ messages }): FunctionReply => {
    if (messages.some((message) => message.role === 'assistant'))
      return { text: messages.flatMap((message) => (message.role === 'tool' ? [message.text] : [])).join(' | ') };
    return { calls: tasks.map((task, i) => ({ callId: `ask-${i}`, toolName: 'ask_helper', arguments: { task } })) };
  };
}

/** Gives one task to the agent of that name, and says what it was told. */
const asking =
  (name: string): ModelFunction =>
  ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `up: ${messages.at(-1)?.text ?? ''}`
      : { calls: [{ toolName: `ask_${name}`, arguments: { task: 'please' } }] };

const helper = (given: Partial<AgentOptions> = {}): AgentOptions => ({
  name: 'helper',
  model: callsThenDone([{}]),
  tools: [noteTool({ needsApproval: true })],
  ...given,
});

check('a child run is a run of its own below its parent, and its calls pass the same gates', async (t) => {
  const { holdfast } = await openDesk(t);
  const child = holdfast.agent(helper());
  const run = await holdfast.agent({ name: 'lead', model: lead('a'), children: [child] }).run('go');
  assert.equal(run.status, 'waiting_confirmation');
  const { runs, principal } = holdfast.runtime;
  const [, below] = await runs.tree(principal, run.id);
  assert.equal(below?.parent?.runId, run.id);
  assert.notEqual(below?.place.rootFrameId, run.view.sessionId);
  assert.equal(run.pending[0]?.document['run_id'], below?.runId);
  await run.approve(run.pending[0]);
  assert.equal(run.status, 'completed');
  assert.match(run.text, /told: \{\\"ok\\":true\}/);
  assert.equal((await runs.tree(principal, run.id)).length, 2);
});

check('a child whose last reply was cut is told so to its parent, in the record and to its model', async (t) => {
  const { holdfast } = await openDesk(t);
  for (const finishReason of ['length', 'stop'] as const) {
    const model: ModelFunction = () => ({ text: 'half a', finishReason });
    const name = `helper_${finishReason}`;
    const child = holdfast.agent({ name, model, tools: [] });
    const run = await holdfast
      .agent({ name: `lead_${finishReason}`, model: asking(name), children: [child] })
      .run('go');
    assert.equal(run.status, 'completed');
    const { outcome } = run.view.calls[0] ?? assert.fail('no call');
    const output = outcome?.state === 'done' ? (outcome.output as Record<string, unknown>) : {};
    const [, below] = await holdfast.runtime.runs.tree(holdfast.runtime.principal, run.id);
    const whole = { run_id: below?.runId, text: 'half a' };
    assert.deepEqual(
      output,
      finishReason === 'stop'
        ? whole
        : { ...whole, cut: 'length', note: 'Its last reply was cut (length): the text may not be whole.' },
    );
    assert.equal(/text may not be whole/.test(run.text), finishReason === 'length');
  }
});

check('a rejection below is told to the child, and nothing of it runs', async (t) => {
  const { holdfast } = await openDesk(t);
  let ran = 0;
  const child = holdfast.agent(helper({ tools: [noteTool({ needsApproval: true, execute: () => (ran += 1) })] }));
  const run = await holdfast.agent({ name: 'lead', model: lead('a'), children: [child] }).run('go');
  await run.reject(run.pending[0], 'not today');
  assert.equal(run.status, 'completed');
  assert.match(run.text, /not today/);
  assert.equal(ran, 0);
});

check('children of one reply run side by side where the agent allows it, else one after the other', async (t) => {
  for (const childMode of ['parallel', 'sequential'] as const) {
    const { holdfast } = await openDesk(t);
    let now = 0;
    let most = 0;
    const model: ModelFunction = async () => {
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => void setTimeout(resolve, 100));
      now -= 1;
      return 'done';
    };
    const child = holdfast.agent(helper({ model }));
    const agent = { name: 'lead', model: lead('a', 'b', 'c'), children: [child], childMode, maxParallelChildren: 2 };
    const run = await holdfast.agent(agent).run('go');
    assert.equal(run.status, 'completed');
    assert.equal(most, childMode === 'parallel' ? 2 : 1);
  }
});

check('three levels: a grandchild waits, its approval comes at the top, and every run ends', async (t) => {
  const { holdfast } = await openDesk(t);
  const bottom = holdfast.agent({ ...helper(), name: 'bottom' });
  const middle = holdfast.agent({ name: 'middle', model: asking('bottom'), children: [bottom] });
  const run = await holdfast.agent({ name: 'top', model: asking('middle'), children: [middle] }).run('go');
  assert.equal(run.pending.length, 1);
  await run.approve(run.pending[0]);
  assert.equal(run.status, 'completed');
  const { runs, principal } = holdfast.runtime;
  const all = await runs.tree(principal, run.id);
  assert.deepEqual(
    all.map((one) => one.state.status),
    ['completed', 'completed', 'completed'],
  );
});

for (const childMode of ['sequential', 'parallel'] as const)
  check(
    `three levels, ${childMode}: policy, tools, schema and edits hold at the bottom as they do at the top`,
    async (t) => {
      const never: Policy = {
        name: 'never',
        revision: '1',
        decide: (call) => (JSON.stringify(call.arguments).includes('barred') ? 'deny' : 'allow'),
      };
      const { holdfast } = await openDesk(t, { policies: { policies: [never], mode: 'enforce' } });
      const ran: string[] = [];
      const execute = ({ note }: { readonly note: string }) => ran.push(note);
      const tools = [noteTool({ needsApproval: true, editable: ['note'], execute })];
      holdfast.agent({ name: 'other', model: () => 'x', tools: [noteTool({ name: 'shred', execute })] });
      const model = callsThenDone([{ note: 'barred' }, { note: 7 as never }, { name: 'shred' }, { note: 'first' }]);
      const bottom = holdfast.agent({ name: 'bottom', model, tools });
      const middle = holdfast.agent({ name: 'middle', model: asking('bottom'), children: [bottom], childMode });
      const run = await holdfast
        .agent({ name: 'top', model: asking('middle'), children: [middle], childMode })
        .run('go');
      assert.equal(run.pending.length, 1, 'only the call that may be made is asked about');
      const [request] = run.pending;
      await assert.rejects(run.approve(request, { editedArguments: { note: 7 } }), {
        code: 'APPROVAL_ARGUMENTS_INVALID',
      });
      await assert.rejects(run.approve(request, { editedArguments: { note: 'x', more: 1 } }), {
        code: 'APPROVAL_EDIT_FORBIDDEN',
      });
      assert.deepEqual(ran, []);
      await run.approve(request, { editedArguments: { note: 'edited' } });
      assert.equal(run.status, 'completed');
      assert.deepEqual(ran, ['edited']);
      const { runs, principal } = holdfast.runtime;
      const [, , below] = await runs.tree(principal, run.id);
      const view = await viewOfRun(holdfast.runtime, principal, below?.runId ?? '');
      assert.deepEqual(
        view.calls.map(({ outcome }) => outcome && ('code' in outcome ? outcome.code : outcome.state)),
        ['POLICY_DENIED', 'TOOL_ARGUMENTS_INVALID', 'TOOL_NOT_ALLOWED', 'done'],
      );
    },
  );

check('a child with an unknown outcome leaves the call above unknown, and nothing behind it starts', async (t) => {
  const { holdfast } = await openDesk(t);
  const tool = noteTool({
    execute: () => {
      throw new Error('gone');
    },
  });
  const child = holdfast.agent(helper({ tools: [tool] }));
  const run = await holdfast.agent({ name: 'lead', model: lead('a', 'b'), children: [child] }).run('go');
  assert.equal(run.status, 'failed');
  assert.equal(run.view.outcome, 'unknown');
  assert.deepEqual(
    run.view.calls.map((call) => call.outcome?.state ?? null),
    ['unknown', null],
  );
  await run.resume();
  assert.equal(run.status, 'failed');
  assert.equal((await holdfast.runtime.runs.tree(holdfast.runtime.principal, run.id)).length, 2);
});

check('a child that fails for good is told to the parent, which goes on', async (t) => {
  const { holdfast } = await openDesk(t);
  const child = holdfast.agent(helper({ model: callsThenDone([{}], [{}]), tools: [noteTool()], maxTurns: 1 }));
  const run = await holdfast.agent({ name: 'lead', model: lead('a'), children: [child] }).run('go');
  assert.equal(run.status, 'completed');
  assert.match(run.text, /NOT DONE \(RUN_CHILD_ENDED\): .*What it did before stands/);
});

check('a stop at the top stops every run below, where it waits and while it runs', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runs, principal, approvals } = holdfast.runtime;
  const child = holdfast.agent(helper());
  const run = await holdfast.agent({ name: 'lead', model: lead('a'), children: [child] }).run('go');
  await run.stop();
  const states = async (id: string) => (await runs.tree(principal, id)).map((one) => one.state.status);
  assert.deepEqual(await states(run.id), ['stopped', 'stopped']);
  assert.equal((await approvals.pending(principal)).items.length, 0);
  const started = Promise.withResolvers<void>();
  const slow: ModelFunction = ({ signal }) =>
    new Promise((resolve) => {
      started.resolve();
      signal.addEventListener('abort', () => resolve('late'), { once: true });
    });
  const busy = holdfast.agent({ name: 'busy', model: slow });
  const going = holdfast.agent({ name: 'boss', model: asking('busy'), children: [busy] }).run('go');
  await started.promise;
  const boss = (await runs.list(principal, { limit: 2 })).items.find((one) => one.agent === 'boss');
  await runs.stop(principal, boss?.runId ?? '');
  assert.equal((await going).status, 'stopped');
  assert.deepEqual(await states(boss?.runId ?? ''), ['stopped', 'stopped']);
});

check('the spending of children counts against the budget above', async (t) => {
  const { holdfast } = await openDesk(t);
  const usage = { inputTokens: 50, outputTokens: 50 };
  const child = holdfast.agent(helper({ model: () => ({ text: 'hm', usage }) }));
  const model: ModelFunction = async (request) => ({ ...((await lead('a')(request)) as object), usage });
  const run = await holdfast.agent({ name: 'lead', model, children: [child], budgets: { maxTokens: 200 } }).run('go');
  const { state } = await holdfast.runtime.runs.get(holdfast.runtime.principal, run.id);
  assert.equal(state.status === 'failed' && state.code, 'RUN_BUDGET_USED_UP');
  const own = { name: 'tight', model, children: [child], budgets: { maxTokens: 100 } };
  const tight = await holdfast.agent(own).run('go');
  const [, below] = await holdfast.runtime.runs.tree(holdfast.runtime.principal, tight.id);
  assert.match(below?.state.status === 'failed' ? below.state.message : '', /A run above this one has used/);
});

check('agents that ask each other come to an end', async (t) => {
  const { holdfast } = await openDesk(t);
  let agent = holdfast.agent({ name: 'n0', model: () => 'bottom' });
  for (let i = 1; i <= 10; i += 1)
    agent = holdfast.agent({ name: `n${i}`, model: asking(agent.name), children: [agent] });
  const deep = await agent.run('go');
  assert.equal(deep.status, 'completed');
  assert.match(deep.text, /runDepth/);
  assert.equal((await holdfast.runtime.runs.tree(holdfast.runtime.principal, deep.id)).length, 9);
});

check('a child that was carried on by itself wakes the parent that waits for it', async (t) => {
  const { holdfast } = await openDesk(t);
  const child = holdfast.agent(helper());
  const run = await holdfast.agent({ name: 'lead', model: lead('a'), children: [child] }).run('go');
  const { runs, principal, approvals } = holdfast.runtime;
  const [request] = run.pending;
  assert.ok(request);
  await approvals.decide(principal, [{ requestId: request.requestId, digest: request.digest, decision: 'approve' }]);
  const [, below] = await runs.tree(principal, run.id);
  await (await runs.resume(principal, below?.runId ?? '')).ended;
  await runs.running(run.id);
  await run.refresh();
  assert.equal(run.status, 'completed');
});

check('a child whose parent cannot be taken up has ended all the same, and says so', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const run = await holdfast.agent({ name: 'lead', model: lead('a'), children: [holdfast.agent(helper())] }).run('go');
  const { runs, principal, approvals } = holdfast.runtime;
  const [request] = run.pending;
  assert.ok(request);
  await approvals.decide(principal, [{ requestId: request.requestId, digest: request.digest, decision: 'approve' }]);
  const [, below] = await runs.tree(principal, run.id);
  await holdfast.close();
  const later = await Holdfast.open({ dataDir });
  t.after(() => later.close());
  const other = functionModel(lead('a'), 'other:1');
  const above = later.agent({ name: 'lead', model: other, children: [later.agent(helper())] });
  const again = later.runtime.runs;
  const { state } = await (await again.resume(principal, below?.runId ?? '')).ended;
  assert.equal(state.status, 'completed');
  assert.equal((await again.get(principal, run.id)).state.status, 'waiting_confirmation');
  await assert.rejects(above.resume(run.id), { code: 'RUN_CONFIG_CHANGED' }, 'whoever resumes it is told');
});

check('a child that was stopped above a run with an unknown outcome leaves the call above unknown', async (t) => {
  const faults = armFaults({ point: 'effect-sent', act: new Error('the process ends here') });
  const { holdfast, dataDir } = await openDesk(t, { faults });
  const { runs, principal } = holdfast.runtime;
  const bottom = holdfast.agent(helper({ name: 'bottom', tools: [noteTool()] }));
  const middle = holdfast.agent({ name: 'middle', model: asking('bottom'), children: [bottom] });
  const top = holdfast.agent({ name: 'top', model: asking('middle'), children: [middle] });
  await assert.rejects(top.run('go'));
  const found = (await runs.list(principal, { limit: 5 })).items;
  const of = (agent: string): string => found.find((one) => one.agent === agent)?.runId ?? '';
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  const orphan = db.prepare(`UPDATE traces SET owner_instance_id = 'a dead one' WHERE trace_id = ?`);
  for (const { runId } of found) orphan.run(runId);
  db.close();
  assert.equal((await runs.reconcile()).length, 3);
  await runs.stop(principal, of('middle'));
  const run = await top.resume(of('top'));
  assert.deepEqual([run.status, run.view.outcome, run.view.calls[0]?.outcome?.state], ['failed', 'unknown', 'unknown']);
});
