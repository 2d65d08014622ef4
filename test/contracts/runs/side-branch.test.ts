import { systemClock } from '../../../src/core/index.ts';
import {
  type ClosedSideBranch,
  type MessageParts,
  newMessage,
  type RunConfig,
  runConfig,
  snapshotOf,
  type TraceMessage,
  withSnapshot,
} from '../../../src/runs/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { type Desk, desk, scripted } from './agents.ts';
import { QUIET } from './config-fixtures.ts';

const REPLIES = {
  compression: '[[SUMMARY]] compacted',
  reflection: 'reflection complete',
  knowledge_eval: '{"evaluations":[]}',
} as const;
type Kind = keyof typeof REPLIES;
const KINDS = Object.keys(REPLIES) as readonly Kind[];

interface Crashed {
  readonly kind: Kind;
  readonly maxTurns: number;
  readonly startIteration: number;
  readonly config: RunConfig;
  readonly branchTurn: string;
  readonly neighbour?: string;
}

/** A run whose side branch stored a turn, and died before it counted it. */
async function crashed(t: Parameters<typeof desk>[0], of: Crashed) {
  const model = scripted(REPLIES[of.kind], 'main complete');
  const at = await desk(t, { model });
  const traceId = of.config.traceId ?? '';
  const branchId = `${of.kind}_persisted`;
  const branch = {
    type: of.kind,
    branch_id: branchId,
    start_head_seq: 1,
    start_sequence: 2,
    start_iteration: of.startIteration,
    max_turns: of.maxTurns,
    turns_used: 0,
  };
  const context = withSnapshot(
    { agent_mode: 'legacy', agent_mode_revision: 1, active_side_branch: branch },
    snapshotOf(of.config, { memoryIdentity: null }),
  );
  const { traces } = at.home;
  await traces.createTrace({ traceId, mode: 'agent', task: 'resume branch', model: 'fake', context, headSequence: 1 });
  await traces.updateGoalTree(traceId, { mission: 'resume' });
  const own = { branchType: of.kind, branchId };
  const stored: Omit<MessageParts, 'traceId'>[] = [
    { role: 'user', sequence: 1, content: 'main' },
    { role: 'user', sequence: 2, content: 'branch instruction', parentSequence: 1, ...own },
    { role: 'assistant', sequence: 3, content: turn(of.branchTurn), parentSequence: 2, ...own },
  ];
  const beside = { branchType: of.kind, branchId: 'neighbor-branch', parentSequence: 1 };
  if (of.neighbour !== undefined)
    stored.push({ role: 'assistant', sequence: 4, content: turn(of.neighbour), ...beside });
  for (const parts of stored) await traces.addMessage(newMessage({ traceId, ...parts }, systemClock));
  await traces.updateTrace(traceId, { headSequence: 1 });
  return { ...at, model, traceId, branchId };
}

const turn = (text: string) => ({ text, tool_calls: [] });

const ownTurns = async ({ home }: Desk, traceId: string, kind: Kind, branchId: string): Promise<TraceMessage[]> =>
  (await home.traces.getTraceMessages(traceId)).filter(
    (one) => one.role === 'assistant' && one.branchType === kind && one.branchId === branchId,
  );

for (const kind of KINDS) {
  const budget = (): Crashed => ({
    kind,
    maxTurns: 2,
    startIteration: 99,
    config: runConfig({
      traceId: `trace-${kind}`,
      model: 'fake',
      maxIterations: 5,
      sideBranchMaxTurns: 9,
      knowledge: QUIET,
    }),
    branchTurn: 'first branch turn',
    neighbour: 'must not enter recovered history',
  });
  const exhausted = (): Crashed => ({
    kind,
    maxTurns: 1,
    startIteration: 0,
    config: runConfig({ traceId: `exhausted-${kind}`, model: 'fake', maxIterations: 2, knowledge: QUIET }),
    branchTurn: 'already used turn',
  });

  contract(
    'RUN-103 RUN-104 RUN-105',
    `${kind}: a recovered branch has the turns that its stored messages leave`,
    async (t) => {
      const of = budget();
      const at = await crashed(t, of);
      const result = await at.runner.run([], of.config);
      assert.equal((await ownTurns(at, at.traceId, kind, at.branchId)).length, 2);
      const first = JSON.stringify(at.model.prompts[0]);
      assert.ok(!first.includes('must not enter recovered history'));
      assert.ok(first.includes('first branch turn') && first.includes('branch instruction'));
      const trace = await at.home.traces.getTrace(at.traceId);
      assert.equal(Object.hasOwn(trace?.context ?? {}, 'active_side_branch'), false);
      assert.deepEqual([result.status, result.text], ['completed', 'main complete']);
      assert.equal((await ownTurns(at, at.traceId, kind, at.branchId)).at(-1)?.sequence, 5);
    },
  );

  contract('RUN-106 RUN-107 RUN-108', `${kind}: a branch whose turns are used up gets no other`, async (t) => {
    const of = exhausted();
    const at = await crashed(t, of);
    await at.runner.run([], of.config);
    assert.equal((await ownTurns(at, at.traceId, kind, at.branchId)).length, 1);
    assert.ok(!JSON.stringify(at.model.prompts).includes('already used turn'));
    assert.equal(at.model.prompts.length, 1, 'the main line has its own turn');
    const trace = await at.home.traces.getTrace(at.traceId);
    assert.equal(Object.hasOwn(trace?.context ?? {}, 'active_side_branch'), false);
  });
}

check('a branch that is opened has its turns before the main line, and never enters it', async (t) => {
  const closed: ClosedSideBranch[] = [];
  const model = scripted(
    { text: 'thinking', calls: [{ callId: 'c-1', toolName: 'safe_tool', arguments: {} }] },
    { text: 'noted', finishReason: 'length' },
    'main complete',
  );
  const at = await desk(t, { model });
  const kinds = [{ type: 'reflection', onClosed: (told: ClosedSideBranch) => void closed.push(told) }];
  const runner = at.again({ sideBranches: kinds });
  const config = runConfig({ traceId: 'with-branch', sideBranchMaxTurns: 3 });
  const context = withSnapshot({}, snapshotOf(config, { memoryIdentity: null }));
  await at.home.traces.createTrace({ traceId: 'with-branch', mode: 'agent', context });
  const opening = { type: 'reflection', instruction: 'reflect on this' };
  const branchId = await runner.openSideBranch('with-branch', opening, config);
  await assert.rejects(runner.openSideBranch('with-branch', opening, config), {
    code: 'RUN_BUSY',
    details: { trace_id: 'with-branch', branch_id: branchId },
    resolve: 'It is given its turns when the run is carried on: run([], …) of a runner',
  });
  await assert.rejects(runner.openSideBranch('with-branch', { ...opening, type: 'other' }, config), {
    code: 'RUN_BRANCH_UNKNOWN',
  });
  const result = await runner.run([{ role: 'user', content: 'go on' }], config);
  assert.deepEqual([result.text, result.cut, closed[0]?.cut], ['main complete', null, 'length']);
  assert.match(JSON.stringify(model.prompts[1]), /not allowed in a side branch/);
  assert.doesNotMatch(JSON.stringify(model.prompts[2]), /reflect on this|thinking|noted/);
  assert.deepEqual([closed.length, closed[0]?.branch.branchId, closed[0]?.text], [1, branchId, 'noted']);
  assert.deepEqual(at.effects, []);
  const events = await at.home.traces.getEvents('with-branch');
  assert.deepEqual(events.find((event) => event.type === 'side_branch_closed')?.data['turns_used'], 2);
});

check('a stored branch that does not read, or whose kind nobody registered, stops the run', async (t) => {
  const at = await desk(t);
  const config = runConfig();
  for (const [traceId, active_side_branch, code] of [
    ['damaged', { type: 'reflection', branch_id: 'b', max_turns: -1 }, 'TRACE_CORRUPT'],
    [
      'unknown',
      {
        type: 'other',
        branch_id: 'b',
        start_head_seq: 0,
        start_sequence: 1,
        start_iteration: 0,
        max_turns: 1,
        turns_used: 0,
      },
      'RUN_BRANCH_UNKNOWN',
    ],
  ] as const) {
    const context = withSnapshot({ active_side_branch }, snapshotOf(config, { memoryIdentity: null }));
    await at.home.traces.createTrace({ traceId, mode: 'agent', context });
    await assert.rejects(at.runner.run([], runConfig({ traceId })), { code }, traceId);
  }
});
