import { ledgerCalls, ledgerResultOf, outcomeOfStored, recordRecovered } from '../calls/index.ts';
import { LIMITS } from '../core/index.ts';
import { latestRequest } from '../approvals/index.ts';
import { appendFeed } from '../store/index.ts';
import { allEnded } from './all-ended.ts';
import type { RunsContext } from './context.ts';
import { endDeadModellessRun, isModelless } from './guard-run.ts';
import { branchGroups } from './history.ts';
import type { RunRecord } from './model.ts';
import * as sql from './run-queries.ts';
import { runOf } from './run-store.ts';
import { isOfMainLine } from './side-branch/told.ts';

/** What an interrupted run comes to. */
type Left =
  | { readonly status: 'failed'; readonly code: 'OUTCOME_UNKNOWN'; readonly message: string }
  | { readonly status: 'waiting_confirmation' }
  | { readonly status: 'running' };

/**
 * Lets go of every run whose process is dead, a page at a time. A call that was started and has no result gets the
 * outcome that its stored operation says, unknown included; nothing is run and nobody is asked. The run of a dead guard
 * ends, since nobody can take it up. What belongs to a living process is never touched. The runs of a page are let go of
 * side by side, so that they share commits.
 */
export async function releaseOrphans(context: RunsContext): Promise<readonly string[]> {
  const released: string[] = [];
  const { store, clock } = context.calls;
  await context.calls.faults.reach('recovery-started');
  for (;;) {
    const rows = await store.read('runs.orphans', (tx) =>
      tx.all(sql.LIST_ORPHANS, [clock.nowMs(), LIMITS.sessionPageRows]),
    );
    const runs = rows.map(runOf);
    await allEnded(runs.map((run) => release(context, run)));
    released.push(...runs.map(({ runId }) => runId));
    if (rows.length < LIMITS.sessionPageRows) break;
  }
  await context.calls.faults.reach('recovery-finished');
  return released;
}

async function release(context: RunsContext, run: RunRecord): Promise<void> {
  const deadOwner = run.state.status === 'running' ? run.state.ownerInstanceId : null;
  if (deadOwner === null) return;
  if (await isModelless(context.calls, run)) return endDeadModellessRun(context.calls, run, deadOwner);
  const left = await leftOf(context, run);
  const { store, clock } = context.calls;
  const failed = left.status === 'failed' ? left : null;
  const params = [left.status, failed?.code ?? null, failed?.message ?? null, clock.nowMs(), run.runId, deadOwner];
  await store.write('runs.release', async (tx) => {
    const { changes } = await tx.run(sql.RELEASE_ORPHAN, params);
    if (changes === 0) return;
    const kind = left.status === 'running' ? 'run.interrupted' : `run.${left.status}`;
    await appendFeed(tx, { tenantId: run.principal.tenant, kind, reference: run.runId });
  });
}

async function leftOf(context: RunsContext, run: RunRecord): Promise<Left> {
  const { store } = context.calls;
  const { rootFrameId, branchId, turnId } = run.place;
  const groups = await store.read('runs.history', (tx) => branchGroups(tx, run.principal, rootFrameId, branchId));
  const last = groups.findLast(({ group }) => group.turnId === turnId && isOfMainLine(group));
  if (!last || last.group.kind !== 'native_tools') return { status: 'running' };
  const { groupId } = last.group;
  const calls = await store.read('runs.calls', (tx) => ledgerCalls(tx, run.principal, groupId));
  let unknown: string | null = null;
  for (const call of calls) {
    if (call.statusRef === null || (call.hasResult && call.outcome?.state !== 'unknown')) continue;
    const outcome = await outcomeOfStored(context.calls, run.principal, call.statusRef);
    const of = ledgerResultOf(groupId, run.runId, call);
    if (!call.hasResult) await recordRecovered(context.calls, run.principal, of, outcome);
    if (outcome.state === 'unknown') unknown = call.toolName;
  }
  if (unknown !== null)
    return {
      status: 'failed',
      code: 'OUTCOME_UNKNOWN',
      message: `The outcome of a call of ${unknown} is unknown: its process ended before the answer was written down.`,
    };
  return (await waits(context, run, groupId, calls)) ? { status: 'waiting_confirmation' } : { status: 'running' };
}

async function waits(
  context: RunsContext,
  run: RunRecord,
  groupId: string,
  calls: readonly { readonly callId: string; readonly outcome: unknown }[],
): Promise<boolean> {
  for (const call of calls) {
    if (call.outcome) continue;
    const request = await context.calls.store.read('runs.request', (tx) =>
      latestRequest(tx, run.principal, groupId, call.callId),
    );
    if (request?.status.state === 'pending') return true;
  }
  return false;
}
