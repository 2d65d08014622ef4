import { GatewayRefusal } from '../../src/client/index.ts';
import type { ModelFunction } from '../../src/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { leapingClock, openWorld, untilRun } from './world.ts';

const refusal = (code: string, status: number) => (error: unknown) => {
  assert.ok(error instanceof GatewayRefusal);
  assert.deepEqual([error.code, error.status], [code, status]);
  return true;
};

check('a run is begun, waits, is approved by somebody else, and is done; every surface says the same', async (t) => {
  const { client } = await openWorld(t);
  const agent = await client(['agent']);
  const approver = await client(['approver']);
  const { run_id: runId, session_id: sessionId } = await agent.startRun({ task: 'buy milk' });
  const waiting = await untilRun(agent, runId, 'waiting_confirmation');
  const [requestId = ''] = waiting.pending;
  const shown = await approver.showApproval(requestId);
  assert.equal(shown.canonical_arguments, '{"note":"milk"}');
  const decided = await approver.decide(requestId, { decision: 'approve', digest: shown.digest });
  assert.deepEqual([decided.request.status, decided.run_continues], ['allowed', true]);
  const done = await untilRun(agent, runId, 'completed');
  const [call] = done.calls;
  assert.equal(call?.outcome, 'done');
  const { operations } = await agent.listOperations();
  assert.deepEqual(
    operations.map(({ outcome, status_ref: ref }) => [outcome, ref]),
    [['done', call?.status_ref]],
  );
  assert.equal((await agent.runEffects(runId)).effects.length, (await agent.listEffects()).effects.length);
  const { messages } = await agent.listMessages(sessionId);
  assert.deepEqual([messages[0]?.role, messages[0]?.content], ['user', 'buy milk']);
  assert.equal((await agent.listRuns()).runs[0]?.status, 'completed');
  assert.equal((await agent.showSession(sessionId)).session_id, sessionId);
  assert.equal((await agent.listBranches(sessionId)).branches.length, 1);
  assert.equal((await approver.listApprovals({ which: 'all' })).requests[0]?.status, 'used');
});

check('an edit, a rejection, a stop and a second decision', async (t) => {
  const notes: string[] = [];
  const tool = noteTool({
    needsApproval: true,
    editable: ['note'],
    execute: ({ note }) => ({ kept: notes.push(note) }),
  });
  const { client } = await openWorld(t, { tools: [tool] });
  const agent = await client(['agent']);
  const approver = await client(['approver']);
  const begin = async () => {
    const { run_id: runId } = await agent.startRun({ task: 'go' });
    const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
    return { runId, request: await approver.showApproval(pending[0] ?? '') };
  };
  const edited = await begin();
  const { digest, decision_id: id } = edited.request;
  await approver.decide(id, { decision: 'approve', digest, edited_arguments: { note: 'oat milk' } });
  await untilRun(agent, edited.runId, 'completed');
  const again = approver.decide(id, { decision: 'approve', digest });
  await assert.rejects(again, refusal('APPROVAL_ALREADY_DECIDED', 409));
  const rejected = await begin();
  const wrong = approver.decide(rejected.request.decision_id, { decision: 'reject', digest: 'f'.repeat(64) });
  await assert.rejects(wrong, refusal('APPROVAL_DIGEST_MISMATCH', 409));
  await approver.decide(rejected.request.decision_id, { decision: 'reject', digest: rejected.request.digest });
  assert.equal((await untilRun(agent, rejected.runId, 'completed')).calls[0]?.outcome, 'not_started');
  const stopped = await begin();
  assert.equal((await approver.stopRun(stopped.runId)).status, 'stopping');
  await untilRun(agent, stopped.runId, 'stopped');
  await assert.rejects(agent.resumeRun(stopped.runId), refusal('RUN_ENDED', 409));
  assert.deepEqual(notes, ['oat milk']);
});

check('what is unknown is settled by a person who may, once, and nobody else', async (t) => {
  const tool = noteTool({
    execute: () => {
      throw new Error('the line broke');
    },
  });
  const { options: holdfast, pastTheLease } = leapingClock();
  const { client } = await openWorld(t, { tools: [tool], holdfast });
  const agent = await client(['agent']);
  const approver = await client(['approver']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  const failed = await untilRun(agent, runId, 'failed');
  assert.equal(failed.outcome, 'unknown');
  assert.equal((await agent.listRuns()).runs[0]?.outcome, 'unknown');
  const { operations } = await agent.listOperations({ open: true });
  const ref = operations[0]?.status_ref ?? '';
  assert.equal((await agent.showOperation(ref)).outcome, 'unknown');
  await assert.rejects(agent.askOperation(ref), refusal('TOOL_NOT_ASKABLE', 409));
  const verdict = { verdict: 'not_done', reason: 'The shop says so.' } as const;
  await assert.rejects(agent.settleOperation(ref, verdict), refusal('ROLE_NOT_ALLOWED', 403));
  await assert.rejects(approver.settleOperation(ref, verdict), refusal('OPERATION_LEASE_RUNNING', 409));
  pastTheLease();
  const settled = await approver.settleOperation(ref, verdict);
  assert.deepEqual([settled.outcome, settled.verdict?.decided_by], ['not_done', 'approver']);
  await assert.rejects(approver.settleOperation(ref, verdict), refusal('OPERATION_SETTLED', 409));
  const [listed] = (await agent.listRuns()).runs;
  const shown = await agent.showRun(runId);
  assert.deepEqual([listed?.outcome, listed?.reason], [null, shown.reason], 'a list says what the run says');
  assert.match(shown.reason, /is known by now/);
  assert.equal((await (await client(['admin'])).auditOperations()).passed, true);
});

check('the newest calls of a run are shown with a place where the older ones begin, page by page', async (t) => {
  const model = callsThenDone(...['a', 'b', 'c'].map((note) => [{ note }]));
  const { client } = await openWorld(t, { tools: [noteTool({ effect: 'read' })], model });
  const agent = await client(['agent']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  const whole = await untilRun(agent, runId, 'completed');
  assert.deepEqual([whole.calls.length, whole.calls_next, whole.summary.calls], [3, null, 3]);
  const newest = await agent.showRun(runId, { limit: 2 });
  assert.deepEqual([newest.calls, newest.summary], [whole.calls.slice(-2), whole.summary]);
  const older = await agent.showRun(runId, { limit: 2, after: newest.calls_next ?? '' });
  assert.deepEqual([older.calls, older.calls_next, older.text], [whole.calls.slice(0, 1), null, whole.text]);
  await assert.rejects(agent.showRun(runId, { limit: 201 }), refusal('REQUEST_INVALID', 400));
  await assert.rejects(agent.showRun(runId, { after: runId }), refusal('INVALID_VALUE', 400));
  const stranger = await client(['agent'], { tenant: 'elsewhere' });
  await assert.rejects(stranger.showRun(runId, { limit: 2 }), refusal('RUN_NOT_FOUND', 404));
});

check('a last reply that its provider cut is told beside a completed run, and no other reply is', async (t) => {
  const ends = ['length', 'content_filter', 'other', 'stop'] as const;
  const model: ModelFunction = ({ messages }) => {
    const asked = messages.filter(({ role }) => role === 'user');
    if (messages.at(-1)?.role === 'tool') return { text: 'half a', finishReason: ends[asked.length - 1] ?? 'stop' };
    const call = { toolName: 'take_note', arguments: { note: `note ${asked.length}` } };
    return { calls: [call], finishReason: 'length' };
  };
  const { client } = await openWorld(t, { tools: [noteTool({ effect: 'read' })], model });
  const agent = await client(['agent']);
  let session = {};
  for (const end of ends) {
    const begun = await agent.startRun({ task: 'go', ...session });
    session = { session_id: begun.session_id };
    const run = await untilRun(agent, begun.run_id, 'completed');
    assert.deepEqual([run.text, run.cut], ['half a', end === 'stop' ? null : end]);
    assert.equal((await agent.showRun(begun.run_id, { limit: 1 })).cut, run.cut);
  }
});
