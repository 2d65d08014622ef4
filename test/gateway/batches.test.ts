import { z } from 'zod';
import { GatewayRefusal } from '../../src/client/index.ts';
import { type ModelFunction, tool } from '../../src/index.ts';
import { assert, check, contract, type Ending } from '../support/index.ts';
import { openWorld, untilRun } from './world.ts';

/** The waiting batch of the contracts: `danger-1`, which waits, and `safe-1` behind it. */
async function waiting(t: Ending) {
  const effects: unknown[] = [];
  const dangerous = tool({
    name: 'dangerous_tool',
    description: 'Is dangerous.',
    inputSchema: z.object({ value: z.number(), fixed: z.string() }),
    effect: 'once',
    needsApproval: true,
    editable: ['value'],
    execute: ({ value, fixed }) => ({ n: effects.push(['dangerous', value, fixed]) }),
  });
  const safe = tool({
    name: 'safe_tool',
    description: 'Is safe.',
    inputSchema: z.object({ label: z.string() }),
    effect: 'once',
    needsApproval: false,
    execute: ({ label }) => ({ n: effects.push(['safe', label]) }),
  });
  const model: ModelFunction = ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : {
          calls: [
            { callId: 'danger-1', toolName: 'dangerous_tool', arguments: { value: 1, fixed: 'fixed' } },
            { callId: 'safe-1', toolName: 'safe_tool', arguments: { label: 'after-approval' } },
          ],
        };
  const world = await openWorld(t, { model, tools: [dangerous, safe] });
  const agent = await world.client(['agent']);
  const approver = await world.client(['approver']);
  const { run_id: runId, session_id: session } = await agent.startRun({ task: 'go' });
  const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
  const { action_group_id: batchId } = await approver.showApproval(pending[0] ?? '');
  const batch = () => approver.showBatch(runId, batchId);
  const decide = (...decisions: Parameters<typeof approver.decideBatch>[2]['decisions']) =>
    approver.decideBatch(runId, batchId, { decisions });
  return { world, agent, approver, runId, session, batchId, pending, effects, batch, decide };
}

const refused = (status: number, code: string) => (error: unknown) => {
  assert.ok(error instanceof GatewayRefusal, String(error));
  assert.deepEqual([error.status, error.code], [status, code]);
  return true;
};

contract('RUN-34 RUN-35 RUN-36 RUN-37', 'over HTTP a run stops for confirmation, its safe call too', async (t) => {
  const at = await waiting(t);
  const { status, calls } = await at.batch();
  assert.deepEqual([status, at.effects, at.pending.length], ['pending', [], 1]);
  assert.deepEqual(
    calls.map((call) => [call.tool_call_id, call.decision, call.execution_status]),
    [
      ['danger-1', 'pending', 'not_started'],
      ['safe-1', 'not_required', 'not_started'],
    ],
  );
});

contract(
  'RUN-41 RUN-43 RUN-44 RUN-46',
  'an edit approved over HTTP starts the work, in the order of the model',
  async (t) => {
    const at = await waiting(t);
    const [danger] = (await at.batch()).calls;
    const decided = await at.decide({
      tool_call_id: 'danger-1',
      decision: 'approve',
      argument_hash: danger?.argument_hash,
      edited_arguments: { value: 9, fixed: 'fixed' },
    });
    assert.deepEqual(decided, { status: 'started', run_continues: true });
    await untilRun(at.agent, at.runId, 'completed');
    assert.deepEqual(at.effects, [
      ['dangerous', 9, 'fixed'],
      ['safe', 'after-approval'],
    ]);
    const { status, calls } = await at.batch();
    assert.equal(status, 'completed');
    assert.deepEqual(new Set(calls.map((call) => call.execution_status)), new Set(['executed']));
  },
);

contract(
  'RUN-47 RUN-48 RUN-49',
  'a rejection over HTTP leaves the neighbour, and a later approval is 409',
  async (t) => {
    const at = await waiting(t);
    await at.decide({ tool_call_id: 'danger-1', decision: 'reject' });
    await untilRun(at.agent, at.runId, 'completed');
    assert.deepEqual(at.effects, [['safe', 'after-approval']]);
    assert.equal((await at.batch()).calls[0]?.execution_status, 'rejected');
    await assert.rejects(
      at.decide({ tool_call_id: 'danger-1', decision: 'approve' }),
      refused(409, 'APPROVAL_ALREADY_DECIDED'),
    );
  },
);

contract(
  'RUN-50 RUN-51 RUN-52 RUN-53',
  'an edit of a fixed argument over HTTP is 422 and changes nothing',
  async (t) => {
    const at = await waiting(t);
    const edited_arguments = { value: 1, fixed: 'tampered' };
    await assert.rejects(
      at.decide({ tool_call_id: 'danger-1', decision: 'approve', edited_arguments }),
      refused(422, 'APPROVAL_EDIT_FORBIDDEN'),
    );
    const { status, calls } = await at.batch();
    assert.deepEqual([status, calls[0]?.decision, at.effects], ['pending', 'pending', []]);
  },
);

contract('RUN-54 RUN-55 RUN-56 RUN-57', 'what waits is not run over HTTP (409), and a stop cancels it', async (t) => {
  const at = await waiting(t);
  await assert.rejects(at.agent.resumeRun(at.runId), refused(409, 'RUN_WAITING'));
  assert.equal((await at.agent.stopRun(at.runId)).status, 'stopping');
  assert.equal((await at.agent.showRun(at.runId)).status, 'stopped');
  assert.equal((await at.batch()).status, 'cancelled');
  assert.deepEqual(at.effects, []);
});

check(
  'a batch is its run’s: another run, another call, another hash, and half of a wrong request decide nothing',
  async (t) => {
    const at = await waiting(t);
    const other = await at.agent.startRun({ task: 'go', session_id: at.session });
    const approve = { tool_call_id: 'danger-1', decision: 'approve' } as const;
    const inOther = at.approver.decideBatch(other.run_id, at.batchId, { decisions: [approve] });
    await assert.rejects(inOther, refused(404, 'APPROVAL_NOT_FOUND'));
    await assert.rejects(at.decide(approve, { ...approve, tool_call_id: 'none' }), refused(404, 'APPROVAL_NOT_FOUND'));
    await assert.rejects(at.decide({ ...approve, tool_call_id: 'safe-1' }), refused(404, 'APPROVAL_NOT_FOUND'));
    await assert.rejects(
      at.decide({ ...approve, argument_hash: 'a'.repeat(64) }),
      refused(409, 'APPROVAL_DIGEST_MISMATCH'),
    );
    await assert.rejects(at.decide(approve, { ...approve, decision: 'reject' }), refused(400, 'INVALID_VALUE'));
    assert.equal((await at.batch()).status, 'pending');
    assert.deepEqual(at.effects, []);
  },
);

check('one effect of a run is shown as it is in the list, and one that is not there is told alike', async (t) => {
  const at = await waiting(t);
  await at.decide({ tool_call_id: 'danger-1', decision: 'approve' });
  await untilRun(at.agent, at.runId, 'completed');
  const { effects } = await at.agent.runEffects(at.runId);
  assert.equal(effects.length, 2);
  for (const effect of effects) assert.deepEqual(await at.agent.showEffect(at.runId, effect.effect_id), effect);
  await assert.rejects(at.agent.showEffect(at.runId, 'none'), refused(404, 'EFFECT_NOT_FOUND'));
});

check(
  'a session without audits has an empty page of them; another’s, and a mark that was never given, are refused',
  async (t) => {
    const at = await waiting(t);
    const { autonomy, calls, principal } = at.world.holdfast.runtime;
    const run = { runId: 'auto-1', key: 'start', rootFrameId: at.session, branchId: at.session, turnId: 't' };
    const rest = { mode: 'auto_fix', selection: {}, budgets: {}, executionId: 'e' } as const;
    await autonomy.startRun(principal, { ...run, ...rest, ownerInstanceId: calls.workerId });
    assert.deepEqual(await at.agent.listAudits(at.session), { audits: [], next: null });
    await assert.rejects(at.agent.listAudits('none'), refused(404, 'BRANCH_NOT_FOUND'));
    await assert.rejects(at.agent.listAudits(at.session, { after: 'x' }), refused(400, 'REQUEST_INVALID'));
  },
);
