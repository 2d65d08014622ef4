import type { Principal } from '../sessions/index.ts';
import type { Store } from '../store/index.ts';
import { completeAssessment } from './assessments.ts';
import { terminateRun } from './candidates.ts';
import type { AutonomyContext } from './context.ts';
import { codeOf } from './errors.ts';
import { isTerminal } from './machine.ts';
import type { AutoRun } from './model.ts';
import * as sql from './queries.ts';
import { SUPERVISOR } from './supervise/terms.ts';
import { completeRepair } from './repair-completion.ts';
import { completeReview } from './reviews.ts';
import { requireRun } from './usable.ts';

/** What a sweep did with the runs that dead processes had left open. */
export interface SweptRuns {
  /** Ended with what is known of them. */
  readonly closed: readonly string[];
  /** Could not be ended truthfully: nothing more happens under them. */
  readonly abandoned: readonly string[];
  /** Left alone until an interrupted revert of their session is finished. */
  readonly waiting: readonly string[];
}

const ROWS = 100;

/**
 * Closes the runs of other owners that are no live process: started reviews and assessments end as unavailable, a
 * started repair as unknown, the run as `review_unavailable`. One that cannot be closed truthfully is only marked
 * abandoned; one bad row does not stop the sweep. Runs of `ownInstanceIds` are never touched, nor those that a supervisor
 * began, or of which that cannot be told: these are resumed where they stood, or named by the audit.
 */
export async function sweepRuns(
  store: Store,
  context: AutonomyContext,
  ownInstanceIds: readonly string[],
): Promise<SweptRuns> {
  const closed: string[] = [];
  const abandoned: string[] = [];
  const waiting: string[] = [];
  let after = '';
  for (;;) {
    const params = [context.sessions.clock.nowMs(), after, ROWS];
    const rows = await store.read('autonomy.open', (tx) => tx.all(sql.OPEN_RUNS, params));
    for (const row of rows) {
      after = String(row['run_id']);
      if (ownInstanceIds.includes(String(row['owner_instance_id'])) || Number(row['live']) !== 0) continue;
      if (row['source'] === SUPERVISOR) continue;
      if (Number(row['is_told']) === 0) continue;
      const principal: Principal = { tenant: String(row['tenant_id']), subject: 'restart', roles: [] };
      const end = await sweepOne(store, context, principal, after);
      ({ closed, abandoned, waiting })[end].push(after);
    }
    if (rows.length < ROWS) return { closed, abandoned, waiting };
  }
}

async function sweepOne(
  store: Store,
  context: AutonomyContext,
  principal: Principal,
  runId: string,
): Promise<'closed' | 'abandoned' | 'waiting'> {
  try {
    await closeRun(store, context, principal, runId);
    return 'closed';
  } catch (error) {
    const code = codeOf(error);
    if (code === null || code.startsWith('STORE_')) throw error;
    if (code === 'SESSION_REVERTING') return 'waiting';
    // Whatever of the run cannot be read, the mark can be put there.
    const params = [context.sessions.clock.nowMs(), runId];
    await store.write('autonomy.abandon', (tx) => tx.run(sql.ABANDON_SWEPT, params));
    return 'abandoned';
  }
}

/** All of one run in one transaction: it is closed whole, or not at all. */
async function closeRun(store: Store, context: AutonomyContext, principal: Principal, runId: string): Promise<void> {
  await store.write('autonomy.sweep', async (tx) => {
    const started = async (text: string) => (await tx.all(text, [runId])).filter((row) => row['status'] === 'started');
    const key = (id: string): string => `daemon-restart:${id}`;
    for (const row of await started(sql.ASSESSMENTS_OF_RUN))
      await completeAssessment(tx, context, principal, String(row['assessment_id']), {
        key: key(String(row['assessment_id'])),
        status: 'unavailable',
        outcome: 'unavailable',
        risk: 'unknown',
        assessment: {},
      });
    for (const row of await started(sql.REVIEWS_OF_RUN))
      await completeReview(tx, context, principal, String(row['review_run_id']), {
        key: key(String(row['review_run_id'])),
        status: 'unavailable',
        verdict: 'review_unavailable',
        assessment: {},
      });
    for (const row of await started(sql.REPAIRS_OF_RUN)) {
      const repair = sql.REPAIRS.read(row);
      await completeRepair(tx, context, principal, repair.repair_run_id, {
        key: key(repair.repair_run_id),
        status: 'outcome_unknown',
        afterVersionIds: [],
        executionGroupIds: repair.execution_group_ids,
      });
    }
    const run: AutoRun = await requireRun(tx, principal, runId);
    if (isTerminal(run.status)) return;
    const end = { status: 'review_unavailable', reason: 'daemon_restart' } as const;
    await terminateRun(tx, context, principal, runId, { key: key(runId), ...end });
  });
}
