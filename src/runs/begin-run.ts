import { fail, type JsonObject, LIMITS, requireText, requireWithin } from '../core/index.ts';
import { beginTurn, openSession, type Principal, requireBranch, type SessionTicket } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { childCallKey } from './child-call.ts';
import type { Agent, Driving, RunListener, RunsContext } from './context.ts';
import { freezeAgent } from './frozen.ts';
import type { ChildCall, RunPlace, RunRecord } from './model.ts';
import { SIZE_OF_TREE } from './run-queries.ts';
import { findChild, insertRun, isStopAsked, requireRun } from './run-store.ts';

/** Where a new run begins: a project for a session of its own, or a session to go on with. */
export interface StartRun {
  readonly task: string;
  readonly projectId: string;
  readonly rootFrameId?: string;
  readonly branchId?: string;
  readonly context?: JsonObject;
  readonly listener?: RunListener;
  /** Writes more in the commit that begins the run; what it throws undoes all of it. */
  readonly within?: (tx: Tx, begun: { readonly runId: string; readonly rootFrameId: string }) => Promise<void>;
}

/**
 * Asks for the pen of the session in which a run is to be carried out, in the commit that gives the run to this process,
 * under its id `owner`.
 */
export type AskPen = (tx: Tx, principal: Principal, rootFrameId: string, owner: string) => Promise<SessionTicket>;

/** A run that this process has, and its place in the queue for its session's pen. */
export interface TakenRun {
  readonly runId: string;
  readonly ticket: SessionTicket;
  /** The id of this process under which it has the run. */
  readonly owner: string;
}

/**
 * Writes down a run that begins: its session unless one is named, its turn, its record with its agent frozen, and its
 * place in the queue for the session's pen.
 */
export async function beginRun(
  context: RunsContext,
  principal: Principal,
  agent: Agent,
  start: StartRun,
  askPen: AskPen,
): Promise<TakenRun> {
  const { store, clock, sessions } = context.calls;
  const { instanceId: owner } = context;
  const task = requireText('task', start.task, LIMITS.runTaskCodePoints);
  const runId = sessions.ids.next();
  const frozen = freezeAgent(agent, start.context ?? {});
  return store.write('runs.start', async (tx) => {
    const place = await beginTurnOf(tx, context, principal, start);
    const now = clock.nowMs();
    const run = { ...named(owner, principal, agent, runId), place };
    await insertRun(tx, { ...run, task, context: frozen, now });
    await context.supervision?.begun(tx, run);
    await start.within?.(tx, { runId, rootFrameId: place.rootFrameId });
    return { runId, ticket: await askPen(tx, principal, place.rootFrameId, owner), owner };
  });
}

function named(ownerInstanceId: string, principal: Principal, agent: Agent, runId: string) {
  return { runId, principal, agent: agent.name, model: agent.model.id, ownerInstanceId };
}

async function beginTurnOf(tx: Tx, context: RunsContext, principal: Principal, start: StartRun): Promise<RunPlace> {
  const { sessions } = context.calls;
  const { projectId, task } = start;
  const rootFrameId = start.rootFrameId ?? (await openSession(tx, sessions, principal, { projectId }));
  const branchId = start.branchId ?? rootFrameId;
  await requireBranch(tx, principal, rootFrameId, branchId);
  const { turnId } = await beginTurn(tx, sessions, principal, { rootFrameId, branchId, content: task });
  return { projectId, rootFrameId, branchId, turnId };
}

/** A child run as it stands; `begun` where this call of its parent has just begun it. */
export interface FoundChild {
  readonly child: RunRecord;
  readonly begun: TakenRun | null;
}

/**
 * The child run of a call: the one that the call began before, or a new one in a session of its own, of kind `child`.
 * Null once a stop of the run that makes the call is committed: none is begun under it, and none taken up. One commit, or
 * none. Throws RUN_NOT_OWNED, INVALID_VALUE for a blank or too long task, LIMIT_REACHED (runDepth, runTree).
 */
export async function beginChild(
  context: RunsContext,
  { run, owner: ownerOfParent }: Pick<Driving, 'run' | 'owner'>,
  agent: Agent,
  asked: ChildCall,
  askPen: AskPen,
): Promise<FoundChild | null> {
  const { store, clock, sessions } = context.calls;
  const { instanceId: owner } = context;
  const { principal } = run;
  const call = childCallKey(asked);
  const isStopped = (tx: ReadTx): Promise<boolean> => isStopAsked(tx, run.runId, ownerOfParent);
  const before = await store.read('runs.child', async (tx) => ({
    stopped: await isStopped(tx),
    known: await findChild(tx, run, call),
  }));
  if (before.stopped) return null;
  if (before.known) return { child: before.known, begun: null };
  const task = requireText('task', asked.task, LIMITS.runTaskCodePoints);
  const frozen = freezeAgent(agent, {});
  const runId = sessions.ids.next();
  return store.write('runs.child', async (tx) => {
    const other = await findChild(tx, run, call);
    if (other) return { child: other, begun: null };
    if (await isStopped(tx)) return null;
    await requireRoom(tx, run);
    const { projectId } = run.place;
    const rootFrameId = await openSession(tx, sessions, principal, { projectId, kind: 'child' });
    const place = await beginTurnOf(tx, context, principal, { projectId, rootFrameId, task });
    const parent = { runId: run.runId, call };
    const now = clock.nowMs();
    await insertRun(tx, { ...named(owner, principal, agent, runId), place, task, context: frozen, parent, now });
    const ticket = await askPen(tx, principal, rootFrameId, owner);
    return { child: await requireRun(tx, principal, runId), begun: { runId, ticket, owner } };
  });
}

/** One more run below this one is still read and stopped together with all of its tree. LIMIT_REACHED. */
async function requireRoom(tx: Tx, run: RunRecord): Promise<void> {
  let top = run;
  let depth = 1;
  for (; top.parent; depth += 1) {
    if (depth > LIMITS.runDepth + 1) throw fail('RUN_RECORD_BROKEN', 'The runs above a run do not come to an end.');
    top = await requireRun(tx, run.principal, top.parent.runId);
  }
  requireWithin('runDepth', depth);
  const tree = await tx.get(SIZE_OF_TREE, [top.runId, run.principal.tenant]);
  requireWithin('runTree', Number(tree?.['runs']) + 1);
}
