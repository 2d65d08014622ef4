import { beginTurn } from '../sessions/index.ts';
import type { AskPen, TakenRun } from './begin-run.ts';
import { loadSnapshot } from './config/snapshot.ts';
import type { Agent, RunsContext } from './context.ts';
import { freezeAgent } from './frozen.ts';
import type { RunRecord } from './model.ts';
import { findChild, insertRun, requireRun } from './run-store.ts';
import type { FollowUp } from './supervision.ts';

const PREFIX = 'follow-up/';

/** Whether a run follows up another one: in its turn, under a key of its supervisor. */
export const isFollowUp = ({ parent }: Pick<RunRecord, 'parent'>): boolean => parent?.call.startsWith(PREFIX) ?? false;

/** The key under which a follow-up was begun; null for any other run. */
export const followUpKey = (run: Pick<RunRecord, 'parent'>): string | null =>
  isFollowUp(run) ? (run.parent?.call.slice(PREFIX.length) ?? null) : null;

export const followUpCall = (key: string): string => `${PREFIX}${key}`;

/** An agent as its follow-ups have it: with turns of their own, and without other agents to ask. */
function following(agent: Agent, maxTurns: number): Agent {
  const allowed = new Set([...agent.allowed].filter((name) => !agent.children.has(name)));
  return { ...agent, maxTurns, allowed, children: new Map() };
}

/** The agent that carries a run out: for a follow-up, within the bounds it was begun with. */
export function agentFor(run: RunRecord, agent: Agent): Agent {
  return isFollowUp(run) ? following(agent, loadSnapshot(run.context).config.maxIterations) : agent;
}

/**
 * Writes down a follow-up that begins, with what its agent is told, or finds the one of that key. One commit, or none.
 * It stands in the same turn of the same branch, and below the run that it follows.
 */
export async function beginFollowUp(
  { calls, instanceId: owner }: RunsContext,
  above: RunRecord,
  agent: Agent,
  { key, content, maxTurns }: FollowUp,
  askPen: AskPen,
): Promise<{ readonly run: RunRecord; readonly begun: TakenRun | null }> {
  const { store, clock, sessions } = calls;
  const { principal, place } = above;
  const call = followUpCall(key);
  const context = freezeAgent(following(agent, maxTurns), {});
  const runId = sessions.ids.next();
  return store.write('runs.follow-up', async (tx) => {
    const known = await findChild(tx, above, call);
    if (known) return { run: known, begun: null };
    const { rootFrameId, branchId, turnId } = place;
    await beginTurn(tx, sessions, principal, { rootFrameId, branchId, turnId, content });
    const named = { runId, principal, agent: agent.name, model: agent.model.id, ownerInstanceId: owner };
    const parent = { runId: above.runId, call };
    await insertRun(tx, { ...named, place, task: above.task, context, parent, now: clock.nowMs() });
    const ticket = await askPen(tx, principal, rootFrameId, owner);
    return { run: await requireRun(tx, principal, runId), begun: { runId, ticket, owner } };
  });
}
