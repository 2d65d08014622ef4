import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { pendingCalls } from '../../../src/approvals/index.ts';
import { systemClock } from '../../../src/core/index.ts';
import { newMessage, runConfig } from '../../../src/runs/index.ts';
import { tool, ToolRegistry } from '../../../src/tools/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import {
  APPROVE,
  batchOf,
  BOTH,
  type Desk,
  orphaned,
  REVIEW,
  statusOf,
  waitingDesk,
  withCall,
  withoutResults,
} from './agents.ts';

const errorOf = async ({ home }: Desk, traceId: string): Promise<string> =>
  (await home.traces.getTrace(traceId))?.errorMessage ?? '';

contract('RUN-59 RUN-60 RUN-61 RUN-62', 'a call that was under way is unknown after a restart', async (t) => {
  const at = await waitingDesk(t);
  const executing = withCall(at.batch, 'executing', { decision: 'approved', executionStatus: 'executing' });
  await at.home.batches.replace(at.traceId, executing);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  assert.deepEqual((await at.again().reconcile()).unknown, [at.traceId]);
  const batch = await batchOf(at, at.traceId);
  assert.equal(batch.status, 'execution_unknown');
  assert.equal(batch.calls.find((call) => call.toolCallId === 'danger-1')?.executionStatus, 'execution_unknown');
  assert.equal(await statusOf(at, at.traceId), 'failed');
  assert.match(await errorOf(at, at.traceId), /unknown/);
});

contract('RUN-63', 'a call that was under way is never repeated, and its neighbour does not run', async (t) => {
  const at = await waitingDesk(t);
  const executing = withCall(at.batch, 'executing', { decision: 'approved', executionStatus: 'executing' });
  await at.home.batches.replace(at.traceId, executing);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  const runner = at.again();
  await runner.reconcile();
  await runner.reconcile();
  await assert.rejects(runner.run([], runConfig({ traceId: at.traceId })), { code: 'RUN_OUTCOME_UNKNOWN' });
  assert.deepEqual(at.effects, []);
});

contract('RUN-64 RUN-65 RUN-66', 'a stored batch without the trace status goes back to waiting', async (t) => {
  const at = await waitingDesk(t);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  assert.deepEqual((await at.again().reconcile()).waiting, [at.traceId]);
  assert.equal(await statusOf(at, at.traceId), 'waiting_confirmation');
  assert.equal((await batchOf(at, at.traceId)).status, 'pending');
  assert.deepEqual(at.effects, []);
});

contract('RUN-67 RUN-68 RUN-69 RUN-70', 'a decided batch of which nothing started goes on', async (t) => {
  const at = await waitingDesk(t);
  const decided = withCall(at.batch, 'decided', { decision: 'approved', decidedAt: systemClock.nowMs() });
  await at.home.batches.replace(at.traceId, decided);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  const runner = at.again();
  await runner.reconcile();
  const entry = runner.running.get(at.traceId);
  assert.ok(entry instanceof Promise);
  await entry;
  assert.equal((await batchOf(at, at.traceId)).status, 'completed');
  assert.equal(await statusOf(at, at.traceId), 'completed');
  assert.deepEqual(at.effects, BOTH);
});

contract('RUN-71 RUN-72 RUN-73 RUN-74', 'a call without a result and a batch waits for a person again', async (t) => {
  const at = await orphaned(t);
  await assert.rejects(at.heal(), { code: 'RUN_WAITING', message: /restored to persistent approval/ });
  assert.equal((await batchOf(at, REVIEW)).status, 'pending');
  const stored = JSON.parse(readFileSync(join(at.folder, REVIEW, 'tool_approvals.json'), 'utf8')) as { status: string };
  assert.equal(stored.status, 'pending');
  assert.equal(await statusOf(at, REVIEW), 'waiting_confirmation');
  assert.deepEqual(at.executed, []);
});

contract('RUN-75 RUN-76 RUN-77', 'a call that may have started is unknown when it is healed', async (t) => {
  const at = await orphaned(t);
  await assert.rejects(at.heal(), { code: 'RUN_WAITING' });
  const change = { decision: 'approved', executionStatus: 'executing' } as const;
  const executing = withCall(await batchOf(at, REVIEW), 'executing', change, 'orphaned-review-call');
  await at.home.batches.replace(REVIEW, executing);
  await at.home.traces.updateTrace(REVIEW, { status: 'running' });
  await assert.rejects(at.heal(), { code: 'RUN_OUTCOME_UNKNOWN', message: /outcome is unknown/ });
  assert.equal((await batchOf(at, REVIEW)).status, 'execution_unknown');
  assert.equal(await statusOf(at, REVIEW), 'failed');
  assert.deepEqual(at.executed, []);
});

check('a call that was restored to approval can be approved, and runs once', async (t) => {
  const at = await orphaned(t);
  await assert.rejects(at.heal(), { code: 'RUN_WAITING' });
  const batch = await batchOf(at, REVIEW);
  const approve = [{ toolCallId: 'orphaned-review-call', decision: 'approve' }] as const;
  await at.runner.decide(REVIEW, batch.batchId, approve);
  await at.runner.running.get(REVIEW);
  assert.deepEqual(at.executed, ['child-1']);
});

contract(
  'RUN-78 RUN-79 RUN-80 RUN-81',
  'a result that cannot be stored makes the outcome unknown at once',
  async (t) => {
    const at = await waitingDesk(t, { home: withoutResults });
    await at.runner.decide(at.traceId, at.batch.batchId, APPROVE);
    await assert.doesNotReject(at.runner.running.get(at.traceId) ?? Promise.reject(new Error('no entry')));
    assert.equal((await batchOf(at, at.traceId)).status, 'execution_unknown');
    assert.equal(await statusOf(at, at.traceId), 'failed');
    assert.deepEqual(at.effects, [['dangerous', 1, 'fixed']]);
  },
);

check('a result that is stored proves its call, whatever the batch says; the rest goes on', async (t) => {
  const at = await waitingDesk(t);
  const content = { tool_call_id: 'danger-1', tool_name: 'dangerous_tool', text: '{"value":1}', is_error: false };
  const reply = (await at.home.traces.getTraceMessages(at.traceId)).find((one) => one.role === 'assistant');
  const sequence = (reply?.sequence ?? 0) + 1;
  const parts = { traceId: at.traceId, role: 'tool', sequence, content, parentSequence: reply?.sequence ?? 0 } as const;
  await at.home.traces.addMessage(newMessage(parts, systemClock));
  const executing = withCall(at.batch, 'executing', { decision: 'approved', executionStatus: 'executing' });
  await at.home.batches.replace(at.traceId, executing);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  const runner = at.again();
  assert.deepEqual((await runner.reconcile()).started, [at.traceId]);
  await runner.running.get(at.traceId);
  assert.deepEqual(at.effects, [['safe', 'after-approval']]);
  assert.equal((await batchOf(at, at.traceId)).status, 'completed');
  assert.equal(await statusOf(at, at.traceId), 'completed');
});

check('a run that ended between calls is left as it is, and goes on without asking for what is stored', async (t) => {
  const at = await waitingDesk(t);
  await at.runner.decide(at.traceId, at.batch.batchId, APPROVE);
  await at.runner.running.get(at.traceId);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  const runner = at.again({ model: () => assert.fail('the last reply is stored') });
  assert.deepEqual((await runner.reconcile()).interrupted, [at.traceId]);
  assert.equal(await statusOf(at, at.traceId), 'running');
  const result = await runner.run([], runConfig({ traceId: at.traceId }));
  assert.deepEqual([result.status, result.text], ['completed', 'done']);
  assert.deepEqual(at.effects, BOTH);
});

check('a damaged batch is reported and does not keep the other runs from being reconciled', async (t) => {
  const at = await waitingDesk(t);
  const second = await at.again({ model: () => 'hello' }).run([{ role: 'user', content: 'x' }], runConfig());
  await at.home.traces.updateTrace(second.traceId, { status: 'running' });
  writeFileSync(join(at.folder, at.traceId, 'tool_approvals.json'), '{"status":"decided"}');
  const report = await at.again().reconcile();
  assert.deepEqual(report.refused, [{ traceId: at.traceId, code: 'TRACE_CORRUPT' }]);
  assert.deepEqual(report.interrupted, [second.traceId]);
  assert.deepEqual(at.effects, []);
});

check('an unknown outcome of a tool ends the run; what stands behind it does not run', async (t) => {
  const at = await waitingDesk(t);
  const tools = new ToolRegistry();
  const executed: string[] = [];
  for (const name of ['dangerous_tool', 'safe_tool'])
    tools.register(
      tool({
        name,
        description: name,
        inputSchema: z.object({}).loose(),
        effect: 'once',
        needsApproval: name === 'dangerous_tool',
        execute() {
          executed.push(name);
          throw new Error('the line went dead');
        },
      }),
    );
  const runner = at.again({ tools });
  await runner.decide(at.traceId, at.batch.batchId, APPROVE);
  await runner.running.get(at.traceId);
  assert.deepEqual(executed, ['dangerous_tool']);
  assert.match(await errorOf(at, at.traceId), /unknown.*the line went dead/);
  assert.deepEqual(
    (await batchOf(at, at.traceId)).calls.map((call) => call.executionStatus),
    ['execution_unknown', 'not_started'],
  );
  assert.deepEqual(pendingCalls(await batchOf(at, at.traceId)), []);
});
