import { beginTurn, openSession, type Principal } from '../sessions/index.ts';
import type { CallPlace, CallsContext } from '../calls/index.ts';
import type { JsonObject } from '../core/index.ts';
import { insertRun, moveRun } from './run-store.ts';

/** A run without a model: whoever proposes its calls is outside, such as the host of a guarded MCP server. */
export interface ModellessRun {
  /** Who proposes: `guard:files`. */
  readonly name: string;
  readonly projectId: string;
  readonly ownerInstanceId: string;
  readonly context: JsonObject;
}

/** Opens a session of kind `guard` with one turn and its run, in one commit. Throws PROJECT_NOT_FOUND. */
export async function openModellessRun(
  calls: CallsContext,
  principal: Principal,
  run: ModellessRun,
): Promise<CallPlace> {
  const { store, sessions, clock } = calls;
  const { projectId, name } = run;
  const runId = sessions.ids.next();
  return store.write('runs.open-guard', async (tx) => {
    const rootFrameId = await openSession(tx, sessions, principal, { projectId, kind: 'guard', name });
    const branchId = rootFrameId;
    const task = `Calls that come through ${name}`;
    const { turnId } = await beginTurn(tx, sessions, principal, { rootFrameId, branchId, content: task });
    const place = { projectId, rootFrameId, branchId, turnId };
    const { ownerInstanceId, context } = run;
    const now = clock.nowMs();
    await insertRun(tx, { runId, principal, place, agent: name, task, model: 'none', context, ownerInstanceId, now });
    return { principal, ...place, runId };
  });
}

/** Ends such a run: its host has gone, and every call that was under way has its outcome. */
export async function closeModellessRun(calls: CallsContext, place: CallPlace, ownerInstanceId: string): Promise<void> {
  const now = calls.clock.nowMs();
  await calls.store.write('runs.close-guard', (tx) =>
    moveRun(tx, place, ownerInstanceId, { status: 'completed', text: '', finishedAt: now }, now),
  );
}
