import { GatewayRefusal } from '../../src/client/index.ts';
import type { ModelFunction } from '../../src/index.ts';
import { LIST_BATCHES_OF_RUN } from '../../src/approvals/queries.ts';
import { LIMITS } from '../../src/core/index.ts';
import { noteTool } from '../calls/desk.ts';
import { tamper } from '../runs/damage-world.ts';
import { assert, check, type Ending } from '../support/index.ts';
import { openWorld, untilRun, type World } from './world.ts';

const refused = (status: number, code: string) => (error: unknown) => {
  assert.ok(error instanceof GatewayRefusal, String(error));
  assert.deepEqual([error.status, error.code], [status, code]);
  return true;
};

/** So many replies that each ask for notes, then one that needs nobody, then it is done. */
const replies =
  (asks: number, calls: number): ModelFunction =>
  ({ messages }) => {
    const said = messages.filter(({ role }) => role === 'assistant').length;
    if (said > asks) return 'done';
    const toolName = said < asks ? 'note' : 'read_note';
    return {
      calls: Array.from({ length: calls }, (_, i) => ({
        callId: `${said}-${i}`,
        toolName,
        arguments: { note: `note ${said} ${i}` },
      })),
    };
  };

const TOOLS = [noteTool({ name: 'note', needsApproval: true }), noteTool({ name: 'read_note', effect: 'read' })];

/** Rejects all that a run asks for, until it is done. */
async function rejectAll(world: World, runId: string): Promise<void> {
  const approver = await world.client(['approver']);
  for (;;) {
    const { status, pending, reason } = await approver.showRun(runId);
    assert.notEqual(status, 'failed', reason);
    if (status === 'completed') return;
    const [first] = pending;
    if (first !== undefined) {
      const { action_group_id: batchId } = await approver.showApproval(first);
      const { calls } = await approver.showBatch(runId, batchId);
      const decisions = calls.map((call) => ({ tool_call_id: call.tool_call_id, decision: 'reject' as const }));
      await approver.decideBatch(runId, batchId, { decisions });
    }
    await new Promise((settle) => setTimeout(settle, 5));
  }
}

async function ranTo(t: Ending, asks: number, calls = 1) {
  const world = await openWorld(t, { model: replies(asks, calls), tools: TOOLS });
  const agent = await world.client(['agent']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  await rejectAll(world, runId);
  return { world, agent, runId };
}

check(
  'the batches of a run are listed newest first, each as it is shown alone, what needed nobody left out',
  async (t) => {
    const { agent, runId } = await ranTo(t, 3);
    const { batches, next } = await agent.listBatches(runId);
    assert.deepEqual(
      batches.map(({ calls, status }) => [calls.map((call) => call.tool_call_id), status]),
      [
        [['2-0'], 'completed'],
        [['1-0'], 'completed'],
        [['0-0'], 'completed'],
      ],
    );
    assert.equal(next, null);
    for (const batch of batches) assert.deepEqual(await agent.showBatch(runId, batch.batch_id), batch);
  },
);

check('pages of batches meet without a gap or a repetition, and the last one says that it is the last', async (t) => {
  const { agent, runId } = await ranTo(t, 4);
  const all = (await agent.listBatches(runId)).batches.map(({ batch_id: id }) => id);
  assert.equal(all.length, 4);
  for (const limit of [1, 2, 3, 4, 5]) {
    const seen: string[] = [];
    let after: string | undefined;
    for (;;) {
      const page = await agent.listBatches(runId, { limit, ...(after === undefined ? {} : { after }) });
      assert.ok(page.batches.length <= limit);
      seen.push(...page.batches.map(({ batch_id: id }) => id));
      if (page.next === null) break;
      assert.equal(page.next, seen.at(-1));
      after = page.next;
    }
    assert.deepEqual(seen, all, `pages of ${limit}`);
  }
  assert.deepEqual(await agent.listBatches(runId, { after: all.at(-1) ?? '' }), {
    batches: [],
    damaged: [],
    next: null,
  });
  await assert.rejects(agent.listBatches(runId, { limit: 0 }), refused(400, 'REQUEST_INVALID'));
  await assert.rejects(agent.listBatches(runId, { limit: 201 }), refused(400, 'REQUEST_INVALID'));
});

check('a batch of which a request is damaged is named with why, and the others of its page are shown', async (t) => {
  const { world, agent, runId } = await ranTo(t, 4);
  const all = (await agent.listBatches(runId)).batches;
  const [, sick = '', third = ''] = all.map(({ batch_id: id }) => id);
  tamper(
    world.dataDir,
    `UPDATE permission_requests SET canonical_arguments = '{"note":"silk"}' WHERE action_group_id = '${sick}'`,
  );
  const page = await agent.listBatches(runId);
  assert.deepEqual([page.batches, page.next], [all.filter(({ batch_id: id }) => id !== sick), null]);
  assert.deepEqual(
    page.damaged.map((one) => [one.batch_id, one.code, /damaged/.test(one.why), /silk/.test(one.why)]),
    [[sick, 'APPROVAL_CORRUPT', true, false]],
  );
  const last = all.at(-1)?.batch_id ?? '';
  tamper(
    world.dataDir,
    `UPDATE permission_requests SET created_at = 9007199254740993 WHERE action_group_id = '${last}'`,
  );
  assert.deepEqual(
    (await agent.listBatches(runId)).damaged.map(({ batch_id: id }) => id),
    [sick, last],
  );
  const first = await agent.listBatches(runId, { limit: 2 });
  assert.deepEqual([first.batches.length, first.damaged.length, first.next], [1, 1, sick]);
  const second = await agent.listBatches(runId, { limit: 1, after: sick });
  assert.deepEqual([second.batches[0]?.batch_id, second.damaged], [third, []]);
  await assert.rejects(agent.showBatch(runId, sick), refused(500, 'APPROVAL_CORRUPT'));
});

check('a page of large batches ends with the one that fills it, whatever limit was asked for', async (t) => {
  const calls = LIMITS.modelCallsInReply;
  const fill = Math.ceil(LIMITS.approvalRequestsPerGroup / calls);
  const { agent, runId } = await ranTo(t, fill + 1, calls);
  const first = await agent.listBatches(runId);
  assert.equal(first.batches.length, fill);
  assert.equal(first.next, first.batches.at(-1)?.batch_id);
  const last = await agent.listBatches(runId, { after: first.next ?? '' });
  assert.deepEqual([last.batches.length, last.next], [1, null]);
});

check(
  'batches are their run’s and their tenant’s: others see none, and a mark of another list is refused',
  async (t) => {
    const { world, agent, runId } = await ranTo(t, 1);
    const { run_id: other } = await agent.startRun({ task: 'go' });
    await untilRun(agent, other, 'waiting_confirmation');
    const [own, others] = [(await agent.listBatches(runId)).batches, (await agent.listBatches(other)).batches];
    assert.deepEqual([own.length, others.length, others[0]?.status], [1, 1, 'pending']);
    assert.notEqual(own[0]?.batch_id, others[0]?.batch_id);
    for (const after of [others[0]?.batch_id ?? '', runId, 'zzz'])
      await assert.rejects(agent.listBatches(runId, { after }), refused(404, 'APPROVAL_NOT_FOUND'));
    const stranger = await world.client(['agent', 'approver', 'admin'], { tenant: 'elsewhere' });
    await assert.rejects(stranger.listBatches(runId), refused(404, 'RUN_NOT_FOUND'));
    await assert.rejects(stranger.listBatches(runId, { after: own[0]?.batch_id ?? '' }), refused(404, 'RUN_NOT_FOUND'));
    const { approvals } = world.holdfast.runtime;
    const foreign = { tenant: 'elsewhere', subject: 's', roles: [] };
    assert.deepEqual(await approvals.batchesOfRun(foreign, runId, { limit: 10 }), {
      items: [],
      damaged: [],
      next: null,
    });
  },
);

check('a page of batches reads the groups of that page from an index, not the requests of the session', async (t) => {
  const { world } = await ranTo(t, 1);
  const plan = await world.holdfast.runtime.store.read('test.plan', (tx) =>
    tx.all(`EXPLAIN QUERY PLAN ${LIST_BATCHES_OF_RUN}`, ['local', 'run', 'z', 10]),
  );
  const details = plan.map((row) => String(row['detail']));
  assert.ok(
    details.every((detail) => detail.includes('COVERING INDEX permission_requests_by_run')),
    details.join('\n'),
  );
});

check('a call of a batch of which nobody knows what became of it is not shown as executed', async (t) => {
  const broken = noteTool({
    name: 'note',
    needsApproval: true,
    execute: () => {
      throw new Error('the line broke');
    },
  });
  const world = await openWorld(t, { model: replies(1, 1), tools: [broken] });
  const approver = await world.client(['approver']);
  const { run_id: runId } = await (await world.client(['agent'])).startRun({ task: 'go' });
  const { pending } = await untilRun(approver, runId, 'waiting_confirmation');
  const { digest } = await approver.showApproval(pending[0] ?? '');
  await approver.decide(pending[0] ?? '', { decision: 'approve', digest });
  while ((await approver.showRun(runId)).status !== 'failed') await new Promise((settle) => setTimeout(settle, 5));
  const [batch] = (await approver.listBatches(runId)).batches;
  assert.deepEqual([batch?.status, batch?.calls[0]?.execution_status], ['execution_unknown', 'execution_unknown']);
});
