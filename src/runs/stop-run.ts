import { cancelRequests } from '../approvals/index.ts';
import type { Principal } from '../sessions/index.ts';
import { appendFeed, type Tx } from '../store/index.ts';
import type { CallsContext } from '../calls/index.ts';
import type { RunsContext } from './context.ts';
import { isModellessIn } from './guard-run.ts';
import type { RunRecord } from './model.ts';
import * as sql from './run-queries.ts';
import { damageOfOrphan } from './orphans.ts';
import { apart, readTree } from './run-store.ts';

/**
 * Asks a run and every run below it to stop, in one commit: what waits is cancelled, and a run that nobody living has
 * is stopped at once. Answers the ids of those that had not ended. Of a guard's run that has been stopped already as that
 * of a dead process it is kept that somebody asked. One below it of which a record is damaged is left as
 * it is: nobody carries it out, and it must not keep the others from their end.
 */
export async function stopTree(context: RunsContext, principal: Principal, runId: string): Promise<readonly string[]> {
  const { store } = context.calls;
  const before = await store.read('runs.stop', (tx) => readTree(tx, principal, runId));
  const left = new Set<string>();
  for (const run of apart(before).items) if (await damageOfOrphan(context.calls, run)) left.add(run.runId);
  return store.write('runs.stop', async (tx) => {
    const asked: string[] = [];
    for (const run of apart(await readTree(tx, principal, runId)).items)
      if (!left.has(run.runId) && (await stopOne(tx, context.calls, principal, run))) asked.push(run.runId);
    return asked;
  });
}

type StopContext = Pick<CallsContext, 'clock' | 'sessions'>;

/** Asks one run to stop, or stops it at once where nobody living has it. False for one that had ended. */
export async function stopOne(tx: Tx, calls: StopContext, principal: Principal, run: RunRecord): Promise<boolean> {
  const { runId, place } = run;
  const now = calls.clock.nowMs();
  const { changes } = await tx.run(sql.ASK_STOP, [now, now, runId, principal.tenant]);
  if (changes === 0) {
    await keepStop(tx, calls, principal, run);
    return false;
  }
  const { rootFrameId } = place;
  await cancelRequests(tx, calls.sessions, principal, { rootFrameId, runId }, 'The run was stopped.');
  await tx.run(sql.STOP_UNOWNED, [now, now, runId, principal.tenant, now]);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.stop_requested', reference: runId });
  return true;
}

/**
 * The run of a guard that was taken for dead is stopped already, and the guard may only have slept: it learns here, when
 * it wakes, that it is to begin nothing more.
 */
async function keepStop(tx: Tx, calls: StopContext, principal: Principal, run: RunRecord): Promise<void> {
  if (run.state.status !== 'stopped' || !(await isModellessIn(tx, run))) return;
  const now = calls.clock.nowMs();
  const { changes } = await tx.run(sql.KEEP_STOP, [now, now, run.runId, principal.tenant]);
  if (changes === 0) return;
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.stop_requested', reference: run.runId });
}
