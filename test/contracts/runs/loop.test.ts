import { z } from 'zod';
import { type AgentRunner, runConfig, type RunBudgets, snapshotOf, withSnapshot } from '../../../src/runs/index.ts';
import { tool, ToolRegistry } from '../../../src/tools/index.ts';
import { assert, check, manualClock } from '../../support/index.ts';
import { noteTool } from '../../calls/desk.ts';
import { DONE, GIVEN_BACK, PLAIN, reasoningModel, repliesAsked, THINKING } from '../../runs/reasoning-model.ts';
import { APPROVE, batchOf, BOTH, desk, scripted, statusOf, TOOLS } from './agents.ts';

const GO = [{ role: 'user', content: 'go' }] as const;
const call = (callId: string, toolName: string) => ({ callId, toolName, arguments: {} });
const budgets = (over: Partial<RunBudgets>): RunBudgets => ({
  maxTokens: null,
  maxCostMicros: null,
  maxWallMs: null,
  ...over,
});

interface Held {
  readonly tools: ToolRegistry;
  readonly started: Promise<void>;
}

/** A tool that never answers, and says when it was started. */
function hanging(effect: 'read' | 'once'): Held {
  const { promise, resolve } = Promise.withResolvers<void>();
  const tools = new ToolRegistry();
  tools.register(
    tool({
      name: 'slow',
      description: 'never answers',
      inputSchema: z.object({}),
      effect,
      needsApproval: false,
      execute() {
        resolve();
        return new Promise(() => undefined);
      },
    }),
  );
  return { tools, started: promise };
}

async function stopped(t: Parameters<typeof desk>[0], effect: 'read' | 'once') {
  const at = await desk(t);
  const { tools, started } = hanging(effect);
  const runner = at.again({ tools, model: scripted({ calls: [call('c-1', 'slow')] }) });
  const running = runner.run(GO, runConfig({ traceId: 'slow-run', tools: ['slow'] }));
  await started;
  await assert.rejects(runner.run([], runConfig({ traceId: 'slow-run' })), {
    code: 'RUN_BUSY',
    details: { trace_id: 'slow-run' },
    resolve: "Wait for whoever carries the run out, or stop it: stop('slow-run') of a runner",
  });
  await assert.rejects(at.again({ tools }).run([], runConfig({ traceId: 'slow-run' })), { code: 'RUN_BUSY' });
  assert.equal((await runner.stop('slow-run')).status, 'stopping');
  return { at, result: await running };
}

check('a run in files whose last reply was cut says so, and keeps why beside the reply', async (t) => {
  const config = runConfig({ traceId: 'cut-run', tools: ['safe_tool'] });
  for (const finishReason of ['length', 'content_filter', 'stop'] as const) {
    const model = scripted({ text: 'half a', finishReason });
    const at = await desk(t, { model });
    const result = await at.runner.run(GO, config);
    const cut = finishReason === 'stop' ? null : finishReason;
    assert.deepEqual([result.status, result.text, result.cut], ['completed', 'half a', cut]);
    const told = (await at.home.traces.getTraceMessages('cut-run')).at(-1)?.content as Record<string, unknown>;
    assert.deepEqual(told, { text: 'half a', tool_calls: [], ...(cut === null ? {} : { finish_reason: cut }) });
  }
});

check('a run in files gives its model its own reasoning back, and another model plain text and calls', async (t) => {
  const at = await desk(t);
  const tools = new ToolRegistry();
  tools.register(noteTool({ effect: 'read' }));
  const config = (traceId: string) => runConfig({ traceId, tools: ['take_note'] });
  for (const [modelId, said] of [
    ['thinker', GIVEN_BACK],
    ['other', PLAIN],
  ] as const) {
    const model = reasoningModel([THINKING, []]);
    assert.equal((await at.again({ tools, model }).run(GO, config(modelId))).status, 'failed');
    assert.deepEqual(repliesAsked(model), [GIVEN_BACK]);
    const later = reasoningModel([DONE], modelId);
    assert.equal((await at.again({ tools, model: later }).run(GO, config(modelId))).text, 'Done.');
    assert.deepEqual(repliesAsked(later), [said]);
  }
});

check('stopping a run while it reads stops it; nothing is unknown', async (t) => {
  const { at, result } = await stopped(t, 'read');
  assert.equal(result.status, 'stopped');
  assert.equal(await statusOf(at, 'slow-run'), 'stopped');
});

check('stopping a run while a write is under way tells that its outcome is unknown', async (t) => {
  const { at, result } = await stopped(t, 'once');
  assert.equal(result.status, 'failed');
  assert.match(result.errorMessage ?? '', /unknown: slow: .*[^.]\.$/, 'the reason of the call, ended once');
  assert.equal((await batchOf(at, 'slow-run')).status, 'execution_unknown');
});

check('another process that stops a run is heard before the next step', async (t) => {
  const at = await desk(t);
  const model = scripted({ calls: [{ callId: 'safe-1', toolName: 'safe_tool', arguments: { label: 'x' } }] });
  const runner = at.again({
    model: async (request) => {
      const reply = await model(request);
      await at.home.traces.updateTrace('asked', { status: 'stopped' });
      return reply;
    },
  });
  const result = await runner.run(GO, runConfig({ ...TOOLS, traceId: 'asked' }));
  assert.equal(result.status, 'stopped');
  assert.deepEqual(at.effects, []);
  const batch = await batchOf(at, 'asked');
  assert.deepEqual([batch.status, batch.calls[0]?.executionStatus], ['completed', 'rejected']);
});

const usage = { inputTokens: 60, outputTokens: 40 };

check('budgets of tokens, of time and of turns end a run before the next turn', async (t) => {
  const at = await desk(t);
  const again = { calls: [{ callId: 'safe-1', toolName: 'safe_tool', arguments: { label: 'x' } }], usage };
  const clock = manualClock(Date.now());
  const of = (): AgentRunner =>
    at.again({
      clock,
      model: () => {
        clock.advance(1_000);
        return again;
      },
    });
  const tokens = await of().run(GO, runConfig({ ...TOOLS, budgets: budgets({ maxTokens: 250 }) }));
  assert.deepEqual([tokens.status, tokens.errorMessage], ['failed', 'The run has used up its budget of 250 tokens.']);
  assert.equal(at.effects.length, 3);
  const wall = await of().run(GO, runConfig({ ...TOOLS, budgets: budgets({ maxWallMs: 1_500 }) }));
  assert.match(wall.errorMessage ?? '', /1500 ms/);
  const turns = await of().run(GO, runConfig({ ...TOOLS, maxIterations: 2 }));
  assert.match(turns.errorMessage ?? '', /its 2 turns/);
});

check('budgets end a run before a turn of its side branch, which stays open', async (t) => {
  const at = await desk(t);
  let asked = 0;
  const runner = at.again({
    model: () => {
      asked += 1;
      return { calls: [{ callId: 's', toolName: 'safe_tool', arguments: { label: 'x' } }], usage };
    },
  });
  const config = runConfig({ ...TOOLS, traceId: 'spends', budgets: budgets({ maxTokens: 250 }) });
  await at.home.traces.createTrace({
    traceId: 'spends',
    mode: 'agent',
    task: 'go',
    context: withSnapshot({}, snapshotOf(config, { memoryIdentity: null })),
  });
  await runner.openSideBranch('spends', { type: 'reflection', instruction: 'Think.', maxTurns: 9 }, config);
  const { status, errorMessage } = await runner.run([], config);
  assert.deepEqual([status, errorMessage], ['failed', 'The run has used up its budget of 250 tokens.']);
  assert.equal(asked, 3);
  const { context } = (await at.home.traces.getTrace('spends')) ?? { context: {} };
  assert.ok('active_side_branch' in context);
});

check('a budget of cost counts by the price of the host, and needs one', async (t) => {
  const at = await desk(t);
  const model = () => ({ calls: [{ callId: 's', toolName: 'safe_tool', arguments: { label: 'x' } }], usage });
  const config = runConfig({ ...TOOLS, budgets: budgets({ maxCostMicros: 250 }) });
  const priced = at.again({ model, costOf: (spent) => (spent.inputTokens ?? 0) + (spent.outputTokens ?? 0) });
  assert.match((await priced.run(GO, config)).errorMessage ?? '', /250 millionths/);
  await assert.rejects(at.again({ model }).run(GO, config), { code: 'RUN_CONFIG_INVALID' });
  const broken = () => {
    throw new Error('no price today');
  };
  for (const costOf of [() => -1, () => Number.NaN, broken])
    await assert.rejects(at.again({ model, costOf }).run(GO, config), {
      code: 'RUN_CONFIG_INVALID',
      message: /costOf/,
    });
});

check('reads run side by side where tools and configuration allow it, and answer in order', async (t) => {
  const at = await desk(t);
  const tools = new ToolRegistry();
  let open = 0;
  let most = 0;
  for (const name of ['one', 'two', 'three'])
    tools.register(
      tool({
        name,
        description: name,
        inputSchema: z.object({}),
        effect: 'read',
        async execute() {
          open += 1;
          most = Math.max(most, open);
          await new Promise((done) => setImmediate(done));
          open -= 1;
          return name;
        },
      }),
    );
  const calls = [call('c-1', 'one'), call('c-2', 'two'), call('c-3', 'three')];
  const names = ['one', 'two', 'three'];
  const answers = async (parallelToolExecution: boolean): Promise<unknown[]> => {
    most = 0;
    const runner = at.again({ tools, model: scripted({ calls }) });
    const { traceId } = await runner.run(GO, runConfig({ tools: names, parallelToolExecution }));
    assert.equal(await at.home.batches.get(traceId), null, 'reads that need nobody have no batch');
    const results = (await at.home.traces.getTraceMessages(traceId)).filter((one) => one.role === 'tool');
    return results.map((one) => (one.content as { text: string }).text);
  };
  assert.deepEqual(await answers(true), names);
  assert.equal(most, 3);
  assert.deepEqual(await answers(false), names);
  assert.equal(most, 1);
});

check('a model that fails ends the run as failed; it can be run again and goes on', async (t) => {
  const at = await desk(t);
  const failing = at.again({
    model: () => {
      throw new Error('no provider');
    },
  });
  const first = await failing.run(GO, runConfig({ traceId: 'retried' }));
  assert.deepEqual([first.status, first.errorMessage?.startsWith('MODEL_FAILED')], ['failed', true]);
  const second = await at.again({ model: () => 'here' }).run([], runConfig({ traceId: 'retried' }));
  assert.deepEqual([second.status, second.text], ['completed', 'here']);
  await assert.rejects(failing.run(GO, runConfig({ traceId: 'retried' })), { code: 'RUN_ENDED' });
});

check('an approved run of a project goes on with the runner of that project', async (t) => {
  const at = await desk(t);
  const own: string[] = [];
  const project = at.again({
    model: () => {
      own.push('asked');
      return 'from the project';
    },
  });
  const config = runConfig({ ...TOOLS, traceId: 'of-project', context: { project_name: 'demo' } });
  await at.again({ model: scripted({ calls: [{ ...DANGEROUS }] }) }).run(GO, config);
  const batch = await batchOf(at, 'of-project');
  await assert.rejects(at.runner.decide('of-project', batch.batchId, APPROVE), { code: 'RUN_PROJECT_UNKNOWN' });
  assert.equal((await batchOf(at, 'of-project')).status, 'pending', 'nothing was decided');
  const projects = new Map([['demo', async () => ({ runner: project, config: runConfig() })]]);
  const host = at.again({ projects });
  await host.decide('of-project', batch.batchId, APPROVE);
  await host.running.get('of-project');
  assert.deepEqual(own, ['asked']);
  assert.deepEqual(at.effects, BOTH.slice(0, 1));
});

const DANGEROUS = { callId: 'danger-1', toolName: 'dangerous_tool', arguments: { value: 1, fixed: 'fixed' } };

check('a run is resumed with the prompt and the settings it began with, and refuses another prompt', async (t) => {
  const asked: unknown[] = [];
  const at = await desk(t, {
    model: async ({ messages, settings }) => {
      asked.push([messages[0], settings?.temperature]);
      return asked.length === 1 ? { calls: [DANGEROUS] } : 'done';
    },
  });
  const config = runConfig({ ...TOOLS, traceId: 'bound', systemPrompt: 'be brief', temperature: 0.5 });
  await at.runner.run(GO, config);
  const { batchId } = await batchOf(at, 'bound');
  const later = at.again();
  await later.decide('bound', batchId, [{ toolCallId: 'danger-1', decision: 'reject' }]);
  await later.running.get('bound');
  const prompt = { role: 'system', text: 'be brief' };
  assert.deepEqual(asked, [
    [prompt, 0.5],
    [prompt, 0.5],
  ]);
  await at.home.traces.updateTrace('bound', { status: 'failed' });
  const another = runConfig({ traceId: 'bound', systemPrompt: 'be long' });
  await assert.rejects(later.run([], another), { code: 'RUN_PROMPT_CHANGED' });
});
