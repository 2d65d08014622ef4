import type { ModelFunction } from '../../src/index.ts';
import { noteTool } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, untilRun } from './world.ts';

/** A run that makes one call; its side branches, which have no tools, ask for one all the same and then say a word. */
const model: ModelFunction = ({ tools, messages }) => {
  if (tools.length > 0)
    return messages.some(({ role }) => role === 'tool')
      ? 'done'
      : { calls: [{ callId: 'c1', toolName: 'take_note', arguments: { note: 'milk' } }] };
  const said = messages.at(-1)?.text ?? '';
  if (said === 'Was that wise?')
    return { text: 'Let me see.', calls: [{ callId: 'x', toolName: 'take_note', arguments: { note: 'a secret' } }] };
  return `It was (${messages.length}).`;
};

async function waitingRun(t: Parameters<typeof openWorld>[0]) {
  const world = await openWorld(t, { model, tools: [noteTool({ needsApproval: true })] });
  const agent = await world.client(['agent']);
  const approver = await world.client(['approver']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
  const { runs, principal } = world.holdfast.runtime;
  const open = (instruction: string) => runs.openSideBranch(principal, runId, { type: 'reflection', instruction });
  return { world, agent, approver, runId, pending, open, runs, principal };
}

check('the goal tree of a run is shown as it was put there, and null before that', async (t) => {
  const { agent, approver, runId, runs, principal } = await waitingRun(t);
  assert.deepEqual(await agent.showGoals(runId), { run_id: runId, goals: null });
  const tree = { mission: 'buy milk', goals: [{ title: 'find a shop', done: false }] };
  await runs.setGoals(principal, runId, tree);
  assert.deepEqual(await approver.showGoals(runId), { run_id: runId, goals: tree });
  assert.deepEqual((await agent.showRun(runId)).goals, tree);
  await assert.rejects(agent.showGoals('f'.repeat(32)), { code: 'RUN_NOT_FOUND', status: 404 });
});

check('side branches are listed as the run shows them, and one is told turn by turn', async (t) => {
  const { agent, approver, runId, pending, open } = await waitingRun(t);
  assert.deepEqual(await agent.listSideBranches(runId), { side_branches: [], next: null });
  const first = await open('Was that wise?');
  const shown = await agent.showSideBranch(runId, first);
  assert.deepEqual([shown.state, shown.instruction, shown.turns], ['open', 'Was that wise?', []]);
  await agent.resumeRun(runId).catch(() => undefined);
  const { digest } = await approver.showApproval(pending[0] ?? '');
  await approver.decide(pending[0] ?? '', { decision: 'approve', digest });
  const done = await untilRun(agent, runId, 'completed');
  const { side_branches: listed } = await agent.listSideBranches(runId);
  assert.deepEqual(
    listed.map(({ instruction, ...rest }) => (assert.equal(instruction, 'Was that wise?'), rest)),
    done.side_branches,
  );
  const told = await agent.showSideBranch(runId, first);
  assert.equal(told.state, 'closed');
  assert.deepEqual(told.turns[0], { text: 'Let me see.', cut: null, proposed: ['take_note'] });
  assert.equal(told.text, told.turns.at(-1)?.text);
  assert.ok(!JSON.stringify(told).includes('a secret'), 'arguments of what was not run are not shown');
});

check('the list of side branches has pages, and what is none of the run is not there', async (t) => {
  const { agent, runId, open, runs, principal } = await waitingRun(t);
  const ids: string[] = [];
  for (const instruction of ['one', 'two', 'three']) {
    ids.push(await open(instruction));
    await (await runs.resume(principal, runId)).ended;
  }
  const page = await agent.listSideBranches(runId, { limit: 2 });
  assert.deepEqual([page.side_branches.map((one) => one.branch_id), page.next], [ids.slice(0, 2), ids[1]]);
  const rest = await agent.listSideBranches(runId, { limit: 2, after: page.next ?? '' });
  assert.deepEqual([rest.side_branches.map((one) => one.instruction), rest.next], [['three'], null]);
  const { side_branches: all, next } = await agent.listSideBranches(runId, { limit: 3 });
  assert.deepEqual([all.length, next], [3, null]);
  const gone = { code: 'ACTION_GROUP_NOT_FOUND', status: 404 };
  const { session_id: session } = await agent.showRun(runId);
  await agent.stopRun(runId);
  await untilRun(agent, runId, 'stopped');
  const { run_id: other } = await agent.startRun({ task: 'go on', session_id: session });
  await untilRun(agent, other, 'completed');
  assert.deepEqual((await agent.listSideBranches(other)).side_branches, [], 'of its own turn alone');
  await assert.rejects(agent.showSideBranch(other, ids[0] ?? ''), gone);
  await assert.rejects(agent.listSideBranches(runId, { after: other }), gone);
  await assert.rejects(agent.showSideBranch('f'.repeat(32), ids[0] ?? ''), { code: 'RUN_NOT_FOUND', status: 404 });
});
