import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { GatewayRefusal } from '../../src/client/index.ts';
import { createLog, fail } from '../../src/core/index.ts';
import { noteTool } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, untilRun, type World } from './world.ts';

const codeOf = (error: unknown): string => {
  assert.ok(error instanceof GatewayRefusal, String(error));
  return error.code;
};

const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => 'no refusal').catch((error: unknown) => codeOf(error));

const databaseOf = ({ dataDir }: World) => new DatabaseSync(join(dataDir, 'holdfast.db'));

check('a run that goes on is told to be stopping once that is written down, and not where it cannot be', async (t) => {
  const { promise: finished, resolve: finish } = Promise.withResolvers<unknown>();
  const { promise: started, resolve: start } = Promise.withResolvers<unknown>();
  const tool = noteTool({
    execute: async () => {
      start(undefined);
      await finished;
      return { ok: true };
    },
  });
  const world = await openWorld(t, { tools: [tool] });
  const agent = await world.client(['agent']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  await started;
  const other = databaseOf(world);
  other.exec('BEGIN IMMEDIATE');
  assert.equal(await refusal(agent.stopRun(runId)), 'STORE_BUSY');
  other.exec('ROLLBACK');
  const asked = () => other.prepare('SELECT stop_requested_at AS at FROM traces WHERE trace_id = ?').get(runId)?.['at'];
  assert.equal(asked(), null);
  assert.deepEqual(await agent.stopRun(runId), { run_id: runId, status: 'stopping' });
  assert.notEqual(asked(), null);
  other.close();
  finish(undefined);
  while ((await agent.showRun(runId)).status === 'running') await sleep(10);
});

check(
  'a decision that stands is told as made, whatever keeps its run from going on; the log says what does',
  async (t) => {
    const lines: string[] = [];
    const world = await openWorld(t, { log: createLog({ write: (line) => lines.push(line) }) });
    const agent = await world.client(['agent']);
    const approver = await world.client(['approver']);
    const { run_id: runId } = await agent.startRun({ task: 'go' });
    const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
    const shown = await approver.showApproval(pending[0] ?? '');
    const { runs } = world.holdfast.runtime;
    const met = async (): Promise<never> => {
      throw fail('RUN_CONFIG_CHANGED', 'The agent is another one now.');
    };
    Object.assign(runs, { resume: met });
    const decided = await approver.decide(shown.decision_id, { decision: 'approve', digest: shown.digest });
    assert.deepEqual([decided.request.status, decided.run_continues], ['allowed', false]);
    assert.ok(lines.some((line) => line.includes('RUN_CONFIG_CHANGED') && line.includes(runId)));
    Reflect.deleteProperty(runs, 'resume');
    await agent.resumeRun(runId);
    assert.equal((await untilRun(agent, runId, 'completed')).calls[0]?.outcome, 'done');
  },
);

check('a batch is shown and decided under its own run, not under another one of the same turn', async (t) => {
  const world = await openWorld(t);
  const agent = await world.client(['agent']);
  const approver = await world.client(['approver']);
  const { run_id: first } = await agent.startRun({ task: 'go' });
  await untilRun(agent, first, 'waiting_confirmation');
  const { run_id: second } = await agent.startRun({ task: 'go' });
  await untilRun(agent, second, 'waiting_confirmation');
  const [batch] = (await agent.listBatches(first)).batches;
  assert.ok(batch);
  const db = databaseOf(world);
  // As a follow-up has it: the place of the run that it follows.
  db.prepare(
    `UPDATE traces SET parent_trace_id = :first, parent_call = 'follow-up/1', (root_frame_id, branch_id, turn_id) =
      (SELECT root_frame_id, branch_id, turn_id FROM traces WHERE trace_id = :first) WHERE trace_id = :second`,
  ).run({ first, second });
  db.close();
  const decisions = { decisions: [{ tool_call_id: batch.calls[0]?.tool_call_id ?? '', decision: 'approve' as const }] };
  assert.equal(await refusal(approver.showBatch(second, batch.batch_id)), 'APPROVAL_NOT_FOUND');
  assert.equal(await refusal(approver.decideBatch(second, batch.batch_id, decisions)), 'APPROVAL_NOT_FOUND');
  assert.deepEqual(await approver.showBatch(first, batch.batch_id), batch);
  assert.equal((await approver.decideBatch(first, batch.batch_id, decisions)).run_continues, true);
  await untilRun(agent, first, 'completed');
});

check(
  'while the clock of the machine stands before what it was, what rests on it is refused, and the rest goes on',
  async (t) => {
    let back = 0;
    const world = await openWorld(t, { heartbeatMs: 50, holdfast: { clock: { nowMs: () => Date.now() - back } } });
    const agent = await world.client(['agent']);
    const headers = { authorization: `Bearer ${await world.token(['agent'])}` };
    back = 3_600_000;
    t.after(() => (back = 0));
    assert.equal(await refusal(agent.createProject('later')), 'CLOCK_WENT_BACK');
    assert.equal((await agent.listProjects()).projects.length, 1);
    assert.equal((await fetch(`${world.url}/healthz`)).status, 200);
    const stream = await fetch(`${world.url}/api/v1/events`, { headers });
    let text = '';
    for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      if (text.split(': heartbeat').length > 2) break;
    }
    assert.match(text, /^id: \d+\nretry: \d+\n\nid: \d+\n: heartbeat\n/);
    back = 0;
    assert.equal((await agent.createProject('now')).name, 'now');
  },
);
