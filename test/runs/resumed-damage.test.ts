import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { AgentHandle, Holdfast, ModelFunction, Run, ToolDefinition } from '../../src/index.ts';
import { callsThenDone, type noteSchema, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { rowsOf, saved, tamper } from './damage-world.ts';

interface Case {
  readonly holdfast: Holdfast;
  readonly dataDir: string;
  readonly agent: AgentHandle;
  readonly run: Run;
}

async function runOf(
  t: TestContext,
  given: Partial<ToolDefinition<typeof noteSchema>>,
  model: ModelFunction = callsThenDone([{}]),
): Promise<Case> {
  const { holdfast, dataDir } = await openDesk(t);
  const agent = holdfast.agent({ model, tools: [noteTool(given)], retries: { most: 0 } });
  return { holdfast, dataDir, agent, run: await agent.run('go') };
}

/** Waits for a person; decided where a test says so, and carried on by nobody yet. */
const waiting = (t: TestContext): Promise<Case> => runOf(t, { needsApproval: true });

async function decided(t: TestContext): Promise<Case> {
  const one = await waiting(t);
  await approve(one);
  return one;
}

async function approve({ holdfast: { runtime }, run: { pending } }: Pick<Case, 'holdfast' | 'run'>): Promise<void> {
  const [request] = pending;
  assert.ok(request);
  const { requestId, digest } = request;
  await runtime.approvals.decide(runtime.principal, [{ requestId, digest, decision: 'approve' }]);
}

/** Its call threw, so that nobody knows what came of it. */
const unknown = (t: TestContext): Promise<Case> =>
  runOf(t, {
    execute: () => {
      throw new Error('the line is cut');
    },
  });

/** Its call is done, and its model failed after that. */
const failed = (t: TestContext): Promise<Case> =>
  runOf(t, {}, ({ messages }) => {
    if (messages.at(-1)?.role === 'tool') throw new Error('no more');
    return { calls: [{ toolName: 'take_note', arguments: { note: 'milk' } }] };
  });

/** As a process leaves it that could not carry it on. */
async function letGo(t: TestContext): Promise<Case> {
  const one = await unknown(t);
  tamper(one.dataDir, `UPDATE traces SET status = 'running', error_code = NULL, error_message = NULL`);
  return one;
}

const REQUEST = `UPDATE permission_requests SET canonical_arguments = '{"note":"silk"}'`;
const OPERATION = `UPDATE operations SET arguments_json = '{"note":"silk"}'`;
const LINE = `UPDATE action_events SET result = 'ok' WHERE type = 'result'`;

const CASES = {
  'one that waits for a person, its request': [waiting, 'waiting_confirmation', REQUEST, 'permission_requests'],
  'one that was decided, its request': [decided, 'waiting_confirmation', REQUEST, 'permission_requests'],
  'one whose outcome is unknown, its operation': [unknown, 'failed', OPERATION, 'operations'],
  'one whose model failed, a line of its ledger': [failed, 'failed', LINE, 'action_events'],
  'one that nobody has, its operation': [letGo, 'running', OPERATION, 'operations'],
} as const;

const isDamaged = (error: { code?: string; resolve?: string; message?: string }): boolean => {
  assert.match(error.resolve ?? '', /holdfast audit/);
  assert.match(error.message ?? '', /is left as it is/);
  return error.code === 'RUN_DAMAGED';
};

for (const [what, [made, status, change, table]] of Object.entries(CASES))
  check(`a run with a damaged record (${what}) is not taken, and stands exactly as it stood`, async (t) => {
    const { holdfast, dataDir, agent, run } = await made(t);
    const mend = saved(dataDir, table);
    tamper(dataDir, change);
    const rows = rowsOf(dataDir, run.id);
    await assert.rejects(agent.resume(run.id), isDamaged);
    await assert.rejects(run.resume(), isDamaged);
    await assert.rejects(agent.resume(run.id, { adopt: true }), isDamaged);
    assert.equal(rowsOf(dataDir, run.id), rows);
    const { runs, principal } = holdfast.runtime;
    assert.equal((await runs.get(principal, run.id)).state.status, status);
    mend();
    const { view } = await agent.resume(run.id);
    assert.notEqual(view.status, 'running', 'once it is mended it is carried on to its next stand');
  });

check('whoever carries on what is decided leaves a run with a damaged request as it is, and is told', async (t) => {
  const one = await decided(t);
  const { holdfast, dataDir, agent } = one;
  tamper(dataDir, REQUEST);
  const rows = rowsOf(dataDir, one.run.id);
  const good = await agent.run('go');
  await approve({ holdfast, run: good });
  const told: [string, unknown][] = [];
  await holdfast.carryOnDecided({ onError: (runId, error) => void told.push([runId, error]) });
  assert.equal((await good.wait()).status, 'completed');
  while (told.length === 0) await pause(5);
  assert.deepEqual(
    told.map(([runId, error]) => [runId, isDamaged(error as Error)]),
    [[one.run.id, true]],
  );
  assert.equal(rowsOf(dataDir, one.run.id), rows);
});

const BELOW = {
  'its request': REQUEST,
  'its row': `UPDATE traces SET context = '[]' WHERE parent_trace_id IS NOT NULL`,
};

for (const [what, change] of Object.entries(BELOW))
  check(`a run above one with a damaged record (${what}) is not taken either`, async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const helper = { model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] };
    const child = holdfast.agent({ ...helper, name: 'helper' });
    const model: ModelFunction = ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'done' : { calls: [{ toolName: 'ask_helper', arguments: { task: 'a' } }] };
    const run = await holdfast.agent({ name: 'lead', model, children: [child] }).run('go');
    const { runs, principal } = holdfast.runtime;
    const [, below] = await runs.tree(principal, run.id);
    assert.ok(below);
    await approve({ holdfast, run });
    const mends = [saved(dataDir, 'permission_requests'), saved(dataDir, 'traces', below.runId)];
    tamper(dataDir, change);
    const rows = [rowsOf(dataDir, run.id), rowsOf(dataDir, below.runId)];
    await assert.rejects(run.resume(), isDamaged);
    assert.deepEqual([rowsOf(dataDir, run.id), rowsOf(dataDir, below.runId)], rows);
    for (const mend of mends) mend();
    assert.equal((await run.resume()).status, 'completed');
  });

check('a run below one with a damaged record ends as it ends, and the one above is left as it is', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const helper = { model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] };
  const child = holdfast.agent({ ...helper, name: 'helper' });
  const model: ModelFunction = () => ({ calls: [{ toolName: 'ask_helper', arguments: { task: 'a' } }] });
  const run = await holdfast.agent({ name: 'lead', model, children: [child] }).run('go');
  const { runs, principal } = holdfast.runtime;
  const [, below] = await runs.tree(principal, run.id);
  assert.ok(below);
  await approve({ holdfast, run });
  tamper(
    dataDir,
    `UPDATE action_events SET result = 'ok' WHERE type = 'proposed'
     AND group_id IN (SELECT group_id FROM action_groups WHERE root_frame_id = '${run.view.sessionId}')`,
  );
  const rows = rowsOf(dataDir, run.id);
  const ended = await (await runs.resume(principal, below.runId)).ended;
  assert.equal(ended.state.status, 'completed');
  assert.equal(rowsOf(dataDir, run.id), rows);
});
