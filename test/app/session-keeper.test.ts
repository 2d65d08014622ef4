import { restoreTools } from '../../src/app/session-keeper.ts';
import type { SessionHistory } from '../../src/sessions/index.ts';
import { openSession } from '../../src/sessions/index.ts';
import { NotDone } from '../../src/index.ts';
import type { ToolStatus } from '../../src/tools/index.ts';
import { openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';

const stateOf = (said: unknown): string | undefined => (said as ToolStatus | undefined)?.state;

/** A session with a checkpoint, and the tool that takes it back there, with this history in place of the real one. */
async function restoring(
  t: Parameters<typeof openDesk>[0],
  instead: (real: SessionHistory) => Partial<SessionHistory>,
) {
  const ending = new AbortController();
  const captured = { endsCall: false };
  const workspaceOf = (): null => {
    if (captured.endsCall) ending.abort();
    return null;
  };
  const { holdfast } = await openDesk(t, { workspaceOf });
  const { store, principal, projectId, calls, histories } = holdfast.runtime;
  const { history } = histories;
  const root = await store.write('test', (tx) => openSession(tx, calls.sessions, principal, { projectId }));
  const point = await history.checkpoint(principal, { rootFrameId: root, branchId: root, reason: 'test' });
  const preview = history.preview.bind(history);
  const [revert] = restoreTools({ preview, ...instead(history) } as SessionHistory, store);
  const call = {
    callId: 'c',
    idempotencyKey: 'k',
    principal,
    runId: null,
    signal: ending.signal,
    timeoutMs: 1000,
    progress: () => undefined,
  };
  const input = { session_id: root, checkpoint_id: point.checkpointId };
  return {
    ending,
    captured,
    run: async () => revert?.execute(input, call),
    status: async () => stateOf(await revert?.status?.(input, call)),
  };
}

check('a restore that was done, and of which the answer then failed, is never told as not done', async (t) => {
  const { run, status } = await restoring(t, (history) => ({
    revert: async (...given) => {
      await history.revert(...given);
      throw new Error('the pen could not be given back');
    },
  }));
  const thrown: unknown = await run().catch((error: unknown) => error);
  assert.ok(thrown instanceof Error && !NotDone.is(thrown), String(thrown));
  assert.equal(await status(), 'happened');
});

check('a restore whose call has ended while it waited, or while its files were captured, does not begin', async (t) => {
  const real = (history: SessionHistory) => ({ revert: history.revert.bind(history) });
  const late = await restoring(t, (history) => ({
    revert: async (...given) => {
      late.captured.endsCall = true;
      return real(history).revert(...given);
    },
  }));
  const queued = await restoring(t, (history) => ({
    revert: async (...given) => {
      queued.ending.abort();
      return real(history).revert(...given);
    },
  }));
  for (const { run, status } of [late, queued]) {
    await assert.rejects(run(), (error) => NotDone.is(error));
    assert.equal(await status(), 'not_happened');
  }
});
