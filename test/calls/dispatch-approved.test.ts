import { pause, unpause } from '../../src/app/index.ts';
import { dispatchApproved } from '../../src/calls/index.ts';
import type { Run } from '../../src/index.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, type Desk, noteTool, openDesk } from './desk.ts';

async function approve({ holdfast: { runtime } }: Desk, run: Run, at = 0): Promise<string> {
  const request = run.pending[at];
  assert.ok(request);
  const { requestId, digest } = request;
  await runtime.approvals.decide(runtime.principal, [{ requestId, digest, decision: 'approve' }]);
  return requestId;
}

function dispatch({ holdfast: { runtime } }: Desk, requestId: string, note = 'milk') {
  const world = { filesystem: runtime.filesystem, signal: new AbortController().signal };
  const asked = { requestId, tool: 'take_note', arguments: { note } };
  return dispatchApproved(runtime.calls, runtime.principal, asked, world);
}

async function waiting(desk: Desk, ran: string[], reply: readonly { readonly note?: string }[], fails = false) {
  const tool = noteTool({
    needsApproval: true,
    execute: ({ note }) => {
      ran.push(note);
      if (fails) throw new Error('connection reset');
      return { ok: true };
    },
  });
  return desk.holdfast.agent({ model: callsThenDone(reply), tools: [tool] }).run('go');
}

check('a call is dispatched in two commits, and not a second time by a dispatch or by its run', async (t) => {
  const desk = await openDesk(t);
  const ran: string[] = [];
  const run = await waiting(desk, ran, [{}]);
  const requestId = await approve(desk, run);
  desk.counts.reset();
  const first = await dispatch(desk, requestId);
  assert.equal(first.outcome.state, 'done');
  const wrote = desk.counts.events.flatMap((event) => (event.kind === 'committed' && event.wrote ? event.names : []));
  assert.deepEqual(
    wrote.filter((name) => name.startsWith('calls.')),
    ['calls.begin', 'calls.finish'],
  );
  const second = await dispatch(desk, requestId);
  assert.deepEqual([second.statusRef, second.outcome.state], [first.statusRef, 'done']);
  await run.resume();
  assert.equal(run.status, 'completed');
  assert.deepEqual(ran, ['milk']);
});

check('a call behind one that is not over is not dispatched, nor one behind an unknown outcome', async (t) => {
  const desk = await openDesk(t);
  const ran: string[] = [];
  const run = await waiting(desk, ran, [{ note: 'first' }, { note: 'second' }], true);
  const [one, two] = [await approve(desk, run, 0), await approve(desk, run, 1)];
  const early = await dispatch(desk, two, 'second');
  assert.equal('code' in early.outcome && early.outcome.code, 'CALL_SKIPPED');
  assert.equal((await dispatch(desk, one, 'first')).outcome.state, 'unknown');
  const behind = await dispatch(desk, two, 'second');
  assert.equal('code' in behind.outcome && behind.outcome.code, 'CALL_SKIPPED');
  assert.deepEqual(ran, ['first']);
  assert.equal((await run.refresh()).view.outcome, 'unknown');
});

check('a pause, a stop and another principal each refuse, and the permission is not used', async (t) => {
  const desk = await openDesk(t);
  const { runtime } = desk.holdfast;
  const ran: string[] = [];
  const run = await waiting(desk, ran, [{}]);
  const requestId = await approve(desk, run);
  await assert.rejects(
    dispatchApproved(
      runtime.calls,
      { ...runtime.principal, subject: 'mallory' },
      { requestId, tool: 'take_note', arguments: { note: 'milk' } },
      { filesystem: runtime.filesystem, signal: new AbortController().signal },
    ),
    { code: 'APPROVAL_BINDING_MISMATCH' },
  );
  await pause(runtime.store, 'stocktaking');
  const paused = await dispatch(desk, requestId);
  assert.equal('code' in paused.outcome && paused.outcome.code, 'CALL_PAUSED');
  await unpause(runtime.store);
  await run.stop();
  const stopped = await dispatch(desk, requestId);
  assert.equal('code' in stopped.outcome && stopped.outcome.code, 'APPROVAL_REVOKED');
  assert.deepEqual(ran, []);
});
