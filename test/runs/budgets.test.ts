import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentOptions, FunctionReply, ModelFunction } from '../../src/index.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

const usage = { inputTokens: 60, outputTokens: 40 };
const counted: ModelFunction = async (request) => {
  const reply = (await callsThenDone([{}], [{}], [{}])(request)) as Exclude<FunctionReply, string> | string;
  return typeof reply === 'string' ? { text: reply, usage } : { ...reply, usage };
};
const forgetful: ModelFunction = callsThenDone([{}], [{}], [{}]);

const rows: readonly (readonly [what: string, turns: number, bounds: Partial<AgentOptions>, code: string])[] = [
  ['turns', 2, { maxTurns: 2 }, 'RUN_TURNS_USED_UP'],
  ['tokens', 2, { budgets: { maxTokens: 150 } }, 'RUN_BUDGET_USED_UP'],
  ['tokens to the last one', 2, { budgets: { maxTokens: 200 } }, 'RUN_BUDGET_USED_UP'],
  [
    'cost',
    3,
    { budgets: { maxCostMicros: 12 }, costOf: ({ outputTokens }) => (outputTokens ?? 0) / 10 },
    'RUN_BUDGET_USED_UP',
  ],
];
for (const [what, turns, bounds, code] of rows)
  check(
    `a run ends as failed when its ${what} are used up, what was done stands, and adopting more lets it go on`,
    async (t) => {
      const { holdfast } = await openDesk(t);
      const tools = [noteTool({ effect: 'read' })];
      const run = await holdfast.agent({ name: 'a', model: counted, tools, ...bounds }).run('go');
      assert.equal(run.status, 'failed');
      const { state, turnsUsed } = await holdfast.runtime.runs.get(holdfast.runtime.principal, run.id);
      assert.equal(state.status === 'failed' && state.code, code);
      assert.equal(turnsUsed, turns);
      assert.deepEqual(
        run.view.calls.map((call) => call.outcome?.state),
        Array.from({ length: turns }, () => 'done'),
      );
      await run.resume();
      assert.equal(run.status, 'failed');
    },
  );

check(
  'a price function that fails, or gives no amount or less than none, ends the run as failed, and nothing of the reply is written',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const broken = () => {
      throw new Error('no price today');
    };
    const wrong = [
      () => -1,
      () => Number.NaN,
      () => Number.POSITIVE_INFINITY,
      () => 'free' as unknown as number,
      broken,
    ];
    for (const [i, costOf] of wrong.entries()) {
      const run = await holdfast.agent({ name: `a${i}`, model: counted, costOf }).run('go');
      assert.deepEqual([run.status, run.view.calls.length], ['failed', 0]);
      assert.match(run.view.reason, /costOf/);
      const { state } = await holdfast.runtime.runs.get(holdfast.runtime.principal, run.id);
      assert.equal(state.status === 'failed' && state.code, 'RUN_CONFIG_INVALID');
    }
  },
);

check('a run whose provider counts no tokens is counted by its texts', async (t) => {
  const { holdfast } = await openDesk(t);
  const agent = { model: forgetful, tools: [noteTool({ effect: 'read' })], budgets: { maxTokens: 5 } };
  const run = await holdfast.agent(agent).run('a task of some length, so that it counts');
  assert.equal(run.status, 'failed');
  assert.equal(run.view.turnsUsed, 1);
});

check('wall time ends a run in the middle of a turn, and waiting counts', async (t) => {
  const { holdfast } = await openDesk(t);
  const slow: ModelFunction = async ({ signal }) => {
    await sleep(60_000, undefined, { signal }).catch(() => undefined);
    return 'too late';
  };
  const run = await holdfast.agent({ model: slow, budgets: { maxWallMs: 40 } }).run('go');
  const { state } = await holdfast.runtime.runs.get(holdfast.runtime.principal, run.id);
  assert.equal(state.status === 'failed' && state.code, 'RUN_BUDGET_USED_UP');
  const tools = [noteTool({ name: 'asks', needsApproval: true })];
  const waits = { name: 'waits', model: callsThenDone([{ name: 'asks' }]), tools, budgets: { maxWallMs: 300 } };
  const waiting = await holdfast.agent(waits).run('go');
  assert.equal(waiting.status, 'waiting_confirmation');
  await sleep(320);
  await waiting.approve(waiting.pending[0]);
  assert.equal(waiting.status, 'failed');
  assert.equal(waiting.view.calls[0]?.outcome?.state, 'done');
});

check('adopting a larger budget lets a run go on that had used up its own', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const tools = [noteTool({ effect: 'read' })];
  const run = await holdfast.agent({ model: counted, tools, maxTurns: 1 }).run('go');
  await holdfast.close();
  const { holdfast: next } = await openDesk(t, { dataDir });
  const agent = next.agent({ model: counted, tools, maxTurns: 9 });
  assert.equal((await agent.resume(run.id)).status, 'failed');
  assert.equal((await agent.resume(run.id, { adopt: true })).status, 'completed');
});

check('a budget of cost without a price is refused', async (t) => {
  const { holdfast } = await openDesk(t);
  assert.throws(() => holdfast.agent({ model: forgetful, budgets: { maxCostMicros: 1 } }), { code: 'INVALID_VALUE' });
  assert.throws(() => holdfast.agent({ model: forgetful, budgets: { maxTokens: 0 } }), { code: 'INVALID_VALUE' });
});

check('a child run whose agent has no price is asked for nothing under a budget of cost above it', async (t) => {
  const { holdfast } = await openDesk(t);
  let asked = 0;
  const child = holdfast.agent({
    name: 'child',
    model: () => {
      asked += 1;
      return 'done, at whatever cost';
    },
  });
  const ask = { callId: 'c', toolName: 'ask_child', arguments: { task: 'look' } };
  const parent = holdfast.agent({
    name: 'parent',
    children: [child],
    model: ({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'done' : { calls: [ask] }),
    budgets: { maxCostMicros: 1_000 },
    costOf: () => 1,
  });
  const { view } = await parent.run('go');
  const [call] = view.calls;
  assert.deepEqual([asked, call?.outcome?.state], [0, 'not_done']);
  assert.match(call?.outcome && 'reason' in call.outcome ? call.outcome.reason : '', /costOf/);
});

check('a run with a budget of cost goes on only where its agent has a price', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  let asked = 0;
  const model: ModelFunction = async (request) => {
    asked += 1;
    return counted(request);
  };
  const agent = { name: 'a', model, tools: [noteTool({ needsApproval: true })] };
  const run = await holdfast.agent({ ...agent, budgets: { maxCostMicros: 1_000 }, costOf: () => 1 }).run('go');
  const { principal } = holdfast.runtime;
  await holdfast.runtime.approvals.decide(
    principal,
    run.pending.map(({ requestId, digest }) => ({ requestId, digest, decision: 'approve' as const })),
  );
  await holdfast.close();
  const { holdfast: priceless } = await openDesk(t, { dataDir });
  const before = asked;
  const again = await priceless.agent(agent).resume(run.id);
  assert.deepEqual([again.status, asked], ['failed', before]);
  assert.match(again.view.reason, /costOf/);
  const { state } = await priceless.runtime.runs.get(principal, run.id);
  assert.equal(state.status === 'failed' && state.code, 'RUN_CONFIG_INVALID');
  await priceless.close();
  const { holdfast: next } = await openDesk(t, { dataDir });
  const priced = await next.agent({ ...agent, costOf: () => 1 }).resume(run.id);
  assert.equal(priced.status, 'waiting_confirmation');
});

check('a provider that counts more tokens than there are breaks no run: they are estimated', async (t) => {
  const { holdfast } = await openDesk(t);
  const boasting: ModelFunction = async (request) => {
    const reply = await callsThenDone([{}], [{}])(request);
    const most = { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: Number.MAX_SAFE_INTEGER };
    return typeof reply === 'string' ? { text: reply, usage: most } : { ...reply, usage: most };
  };
  const run = await holdfast.agent({ model: boasting, tools: [noteTool({ effect: 'read' })] }).run('go');
  assert.equal(run.status, 'completed');
  const { prompt, completion } = run.view.tokens;
  assert.ok(prompt > 0 && prompt < 1000 && completion > 0 && completion < 1000, `${prompt} and ${completion}`);
  const { items, damaged } = await holdfast.runtime.runs.list(holdfast.runtime.principal, { limit: 10 });
  assert.deepEqual([items.map(({ runId }) => runId), damaged], [[run.id], []]);
});
