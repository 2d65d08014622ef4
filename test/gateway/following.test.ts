import { LIMITS } from '../../src/core/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { SlowModel } from '../runs/slow-model.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, PEOPLE, untilRun } from './world.ts';

const BOUND = LIMITS.runsCarriedOnAtOnce;

check('many decisions over HTTP begin no more turns at once than the bound, and every run goes on', async (t) => {
  const model = new SlowModel();
  const world = await openWorld(t, { model: model.turn, tools: [noteTool({ needsApproval: true })] });
  await world.holdfast.carryOnDecided();
  const agent = await world.client(['agent']);
  const approver = await world.client(['approver']);
  const started = [];
  for (let i = 0; i < BOUND + 4; i += 1) started.push((await agent.startRun({ task: `task ${i}` })).run_id);
  const decided = started.map(async (runId) => {
    const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
    const { digest } = await approver.showApproval(pending[0] ?? '');
    return (await approver.decide(pending[0] ?? '', { decision: 'approve', digest })).run_continues;
  });
  assert.deepEqual([...new Set(await Promise.all(decided))], [true]);
  await model.untilBegun(BOUND);
  assert.equal(model.now, BOUND);
  model.letGo();
  for (const runId of started) await untilRun(agent, runId, 'completed');
  assert.equal(model.most, BOUND);
});

check('a decided run of an agent that the following process does not know does not go on in it', async (t) => {
  const world = await openWorld(t);
  const { holdfast: other } = await openDesk(t, { dataDir: world.dataDir, approver: PEOPLE });
  await world.holdfast.carryOnDecided();
  const model = callsThenDone([{}]);
  const run = await other.agent({ name: 'strange', model, tools: [noteTool({ needsApproval: true })] }).run('go');
  const approver = await world.client(['approver']);
  const [request] = run.pending;
  assert.ok(request);
  const decided = await approver.decide(request.requestId, { decision: 'approve', digest: request.digest });
  assert.equal(decided.run_continues, false);
  assert.equal((await run.refresh()).status, 'waiting_confirmation');
});
