import { SESSION_KEEPER } from '../app/index.ts';
import { fail, type JsonObject } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { tellFailure } from './carry-on.ts';
import type { GatewayContext } from './context.ts';
import type { Asked } from './route.ts';

export interface RunAsked {
  readonly agent: string | undefined;
  readonly task: string;
  /** The project of a new session, or a session to go on with, in its own project. */
  readonly place: { readonly projectId: string; readonly rootFrameId?: string; readonly branchId?: string };
}

type Keep = Asked<unknown, unknown, unknown>['keep'];

/** Begins a run, which goes on in the background; its reply is kept in the commit that begins it. */
export function beginRun(
  gateway: GatewayContext,
  principal: Principal,
  asked: RunAsked,
  keep: Keep,
): Promise<JsonObject> {
  return begin(gateway, principal, { ...asked, agent: agentOf(gateway, asked.agent) }, keep);
}

/** As `beginRun`, for the house's own agent, in a session of its own in that project. */
export function beginKeeping(
  gateway: GatewayContext,
  principal: Principal,
  { task, projectId }: { readonly task: string; readonly projectId: string },
  keep: Keep,
): Promise<JsonObject> {
  return begin(gateway, principal, { agent: SESSION_KEEPER, task, place: { projectId } }, keep);
}

async function begin(
  gateway: GatewayContext,
  principal: Principal,
  { agent, task, place }: RunAsked & { readonly agent: string },
  keep: Keep,
): Promise<JsonObject> {
  let reply: JsonObject = {};
  const { runId, ended } = await gateway.runtime.runs.start(principal, agent, {
    ...place,
    task,
    within: async (tx, begun) => {
      reply = { run_id: begun.runId, session_id: begun.rootFrameId, status: 'running' };
      await keep(tx, reply);
    },
  });
  ended.catch((error: unknown) => tellFailure(gateway.log, runId, error));
  return reply;
}

/** The agent that is named, or the only one; the house's own, which works for other routes, is not offered. */
function agentOf({ runtime }: GatewayContext, asked: string | undefined): string {
  const offered = runtime.runs.agents().filter((name) => name !== SESSION_KEEPER);
  if (asked !== undefined) {
    if (offered.includes(asked)) return asked;
    throw fail('AGENT_UNKNOWN', 'This gateway has no agent of that name.', {
      resolve: 'Name an agent of the configuration that the gateway was started with.',
    });
  }
  const [name, another] = offered;
  if (name === undefined || another !== undefined)
    throw fail('REQUEST_INVALID', 'Say which agent: this gateway has not exactly one.', {
      details: { where: 'body.agent' },
    });
  return name;
}
