import { cancelRequests } from '../approvals/index.ts';
import { beginTurn, openSession, type Principal, requireSession } from '../sessions/index.ts';
import type { CallPlace, CallsContext } from '../calls/index.ts';
import { HoldfastError, type JsonObject } from '../core/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';
import type { RunRecord } from './model.ts';
import * as sql from './run-queries.ts';
import { insertRun, moveRun } from './run-store.ts';

const KIND = 'guard';
const NO_MODEL = 'none';

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
  const { store, sessions } = calls;
  const { projectId, name } = run;
  const runId = sessions.ids.next();
  return store.write('runs.open-guard', async (tx) => {
    const rootFrameId = await openSession(tx, sessions, principal, { projectId, kind: KIND, name });
    const branchId = rootFrameId;
    const task = `Calls that come through ${name}`;
    const { turnId } = await beginTurn(tx, sessions, principal, { rootFrameId, branchId, content: task });
    const place = { principal, projectId, rootFrameId, branchId, turnId, runId };
    return insertModellessRun(tx, calls, place, { ...run, task });
  });
}

/**
 * Begins the run that goes on after such a one: the next turn of its session, in one commit. The one before is still
 * open, for the calls that are under way in it.
 */
export async function openNextModellessRun(
  calls: CallsContext,
  after: CallPlace,
  run: ModellessRun,
): Promise<CallPlace> {
  const { store, sessions } = calls;
  const { principal, rootFrameId, branchId } = after;
  const runId = sessions.ids.next();
  return store.write('runs.next-guard', async (tx) => {
    const content = `More calls that come through ${run.name}`;
    const { turnId } = await beginTurn(tx, sessions, principal, { rootFrameId, branchId, content });
    return insertModellessRun(tx, calls, { ...after, turnId, runId }, { ...run, task: content });
  });
}

/**
 * The same where the process that had the run before was taken for dead: that one ends in the same commit as the run of a
 * dead process does, unless somebody has ended it already. Calls that are under way in it keep their place there. Null,
 * and nothing is begun, where a person has asked to stop the run before.
 */
export async function openModellessRunAnew(
  calls: CallsContext,
  after: CallPlace,
  run: ModellessRun,
  deadOwner: string,
): Promise<CallPlace | null> {
  const { store, sessions } = calls;
  const { principal, rootFrameId, branchId } = after;
  const runId = sessions.ids.next();
  return store.write('runs.anew-guard', async (tx) => {
    if (await isModellessRunStopped(tx, after)) return null;
    await endDead(tx, calls, after, deadOwner);
    const content = `More calls that come through ${run.name}`;
    const { turnId } = await beginTurn(tx, sessions, principal, { rootFrameId, branchId, content });
    return insertModellessRun(tx, calls, { ...after, turnId, runId }, { ...run, task: content });
  });
}

async function insertModellessRun(
  tx: Tx,
  { clock }: CallsContext,
  of: CallPlace,
  run: ModellessRun & { readonly task: string },
): Promise<CallPlace> {
  const { principal, runId, ...place } = of;
  const { name: agent, task, ownerInstanceId, context } = run;
  const now = clock.nowMs();
  await insertRun(tx, { runId, principal, place, agent, task, model: NO_MODEL, context, ownerInstanceId, now });
  return of;
}

/**
 * Ends such a run: its host has gone, and every call that was under way has its outcome. What waits for a person is taken
 * back, since nobody will ask for it again in this run.
 */
export async function closeModellessRun(calls: CallsContext, place: CallPlace, ownerInstanceId: string): Promise<void> {
  const finishedAt = calls.clock.nowMs();
  const lost = await calls.store.write('runs.close-guard', async (tx) => {
    await takeBack(tx, calls, place.principal, place);
    const stopped = await isModellessRunStopped(tx, place);
    const end = stopped ? ({ status: 'stopped' } as const) : ({ status: 'completed', text: '' } as const);
    const ended = moveRun(tx, place, ownerInstanceId, { ...end, finishedAt }, finishedAt);
    const notOwned = await ended.then(() => null, ifNotOwned);
    // Who was to stop has nothing to tell where others have stopped it.
    return stopped ? null : notOwned;
  });
  if (lost) throw lost;
}

/** What waits is taken back too where the run was ended before, as that of a process which was taken for dead. */
function ifNotOwned(error: unknown): HoldfastError {
  if (error instanceof HoldfastError && error.code === 'RUN_NOT_OWNED') return error;
  throw error;
}

async function isModellessRunStopped(tx: ReadTx, { runId }: Pick<CallPlace, 'runId'>): Promise<boolean> {
  return (await tx.get(sql.IS_STOP_ASKED, [runId])) !== undefined;
}

/** `lost`: its process was taken for dead, or somebody else has it, so that nothing more may be begun in it. */
export type ModellessStanding = 'open' | 'stopped' | 'lost';

/**
 * How such a run stands for the process that has it, as this transaction sees it: a write that is begun in the same
 * transaction is begun under a run that nobody has ended. One that a person asked to stop is stopped, whoever has it.
 */
export async function modellessRunStanding(
  tx: ReadTx,
  { clock }: Pick<CallsContext, 'clock'>,
  { runId }: Pick<CallPlace, 'runId'>,
  ownerInstanceId: string,
): Promise<ModellessStanding> {
  const row = await tx.get(sql.STANDING_OF_OWN, [ownerInstanceId, clock.nowMs(), runId]);
  if (Number(row?.['asked']) === 1) return 'stopped';
  return Number(row?.['held']) === 1 ? 'open' : 'lost';
}

function takeBack(
  tx: Tx,
  { sessions }: CallsContext,
  principal: Principal,
  { rootFrameId, runId }: Pick<CallPlace, 'rootFrameId' | 'runId'>,
): Promise<unknown> {
  return cancelRequests(tx, sessions, principal, { rootFrameId, runId }, 'Its guard has ended; a new call asks anew.');
}

/** Whether the calls of a run were proposed from outside, so that nobody can take it up. */
export async function isModelless({ store }: Pick<CallsContext, 'store'>, run: RunRecord): Promise<boolean> {
  return run.model === NO_MODEL && store.read('runs.kind', (tx) => isModellessIn(tx, run));
}

/** The same, as this transaction sees it. */
export async function isModellessIn(tx: ReadTx, { model, principal, place }: RunRecord): Promise<boolean> {
  return model === NO_MODEL && (await requireSession(tx, principal, place.rootFrameId)).kind === KIND;
}

/** The same for one whose process is dead. What its calls came to stands with their operations, unknown included. */
export async function endDeadModellessRun(calls: CallsContext, run: RunRecord, deadOwner: string): Promise<void> {
  const { runId, principal, place } = run;
  const { rootFrameId } = place;
  await calls.store.write('runs.release', (tx) => endDead(tx, calls, { principal, rootFrameId, runId }, deadOwner));
}

async function endDead(
  tx: Tx,
  calls: CallsContext,
  run: Pick<CallPlace, 'principal' | 'rootFrameId' | 'runId'>,
  deadOwner: string,
): Promise<void> {
  const { principal, runId } = run;
  const now = calls.clock.nowMs();
  const { changes } = await tx.run(sql.END_ORPHAN, [now, now, runId, deadOwner]);
  if (changes === 0) return;
  await takeBack(tx, calls, principal, run);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.stopped', reference: runId });
}
