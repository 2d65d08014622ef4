import { fail, HoldfastError, LIMITS } from '../core/index.ts';
import {
  type CallsContext,
  type LedgerCall,
  ledgerCalls,
  ledgerResultOf,
  outcomeOfLedgerCall,
  resultEvent,
} from '../calls/index.ts';
import { cancelRequests, latestRequest } from '../approvals/index.ts';
import { appendEvent, type NewEvent } from '../sessions/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';
import { allEnded } from './all-ended.ts';
import type { RunsContext } from './context.ts';
import { type Damage, type DamagedRun, damageOf } from './damage.ts';
import { endDeadModellessRun, isModelless } from './guard-run.ts';
import { branchGroups, type GroupWithCalls } from './history.ts';
import type { RunRecord } from './model.ts';
import * as sql from './run-queries.ts';
import { apart, exact, isDamaged, readRun } from './run-store.ts';
import { isOfMainLine } from './side-branch/told.ts';

/** What an interrupted run comes to. */
type Stand =
  | { readonly status: 'failed'; readonly code: 'OUTCOME_UNKNOWN'; readonly message: string }
  | { readonly status: 'waiting_confirmation' }
  | { readonly status: 'running' };

/** How a run of a dead process stands once its records are proved, and the results that its ledger does not have yet. */
interface Left {
  readonly stand: Stand;
  readonly results: readonly NewEvent[];
  /** The operations whose outcome is unknown, by which the run stands as it does. */
  readonly unknown: readonly string[];
}

/** What proving a run's records needs. */
export type ProofContext = Pick<CallsContext, 'store' | 'clock' | 'operations'>;

/** What recovery did with the runs whose processes are dead. */
export interface Released {
  readonly released: readonly string[];
  /** Left exactly as they are stored: a record that they rest on is damaged. */
  readonly damaged: readonly DamagedRun[];
}

/**
 * Lets go of every run whose process is dead, a page at a time. A call that was started and has no result gets the
 * outcome that its stored operation says, unknown included; nothing is run and nobody is asked. The run of a dead guard
 * ends, since nobody can take it up. What belongs to a living process is never touched. The runs of a page are let go of
 * side by side, so that they share commits. One with a damaged record is left as it is and told, and the others are let
 * go of; whatever else fails is thrown. Those that are `spared` are passed over.
 */
export async function releaseOrphans(
  context: RunsContext,
  spared: (run: RunRecord) => boolean = () => false,
): Promise<Released> {
  const released: string[] = [];
  const damaged: DamagedRun[] = [];
  await context.calls.faults.reach('recovery-started');
  for await (const page of orphans(context.calls)) {
    const left = page.filter((run) => isDamaged(run) || !spared(run));
    const ends = await allEnded(left.map(async (run) => (isDamaged(run) ? run : tryRelease(context, run))));
    for (const end of ends) {
      if (typeof end === 'string') released.push(end);
      else if (end !== null) damaged.push(end);
    }
  }
  await context.calls.faults.reach('recovery-finished');
  return { released, damaged };
}

/**
 * The runs that recovery would leave as they are, because a record that they rest on is damaged. Changes nothing. A
 * `tenant` names whose; without one, those of all.
 */
export async function findDamagedRuns(context: ProofContext, tenant?: string): Promise<readonly DamagedRun[]> {
  const found: DamagedRun[] = [];
  for await (const page of orphans(context))
    for (const run of page) {
      if (tenant !== undefined && tenant !== (isDamaged(run) ? run.tenant : run.principal.tenant)) continue;
      const damaged = isDamaged(run) ? run : await damageIn(context, run);
      if (damaged) found.push(damaged);
    }
  return found;
}

/** RUN_DAMAGED for a run that recovery left as it is: nothing of it is moved until the damage is mended. */
export async function requireSound(context: ProofContext, run: RunRecord): Promise<void> {
  const damage = await damageOfOrphan(context, run);
  if (damage === null) return;
  const { code, why } = damage;
  const details = { record: code };
  throw fail('RUN_DAMAGED', `The run is left as it is, since a record of it is damaged (${code}): ${why}`, { details });
}

/** What keeps the recovery of a run from letting go of it; null where nothing does, or it has nothing to do there. */
export async function damageOfOrphan(context: ProofContext, run: RunRecord): Promise<DamagedRun | null> {
  const { store, clock } = context;
  if (run.state.status !== 'running' || run.state.ownerInstanceId === null) return null;
  const left = await store.read('runs.orphan', (tx) => tx.get(sql.IS_ORPHAN, [run.runId, clock.nowMs()]));
  return left ? damageIn(context, run) : null;
}

async function* orphans({ store, clock }: ProofContext): AsyncGenerator<readonly (RunRecord | DamagedRun)[]> {
  for (let after = ''; ; ) {
    const params = [clock.nowMs(), after, LIMITS.sessionPageRows];
    const rows = await store.read('runs.orphans', (tx) => tx.all(exact(sql.LIST_ORPHANS), params));
    const page = rows.map(readRun);
    yield page;
    const last = page.at(-1);
    if (!last || page.length < LIMITS.sessionPageRows) return;
    after = last.runId;
  }
}

/** The id of a run that was let go of, the damage of one that was left, null for one that is no longer the dead one's. */
async function tryRelease(context: RunsContext, run: RunRecord): Promise<string | DamagedRun | null> {
  const { store, clock } = context.calls;
  try {
    await release(context, run);
    return run.runId;
  } catch (error) {
    const damage = damageOfRecovery(error);
    if (damage === null) throw error;
    // Another process may have let go of it meanwhile, or have deleted it with its session.
    const left = await store.read('runs.orphan', (tx) => tx.get(sql.IS_ORPHAN, [run.runId, clock.nowMs()]));
    return left ? { runId: run.runId, tenant: run.principal.tenant, ...damage } : null;
  }
}

async function damageIn(context: ProofContext, run: RunRecord): Promise<DamagedRun | null> {
  try {
    if (!(await isModelless(context, run))) await leftOf(context, run);
    return null;
  } catch (error) {
    const damage = damageOfRecovery(error);
    if (damage === null) throw error;
    return { runId: run.runId, tenant: run.principal.tenant, ...damage };
  }
}

/** As `damageOf`; a record that a run names and that is gone is damage, too. */
export function damageOfRecovery(error: unknown): Damage | null {
  const isGone = error instanceof HoldfastError && error.family === 'not_found';
  return isGone ? { code: 'RUN_RECORD_BROKEN', why: `What the run names is gone (${error.code}).` } : damageOf(error);
}

const ownerOf = ({ state }: RunRecord): string | null => (state.status === 'running' ? state.ownerInstanceId : null);

async function release({ calls }: Pick<RunsContext, 'calls'>, run: RunRecord): Promise<void> {
  const deadOwner = ownerOf(run);
  if (deadOwner === null) return;
  if (await isModelless(calls, run)) return endDeadModellessRun(calls, run, deadOwner);
  // Everything is read and proved before anything is written, and all of it is one commit.
  const { stand, results, unknown } = await leftOf(calls, run);
  const isStale = await calls.store.write('runs.release', async (tx) => {
    for (const statusRef of unknown) if (await calls.operations.isOver(tx, statusRef)) return true;
    const status = await letGo(tx, calls, run, deadOwner, stand);
    if (status === null) return false;
    for (const result of results) await appendEvent(tx, calls.sessions, run.principal, result);
    const kind = status === 'running' ? 'run.interrupted' : `run.${status}`;
    await appendFeed(tx, { tenantId: run.principal.tenant, kind, reference: run.runId });
    return false;
  });
  // Settled by a living process since it was read: nothing was written, and it is read once more.
  if (isStale) await release({ calls }, run);
}

/**
 * Moves the run from its dead owner, and answers to where: one that could go on, and that somebody asked to stop while its
 * process lived, is stopped. Null where it is no longer that owner's.
 */
async function letGo(
  tx: Tx,
  { clock, sessions }: CallsContext,
  run: RunRecord,
  deadOwner: string,
  stand: Stand,
): Promise<Stand['status'] | 'stopped' | null> {
  const { runId, principal, place } = run;
  const now = clock.nowMs();
  if (run.stopRequested && stand.status !== 'failed') {
    if ((await tx.run(sql.END_ORPHAN, [now, now, runId, deadOwner])).changes === 0) return null;
    const of = { rootFrameId: place.rootFrameId, runId };
    await cancelRequests(tx, sessions, principal, of, 'The run was stopped.');
    return 'stopped';
  }
  const failed = stand.status === 'failed' ? stand : null;
  const params = [stand.status, failed?.code ?? null, failed?.message ?? null, now, runId, deadOwner];
  return (await tx.run(sql.RELEASE_ORPHAN, params)).changes === 0 ? null : stand.status;
}

/**
 * What a run that nobody carries out is to come to, by its records, each of which is proved. Throws the refusal of the
 * record that is damaged.
 */
export async function leftOf(context: ProofContext, run: RunRecord, known?: readonly GroupWithCalls[]): Promise<Left> {
  const { store } = context;
  const { rootFrameId, branchId, turnId } = run.place;
  const groups =
    known ?? (await store.read('runs.history', (tx) => branchGroups(tx, run.principal, rootFrameId, branchId)));
  const last = groups.findLast(({ group }) => group.turnId === turnId && isOfMainLine(group));
  if (!last || last.group.kind !== 'native_tools') return { stand: { status: 'running' }, results: [], unknown: [] };
  const { groupId } = last.group;
  const calls = await store.read('runs.calls', (tx) => ledgerCalls(tx, run.principal, groupId));
  const results: NewEvent[] = [];
  const unknown: string[] = [];
  let unknownTool: string | null = null;
  for (const call of calls) {
    if (call.statusRef === null || (call.hasResult && call.outcome?.state !== 'unknown')) continue;
    const outcome = await outcomeOfLedgerCall(context, run.principal, call.statusRef);
    if (!call.hasResult) results.push(resultEvent(ledgerResultOf(groupId, run.runId, call), outcome));
    if (outcome.state !== 'unknown') continue;
    unknown.push(call.statusRef);
    unknownTool = call.toolName;
  }
  // Read also where it decides nothing: a run whose records do not hold is not moved at all.
  const waiting = await store.read('runs.request', (tx) => waits(tx, run, groupId, calls));
  if (unknownTool !== null) return { stand: failedFor(unknownTool), results, unknown };
  return { stand: { status: waiting ? 'waiting_confirmation' : 'running' }, results, unknown };
}

const failedFor = (toolName: string): Stand => ({
  status: 'failed',
  code: 'OUTCOME_UNKNOWN',
  message: `The outcome of a call of ${toolName} is unknown: its process ended before the answer was written down.`,
});

async function waits(
  tx: ReadTx,
  { principal }: RunRecord,
  groupId: string,
  calls: readonly LedgerCall[],
): Promise<boolean> {
  let waiting = false;
  for (const call of calls) {
    if (call.outcome) continue;
    const request = await latestRequest(tx, principal, groupId, call.callId);
    waiting ||= request?.status.state === 'pending';
  }
  return waiting;
}

/**
 * Every run of a tenant of which a record is damaged: its own row, whatever state it is in, or one that its recovery
 * rests on, where its process is dead. Changes nothing.
 */
export async function auditRunRecords(context: ProofContext, tenant: string): Promise<readonly DamagedRun[]> {
  const found = [...(await findDamagedRuns(context, tenant))];
  const known = new Set(found.map(({ runId }) => runId));
  for (let after = ''; ; ) {
    const params = [tenant, after, LIMITS.sessionPageRows];
    const rows = await context.store.read('runs.audit', (tx) => tx.all(exact(sql.AUDIT_RUNS), params));
    const { damaged } = apart(rows.map(readRun));
    found.push(...damaged.filter(({ runId }) => !known.has(runId)));
    const last = rows.at(-1);
    if (!last || rows.length < LIMITS.sessionPageRows) return found;
    after = String(last['trace_id']);
  }
}
