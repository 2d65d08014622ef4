import { FeedPlaces } from '../../src/gateway/feed-places.ts';
import { GatewayRefusal } from '../../src/client/index.ts';
import { killedAt, rowsOf, runOfAgent, tamper } from '../runs/damage-world.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { leapingClock, openWorld, untilRun } from './world.ts';

const damaged = (error: unknown): boolean => {
  assert.ok(error instanceof GatewayRefusal);
  assert.deepEqual([error.code, error.status], ['RUN_DAMAGED', 500]);
  assert.match(error.message, /is left as it is/);
  return true;
};

check('a gateway on a folder with a damaged run serves the others, shows it, and moves nothing of it', async (t) => {
  const dataDir = await killedAt(t, 'lead', 'plain', 'tool');
  const [lead, clerk] = [runOfAgent(dataDir, 'lead'), runOfAgent(dataDir, 'clerk')];
  tamper(dataDir, `UPDATE operations SET arguments_json = '{"note":"silk"}'`);
  const rows = rowsOf(dataDir, clerk);
  const clock = { nowMs: () => Date.now() + 120_000 };
  const { client } = await openWorld(t, { holdfast: { dataDir, clock } });
  const agent = await client(['agent']);
  const shown = await agent.showRun(clerk);
  assert.deepEqual([shown.outcome, shown.damage?.code], ['unknown', 'OPERATION_RECORD_BROKEN']);
  assert.deepEqual([(await agent.showRun(lead)).outcome, (await agent.showRun(lead)).damage], ['interrupted', null]);
  await assert.rejects(agent.resumeRun(clerk), damaged);
  await assert.rejects(agent.stopRun(clerk), damaged);
  assert.equal(rowsOf(dataDir, clerk), rows);
  tamper(dataDir, `UPDATE traces SET context = '[]' WHERE trace_id = '${clerk}'`);
  const { requests, damaged: of } = await agent.listApprovals({ which: 'all' });
  assert.deepEqual([requests, of], [[], []]);
  const page = await agent.listRuns();
  assert.deepEqual(
    page.runs.map((run) => run.run_id),
    [lead],
  );
  assert.deepEqual(
    page.damaged.map((run) => [run.run_id, run.code]),
    [[clerk, 'RUN_RECORD_BROKEN']],
  );
});

check('an operation whose record is damaged is shown over HTTP with why, beside the others', async (t) => {
  const tools = [noteTool()];
  const model = callsThenDone([{ note: 'milk' }, { note: 'silk' }]);
  const { client, dataDir, holdfast } = await openWorld(t, { tools, model });
  const agent = await client(['agent']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  await untilRun(agent, runId, 'completed');
  const [sound, sick] = (await agent.listOperations()).operations;
  assert.deepEqual([sound?.damage, sick?.damage], [null, null]);
  const { principal } = holdfast.runtime;
  const entry = { seq: 1, tenantId: principal.tenant, kind: 'operation.settled', reference: sick?.status_ref ?? '' };
  const sessionOf = () => new FeedPlaces(holdfast.runtime).sessionOf(principal, entry);
  assert.equal(await sessionOf(), (await agent.showRun(runId)).session_id);
  const damage = 'A stored operation record is not what it must be: ';
  for (const [change, why] of [
    ['lease_until = 9223372036854775807', 'a stored number is beyond 2^53'],
    [`state = 'pending'`, 'it succeeded without a delivered outbox row and both receipts'],
  ]) {
    tamper(dataDir, `UPDATE outbox SET ${change} WHERE operation_pk = 1`);
    const shown = await agent.showOperation(sick?.status_ref ?? '');
    assert.deepEqual([shown.outcome, shown.progress, shown.damage], ['unknown', 'unknown', `${damage}${why}.`]);
    assert.deepEqual((await agent.listOperations()).operations, [sound, shown]);
    if (change?.startsWith('lease_until')) assert.equal(await sessionOf(), null, 'no stream of events ends for it');
    tamper(dataDir, 'UPDATE outbox SET lease_until = NULL WHERE operation_pk = 1');
  }
});

check('an operation that names another first reply than it had is damaged, and is not delivered', async (t) => {
  const { options: holdfast, pastTheLease } = leapingClock();
  const delivered: unknown[] = [];
  const execute = (input: unknown) => {
    delivered.push(input);
    throw new Error('the line broke');
  };
  const tools = [noteTool({ effect: 'idempotent', timeoutMs: 1000, execute })];
  const { client, dataDir } = await openWorld(t, { holdfast, tools });
  const agent = await client(['agent']);
  const approver = await client(['approver']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  await untilRun(agent, runId, 'failed');
  const [operation] = (await agent.listOperations()).operations;
  const ref = operation?.status_ref ?? '';
  tamper(dataDir, `UPDATE operations SET first_response_id = 'another'`);
  pastTheLease();
  const broken = { code: 'OPERATION_RECORD_BROKEN', status: 500 };
  await assert.rejects(agent.processOperation(ref), broken);
  await assert.rejects(agent.askOperation(ref), broken);
  await assert.rejects(approver.settleOperation(ref, { verdict: 'not_done', reason: 'I looked' }), broken);
  assert.match((await agent.showOperation(ref)).damage ?? '', /evidence of its approval does not fit/);
  assert.equal(delivered.length, 1);
});
