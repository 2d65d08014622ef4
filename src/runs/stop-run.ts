import { cancelRequests } from '../approvals/index.ts';
import type { Principal } from '../sessions/index.ts';
import { appendFeed, type Tx } from '../store/index.ts';
import type { RunsContext } from './context.ts';
import type { RunRecord } from './model.ts';
import * as sql from './run-queries.ts';
import { runTree } from './run-store.ts';

/**
 * Asks a run and every run below it to stop, in one commit: what waits is cancelled, and a run that nobody living has
 * is stopped at once. Answers the ids of those that had not ended.
 */
export async function stopTree(context: RunsContext, principal: Principal, runId: string): Promise<readonly string[]> {
  return context.calls.store.write('runs.stop', async (tx) => {
    const asked: string[] = [];
    for (const run of await runTree(tx, principal, runId))
      if (await stopOne(tx, context, principal, run)) asked.push(run.runId);
    return asked;
  });
}

async function stopOne(
  tx: Tx,
  { calls }: RunsContext,
  principal: Principal,
  { runId, place }: RunRecord,
): Promise<boolean> {
  const now = calls.clock.nowMs();
  const { changes } = await tx.run(sql.ASK_STOP, [now, now, runId, principal.tenant]);
  if (changes === 0) return false;
  const { rootFrameId } = place;
  await cancelRequests(tx, calls.sessions, principal, { rootFrameId, runId }, 'The run was stopped.');
  await tx.run(sql.STOP_UNOWNED, [now, now, runId, principal.tenant, now]);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.stop_requested', reference: runId });
  return true;
}
