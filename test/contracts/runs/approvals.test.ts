import { z } from 'zod';
import { runConfig } from '../../../src/runs/index.ts';
import { tool, ToolRegistry } from '../../../src/tools/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { APPROVE, batchOf, desk, REJECT, scripted, statusOf, TOOLS, waitingDesk } from './agents.ts';

const EDIT = [{ toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 9, fixed: 'fixed' } }] as const;
const pending = (batch: Awaited<ReturnType<typeof batchOf>>) =>
  batch.calls.filter((call) => call.decision === 'pending');

contract(
  'RUN-34 RUN-35 RUN-36 RUN-37',
  'a turn with one call for a person waits as a whole, and runs nothing',
  async (t) => {
    const at = await desk(t);
    const result = await at.runner.run([{ role: 'user', content: 'run tools' }], TOOLS);
    assert.equal(result.status, 'waiting_confirmation');
    assert.deepEqual(at.effects, []);
    const batch = await batchOf(at, result.traceId);
    assert.equal(batch.status, 'pending');
    assert.deepEqual(
      pending(batch).map((call) => call.toolCallId),
      ['danger-1'],
    );
    assert.equal(batch.calls.length, 2);
  },
);

contract(
  'RUN-38 RUN-39 RUN-40',
  'with automatic execution off every call waits, in the default mode too',
  async (t) => {
    const executed: number[] = [];
    const tools = new ToolRegistry();
    tools.register(
      tool({
        name: 'ordinary_tool',
        description: 'ordinary',
        inputSchema: z.object({ value: z.number() }),
        effect: 'read',
        execute: ({ value }) => executed.push(value),
      }),
    );
    const at = await desk(t);
    const model = scripted({ calls: [{ callId: 'ordinary-1', toolName: 'ordinary_tool', arguments: { value: 3 } }] });
    const config = runConfig({ model: 'fake', tools: ['ordinary_tool'], autoExecuteTools: false });
    const result = await at.again({ tools, model }).run([{ role: 'user', content: 'confirm everything' }], config);
    assert.equal(result.status, 'waiting_confirmation');
    assert.deepEqual(executed, []);
    const batch = await batchOf(at, result.traceId);
    assert.deepEqual(
      batch.calls.map((call) => call.decision),
      ['pending'],
    );
  },
);

contract('RUN-41 RUN-42 RUN-43', 'an approval with an edit starts the work in the model order', async (t) => {
  const at = await waitingDesk(t);
  const reply = await at.runner.decide(at.traceId, at.batch.batchId, EDIT);
  assert.equal(reply.status, 'started');
  const entry = at.runner.running.get(at.traceId);
  assert.ok(entry instanceof Promise);
  await entry;
  assert.deepEqual(at.effects, [
    ['dangerous', 9, 'fixed'],
    ['safe', 'after-approval'],
  ]);
});

contract('RUN-44 RUN-45 RUN-46', 'afterwards batch, calls and trace are completed', async (t) => {
  const at = await waitingDesk(t);
  await at.runner.decide(at.traceId, at.batch.batchId, EDIT);
  await at.runner.running.get(at.traceId);
  const batch = await batchOf(at, at.traceId);
  assert.equal(batch.status, 'completed');
  assert.ok(batch.calls.every((call) => call.executionStatus === 'executed'));
  assert.equal(await statusOf(at, at.traceId), 'completed');
});

contract(
  'RUN-47 RUN-48 RUN-49',
  'a rejected call stays rejected, its neighbour runs, a second decision is a conflict',
  async (t) => {
    const at = await waitingDesk(t);
    await at.runner.decide(at.traceId, at.batch.batchId, REJECT);
    await at.runner.running.get(at.traceId);
    assert.deepEqual(at.effects, [['safe', 'after-approval']]);
    const batch = await batchOf(at, at.traceId);
    assert.equal(batch.calls.find((call) => call.toolCallId === 'danger-1')?.executionStatus, 'rejected');
    assert.equal(batch.status, 'completed');
    assert.equal(await statusOf(at, at.traceId), 'completed');
    await assert.rejects(at.runner.decide(at.traceId, at.batch.batchId, APPROVE), { httpStatus: 409 });
  },
);

contract('RUN-50 RUN-51 RUN-52 RUN-53', 'an edit of a fixed argument is refused and changes nothing', async (t) => {
  const at = await waitingDesk(t);
  const tampered = [
    { toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 1, fixed: 'tampered' } },
  ] as const;
  await assert.rejects(at.runner.decide(at.traceId, at.batch.batchId, tampered), { httpStatus: 422 });
  const batch = await batchOf(at, at.traceId);
  assert.equal(batch.status, 'pending');
  assert.equal(pending(batch)[0]?.decision, 'pending');
  assert.deepEqual(at.effects, []);
});

contract('RUN-54', 'a plain run of a waiting trace is a conflict', async (t) => {
  const at = await waitingDesk(t);
  const again = at.runner.run([], runConfig({ traceId: at.traceId }));
  await assert.rejects(again, { httpStatus: 409, code: 'RUN_WAITING' });
  assert.deepEqual(at.effects, []);
});

contract('RUN-55 RUN-56 RUN-57', 'stopping a waiting run cancels its batch before it returns', async (t) => {
  const at = await waitingDesk(t);
  assert.equal((await at.runner.stop(at.traceId)).status, 'stopping');
  assert.equal(await statusOf(at, at.traceId), 'stopped');
  assert.equal((await batchOf(at, at.traceId)).status, 'cancelled');
});

check('the model is told of every call, the rejected and the edited one too', async (t) => {
  const model = scripted({ calls: [{ callId: 'danger-1', toolName: 'dangerous_tool', arguments: { value: 1 } }] });
  const at = await waitingDesk(t, { model });
  await at.runner.decide(at.traceId, at.batch.batchId, [
    { toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 9 } },
  ]);
  await at.runner.running.get(at.traceId);
  assert.match(JSON.stringify(model.prompts[1]), /The approver changed the arguments to/);
  const rejecting = scripted({ calls: [{ callId: 'danger-1', toolName: 'dangerous_tool', arguments: { value: 1 } }] });
  const other = await waitingDesk(t, { model: rejecting });
  await other.runner.decide(other.traceId, other.batch.batchId, REJECT);
  await other.runner.running.get(other.traceId);
  assert.match(JSON.stringify(rejecting.prompts[1]), /A person rejected this call/);
});

check('of two decisions at once one wins', async (t) => {
  const at = await waitingDesk(t);
  const both = await Promise.allSettled([
    at.runner.decide(at.traceId, at.batch.batchId, APPROVE),
    at.again().decide(at.traceId, at.batch.batchId, REJECT),
  ]);
  const won = both.filter((one) => one.status === 'fulfilled');
  assert.equal(won.length, 1);
  const lost = both.flatMap((one) => (one.status === 'rejected' ? [(one.reason as { code: string }).code] : []));
  assert.deepEqual(lost, ['APPROVAL_ALREADY_DECIDED']);
});

check('decisions that cannot be right are refused whole', async (t) => {
  const at = await waitingDesk(t);
  const { traceId, batch } = at;
  const cases: [readonly Parameters<typeof at.runner.decide>[2][number][], string][] = [
    [[], 'INVALID_VALUE'],
    [[...APPROVE, ...REJECT], 'INVALID_VALUE'],
    [[...APPROVE, { toolCallId: 'invented', decision: 'approve' }], 'APPROVAL_NOT_FOUND'],
    [[...APPROVE, { toolCallId: 'safe-1', decision: 'approve' }], 'APPROVAL_ALREADY_DECIDED'],
    [[{ toolCallId: 'danger-1', decision: 'maybe' as 'approve' }], 'INVALID_VALUE'],
    [[{ toolCallId: 'danger-1', decision: 'reject', editedArguments: { value: 2 } }], 'INVALID_VALUE'],
    [[{ toolCallId: 'danger-1', decision: 'approve', editedArguments: null as never }], 'INVALID_VALUE'],
    [[{ toolCallId: 7 as never, decision: 'approve' }], 'INVALID_VALUE'],
    [[null as never], 'INVALID_VALUE'],
    [
      [{ toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 'x', fixed: 'fixed' } }],
      'APPROVAL_ARGUMENTS_INVALID',
    ],
    [[{ toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 1 } }], 'APPROVAL_EDIT_FORBIDDEN'],
    [
      [{ toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 1, fixed: 'fixed', more: 1 } }],
      'APPROVAL_EDIT_FORBIDDEN',
    ],
  ];
  for (const [decisions, code] of cases)
    await assert.rejects(at.runner.decide(traceId, batch.batchId, decisions), { code }, JSON.stringify(decisions));
  await assert.rejects(at.runner.decide(traceId, 'another', APPROVE), { code: 'APPROVAL_NOT_FOUND' });
  await assert.rejects(at.runner.decide('absent', batch.batchId, APPROVE), { code: 'TRACE_NOT_FOUND' });
  assert.deepEqual(await batchOf(at, traceId), batch);
  assert.deepEqual(at.effects, []);
});

check('a batch with two calls for people goes on only when both are decided', async (t) => {
  const second = { callId: 'danger-2', toolName: 'dangerous_tool', arguments: { value: 2 } };
  const first = { callId: 'danger-1', toolName: 'dangerous_tool', arguments: { value: 1 } };
  const at = await waitingDesk(t, { model: scripted({ calls: [first, second] }) });
  const one = await at.runner.decide(at.traceId, at.batch.batchId, APPROVE);
  assert.equal(one.status, 'waiting_confirmation');
  assert.equal(await statusOf(at, at.traceId), 'waiting_confirmation');
  assert.deepEqual(at.effects, []);
  await at.runner.decide(at.traceId, at.batch.batchId, [{ toolCallId: 'danger-2', decision: 'reject' }]);
  await at.runner.running.get(at.traceId);
  assert.deepEqual(at.effects, [['dangerous', 1, 'fixed']]);
});

check('what was stopped is never approved, run or stopped again', async (t) => {
  const at = await waitingDesk(t);
  await at.runner.stop(at.traceId);
  await assert.rejects(at.runner.decide(at.traceId, at.batch.batchId, APPROVE), { code: 'APPROVAL_ALREADY_DECIDED' });
  await assert.rejects(at.runner.run([], runConfig({ traceId: at.traceId })), { code: 'RUN_ENDED' });
  await assert.rejects(at.runner.stop(at.traceId), { code: 'RUN_ENDED' });
  assert.deepEqual((await at.runner.reconcile()).started, []);
  assert.deepEqual(at.effects, []);
});

check('a later approval does not reach back: each reply has its own batch', async (t) => {
  const first = { callId: 'danger-1', toolName: 'dangerous_tool', arguments: { value: 1 } };
  const second = { callId: 'danger-1', toolName: 'dangerous_tool', arguments: { value: 2 } };
  const at = await waitingDesk(t, { model: scripted({ calls: [first] }, { calls: [second] }) });
  await at.runner.decide(at.traceId, at.batch.batchId, APPROVE);
  await at.runner.running.get(at.traceId);
  assert.equal(await statusOf(at, at.traceId), 'waiting_confirmation');
  const older = at.runner.decide(at.traceId, at.batch.batchId, APPROVE);
  await assert.rejects(older, { code: 'APPROVAL_NOT_FOUND' });
  const now = await batchOf(at, at.traceId);
  await at.runner.decide(at.traceId, now.batchId, APPROVE);
  await at.runner.running.get(at.traceId);
  assert.deepEqual(at.effects, [
    ['dangerous', 1, 'fixed'],
    ['dangerous', 2, 'fixed'],
  ]);
  assert.equal(await statusOf(at, at.traceId), 'completed');
});

check('a call outside the list, or with arguments that do not read, is answered and runs nothing', async (t) => {
  const invented = { callId: 'c-1', toolName: 'invented', arguments: {} };
  const broken = { callId: 'c-2', toolName: 'safe_tool', arguments: '{"label":' };
  const model = scripted({ calls: [invented, broken] });
  const at = await desk(t, { model });
  const result = await at.runner.run([{ role: 'user', content: 'x' }], TOOLS);
  assert.equal(result.status, 'completed');
  assert.equal(result.text, 'done');
  assert.match(JSON.stringify(model.prompts[1]), /not allowed.*Invalid arguments/);
  assert.deepEqual(at.effects, []);
});
