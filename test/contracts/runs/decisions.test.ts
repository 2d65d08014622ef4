// What the catalogue leaves open (O-1 to O-9) and docs/runs/decisions.md decides, one check for each.
import { z } from 'zod';
import { NotDone, type ToolDefinition } from '../../../src/index.ts';
import { loadSnapshot, runConfig, snapshotOf } from '../../../src/runs/index.ts';
import { tool, ToolRegistry } from '../../../src/tools/index.ts';
import { assert, check } from '../../support/index.ts';
import {
  APPROVE,
  batchOf,
  desk,
  REJECT,
  REVIEW,
  orphaned,
  scripted,
  statusOf,
  waitingDesk,
  withCall,
} from './agents.ts';

const inputSchema = z.object({ value: z.number().default(0) });
type Given = Partial<ToolDefinition<typeof inputSchema>>;

/** A run whose one reply calls `act`, a tool that is so, and then says what it was told. */
async function acting(t: Parameters<typeof desk>[0], given: Given, args: object = { value: 1 }) {
  const tools = new ToolRegistry();
  const base = { name: 'act', description: 'Acts.', inputSchema, effect: 'once', needsApproval: false } as const;
  tools.register(tool<typeof inputSchema>({ ...base, execute: () => 'ok', ...given }));
  const calls = [{ callId: 'a-1', toolName: 'act', arguments: args }];
  const answer = scripted({ calls: calls as never });
  const at = await desk(t);
  const runner = at.again({ tools, model: answer });
  const config = runConfig({ model: 'fake', tools: ['act'] });
  const { traceId } = await runner.run([{ role: 'user', content: 'act' }], config);
  const messages = await at.home.traces.getTraceMessages(traceId);
  const told = messages.find((one) => one.role === 'tool')?.content as { text?: string } | undefined;
  return { at, runner, traceId, told: told?.text ?? '' };
}

check('O-1: a frozen hash of our own for each version, over the whole document', () => {
  const one = snapshotOf(runConfig({ model: 'm' }), { memoryIdentity: null });
  const two = snapshotOf(runConfig({ model: 'm', temperature: 0.5 }), { memoryIdentity: null });
  assert.match(one.snapshotHash, /^[0-9a-f]{64}$/);
  assert.notEqual(one.snapshotHash, two.snapshotHash);
});

check('O-2: the words of decisions and of executions, as they are stored', async (t) => {
  const at = await waitingDesk(t);
  const words = (calls: Awaited<ReturnType<typeof batchOf>>['calls']) =>
    calls.map(({ decision, executionStatus }) => [decision, executionStatus]);
  assert.deepEqual(words(at.batch.calls), [
    ['pending', 'not_started'],
    ['not_required', 'not_started'],
  ]);
  await at.runner.decide(at.traceId, at.batch.batchId, REJECT);
  await at.runner.running.get(at.traceId);
  assert.deepEqual(words((await batchOf(at, at.traceId)).calls), [
    ['rejected', 'rejected'],
    ['not_required', 'executed'],
  ]);
  const approved = await waitingDesk(t);
  await approved.runner.decide(approved.traceId, approved.batch.batchId, APPROVE);
  await approved.runner.running.get(approved.traceId);
  assert.deepEqual(words((await batchOf(approved, approved.traceId)).calls)[0], ['approved', 'executed']);
  const stopped = await waitingDesk(t);
  await stopped.runner.stop(stopped.traceId);
  assert.equal((await batchOf(stopped, stopped.traceId)).calls[0]?.decision, 'cancelled');
});

check(
  'O-3: some of the calls go on waiting, what is not there is 404, what is decided 409, and nothing in part',
  async (t) => {
    const at = await waitingDesk(t);
    const decide = (batchId: string, ...calls: readonly string[]) =>
      at.runner.decide(
        at.traceId,
        batchId,
        calls.map((toolCallId) => ({ toolCallId, decision: 'approve' as const })),
      );
    await assert.rejects(decide('another', 'danger-1'), { code: 'APPROVAL_NOT_FOUND', httpStatus: 404 });
    await assert.rejects(decide(at.batch.batchId, 'danger-1', 'invented'), { code: 'APPROVAL_NOT_FOUND' });
    await assert.rejects(decide(at.batch.batchId, 'danger-1', 'safe-1'), {
      code: 'APPROVAL_ALREADY_DECIDED',
      httpStatus: 409,
    });
    assert.deepEqual(await batchOf(at, at.traceId), at.batch);
  },
);

check('O-4: after a rejection the batch and the run are completed', async (t) => {
  const at = await waitingDesk(t);
  await at.runner.decide(at.traceId, at.batch.batchId, REJECT);
  await at.runner.running.get(at.traceId);
  assert.equal((await batchOf(at, at.traceId)).status, 'completed');
  assert.equal(await statusOf(at, at.traceId), 'completed');
});

check(
  'O-5: a throw of a read is told, NotDone and a promise are not done, any other throw of a write is unknown',
  async (t) => {
    const dead = (): never => {
      throw new Error('the line went dead');
    };
    const read = await acting(t, { effect: 'read', execute: dead });
    assert.equal(await statusOf(read.at, read.traceId), 'completed');
    assert.match(read.told, /^FAILED/);
    const refused: Given = {
      execute: () => {
        throw new NotDone('There is none.');
      },
    };
    for (const given of [refused, { onError: 'not_done', execute: dead } as const]) {
      const { at, traceId, told } = await acting(t, given);
      assert.equal(await statusOf(at, traceId), 'completed');
      assert.equal((await batchOf(at, traceId)).calls[0]?.executionStatus, 'executed');
      assert.match(told, /^NOT DONE/);
    }
    const lost = await acting(t, { execute: dead });
    assert.equal(await statusOf(lost.at, lost.traceId), 'failed');
    assert.equal((await batchOf(lost.at, lost.traceId)).calls[0]?.executionStatus, 'execution_unknown');
    assert.equal(lost.told, '');
  },
);

check(
  'O-6: the name is denied before the page, the page before the arguments, the arguments before the grant',
  async (t) => {
    const pages = { urlPatterns: ['https://allowed.example.com/**'], needsApproval: true };
    const bad = { value: 'no number' };
    const byPage = await acting(t, pages, bad);
    assert.match(byPage.told, /URL policy denied/);
    const { told: byArguments } = await acting(t, { needsApproval: true }, bad);
    assert.match(byArguments, /Invalid arguments/);
    const waits = await acting(t, { needsApproval: true });
    assert.equal(await statusOf(waits.at, waits.traceId), 'waiting_confirmation');
  },
);

check('O-7: a run in which healing finds an unknown outcome is failed', async (t) => {
  const at = await orphaned(t);
  await assert.rejects(at.heal(), { code: 'RUN_WAITING' });
  const executing = { decision: 'approved', executionStatus: 'executing' } as const;
  const batch = await batchOf(at, REVIEW);
  await at.home.batches.replace(REVIEW, withCall(batch, 'executing', executing, 'orphaned-review-call'));
  await at.home.traces.updateTrace(REVIEW, { status: 'running' });
  await assert.rejects(at.heal(), { code: 'RUN_OUTCOME_UNKNOWN' });
  assert.equal(await statusOf(at, REVIEW), 'failed');
});

check('O-8: a context without a snapshot is refused', () => {
  assert.throws(() => loadSnapshot({ agent_mode: 'legacy' }), { code: 'RUN_SNAPSHOT_MISSING' });
});

check('O-9: a trace is running unless told', async (t) => {
  const at = await desk(t);
  assert.equal((await at.home.traces.createTrace({ traceId: 'new', mode: 'agent' })).status, 'running');
});

check('a call of the file home is repeated where its tool declares it', async (t) => {
  const keys: string[] = [];
  const given: Given = {
    effect: 'idempotent',
    retry: { most: 2, pauseMs: 1 },
    execute: (_input, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (keys.length < 3) throw new Error('busy');
      return 'ok';
    },
  };
  const { at, traceId, told } = await acting(t, given);
  assert.equal(await statusOf(at, traceId), 'completed');
  assert.equal(told, 'ok');
  assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
});
