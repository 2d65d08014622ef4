import { fail, type JsonObject, LIMITS, requireText, requireWithin } from '../core/index.ts';
import { beginTurn, openSession, type Principal, requireBranch } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { childCallKey } from './child-call.ts';
import type { Agent, Driving, RunListener, RunsContext } from './context.ts';
import { freezeAgent } from './frozen.ts';
import type { ChildCall, RunPlace, RunRecord } from './model.ts';
import { findChild, insertRun, requireRun } from './run-store.ts';

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

/** Writes down a run that begins: its session unless one is named, its turn, and its record with its agent frozen. */
export async function beginRun(
  context: RunsContext,
  principal: Principal,
  agent: Agent,
  start: StartRun,
): Promise<string> {
  const { store, clock, sessions } = context.calls;
  const task = requireText('task', start.task, LIMITS.runTaskCodePoints);
  const runId = sessions.ids.next();
  const frozen = freezeAgent(agent, start.context ?? {});
  await store.write('runs.start', async (tx) => {
    const place = await beginTurnOf(tx, context, principal, start);
    const now = clock.nowMs();
    await insertRun(tx, { ...named(context, principal, agent, runId), place, task, context: frozen, now });
    await start.within?.(tx, { runId, rootFrameId: place.rootFrameId });
  });
  return runId;
}

function named({ instanceId }: RunsContext, principal: Principal, agent: Agent, runId: string) {
  return { runId, principal, agent: agent.name, model: agent.model.id, ownerInstanceId: instanceId };
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

/** A child run as it stands, and whether this call of its parent has just begun it. */
export interface FoundChild {
  readonly child: RunRecord;
  readonly begun: boolean;
}

/**
 * The child run of a call: the one that the call began before, or a new one in a session of its own, of kind `child`.
 * One commit, or none. Throws INVALID_VALUE for a blank or too long task, LIMIT_REACHED (runDepth).
 */
export async function beginChild(
  context: RunsContext,
  { run }: Driving,
  agent: Agent,
  asked: ChildCall,
): Promise<FoundChild> {
  const { store, clock, sessions } = context.calls;
  const { principal } = run;
  const call = childCallKey(asked);
  const known = await store.read('runs.child', (tx) => findChild(tx, run, call));
  if (known) return { child: known, begun: false };
  const task = requireText('task', asked.task, LIMITS.runTaskCodePoints);
  const frozen = freezeAgent(agent, {});
  const runId = sessions.ids.next();
  return store.write('runs.child', async (tx) => {
    const other = await findChild(tx, run, call);
    if (other) return { child: other, begun: false };
    requireWithin('runDepth', (await depthOf(tx, run)) + 1);
    const { projectId } = run.place;
    const rootFrameId = await openSession(tx, sessions, principal, { projectId, kind: 'child' });
    const place = await beginTurnOf(tx, context, principal, { projectId, rootFrameId, task });
    const parent = { runId: run.runId, call };
    const now = clock.nowMs();
    await insertRun(tx, { ...named(context, principal, agent, runId), place, task, context: frozen, parent, now });
    return { child: await requireRun(tx, principal, runId), begun: true };
  });
}

async function depthOf(tx: Tx, run: RunRecord): Promise<number> {
  let depth = 0;
  for (let at = run; at.parent; depth += 1) {
    if (depth > LIMITS.runDepth) throw fail('RUN_RECORD_BROKEN', 'The runs above a run do not come to an end.');
    at = await requireRun(tx, run.principal, at.parent.runId);
  }
  return depth;
}
