import { z } from 'zod';
import { runDocument, type RunView, standingsOf, viewOfRun } from '../../app/index.ts';
import { fail, type JsonObject, LIMITS } from '../../core/index.ts';
import type { RunRecord } from '../../runs/index.ts';
import { type Principal, requireSession } from '../../sessions/index.ts';
import { beginRun } from '../begin-run.ts';
import { tellFailure } from '../carry-on.ts';
import type { GatewayContext } from '../context.ts';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/runs.ts';
import { ANYONE, DEFAULT_PAGE, projectOf, WORKERS } from './common.ts';

const ofRun = z.strictObject({ run_id: id });

export const runRoutes = [
  route({
    id: 'listRuns',
    method: 'GET',
    path: '/api/v1/runs',
    summary: 'Runs of the tenant, newest first',
    roles: ANYONE,
    params: none,
    query: page,
    body: null,
    reply: shape.runPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query: { after, limit = DEFAULT_PAGE } }) => {
      const found = await runtime.runs.list(principal, after === undefined ? { limit } : { limit, before: after });
      const damaged = found.damaged.map(({ runId, code, why }) => ({ run_id: runId, code, why }));
      const standings = await standingsOf(runtime, principal, found.items);
      const runs = found.items.map((run, at) => entryDocument(run, standings[at]));
      return { runs, damaged, next: found.next };
    },
  }),
  route({
    id: 'startRun',
    method: 'POST',
    path: '/api/v1/runs',
    summary: 'Begin a run; it goes on in the background',
    roles: WORKERS,
    params: none,
    query: none,
    body: shape.newRun,
    reply: shape.begunRun,
    status: 202,
    creates: true,
    handle: async ({ gateway, principal, body, keep }) => {
      const place = await placeOf(gateway, principal, body);
      return beginRun(gateway, principal, { agent: body.agent, task: body.task, place }, keep);
    },
  }),
  route({
    id: 'showRun',
    method: 'GET',
    path: '/api/v1/runs/{run_id}',
    summary: 'One run: how it stands, what waits, its newest calls and what became of each; older ones by pages',
    roles: ANYONE,
    params: ofRun,
    query: page,
    body: null,
    reply: shape.run,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query: { after, limit = LIMITS.httpPageEntries } }) => {
      const asked = after === undefined ? { limit } : { limit, after };
      return runDocument(await viewOfRun(runtime, principal, params.run_id, asked));
    },
  }),
  route({
    id: 'stopRun',
    method: 'POST',
    path: '/api/v1/runs/{run_id}/stop',
    summary: 'Start nothing more of a run; what has started is unknown until it is known',
    roles: ANYONE,
    params: ofRun,
    query: none,
    body: none,
    reply: shape.movedRun,
    status: 202,
    creates: false,
    handle: async ({ gateway, principal, params }) => {
      const { runs } = gateway.runtime;
      const { ended } = await runs.askStop(principal, params.run_id);
      // A run of this process ends at its next step, which may take as long as a tool does.
      if (runs.running(params.run_id)) ended.catch((error: unknown) => tellFailure(gateway.log, params.run_id, error));
      else await ended;
      return { run_id: params.run_id, status: 'stopping' };
    },
  }),
  route({
    id: 'resumeRun',
    method: 'POST',
    path: '/api/v1/runs/{run_id}/resume',
    summary: 'Carry on a run that was interrupted or failed, or is decided; what is unknown is asked about first',
    roles: WORKERS,
    params: ofRun,
    query: none,
    body: none,
    reply: shape.movedRun,
    status: 202,
    creates: false,
    handle: async ({ gateway, principal, params }) => {
      const { runs, packages } = gateway.runtime;
      const { place } = await runs.get(principal, params.run_id);
      await packages.requireTrusted(principal, place.rootFrameId);
      await requireDecided(gateway, principal, params.run_id);
      const { runId, ended } = await runs.resume(principal, params.run_id);
      ended.catch((error: unknown) => tellFailure(gateway.log, runId, error));
      return { run_id: runId, status: 'started' };
    },
  }),
];

type NewRun = z.output<typeof shape.newRun>;

/** The session that a run goes on with, in its own project, or the project of a new session. */
async function placeOf(gateway: GatewayContext, principal: Principal, body: NewRun) {
  const { runtime } = gateway;
  const { session_id: rootFrameId, branch_id: branchId, project_id: asked } = body;
  if (rootFrameId !== undefined) await runtime.packages.requireTrusted(principal, rootFrameId);
  return runtime.store.read('gateway.run-place', async (tx) => {
    if (rootFrameId === undefined) {
      if (branchId !== undefined)
        throw fail('REQUEST_INVALID', 'A branch is named with its session.', { details: { where: 'body.branch_id' } });
      return { projectId: await projectOf(tx, gateway, principal, asked) };
    }
    const { projectId } = await requireSession(tx, principal, rootFrameId);
    if (asked !== undefined && asked !== projectId)
      throw fail('REQUEST_INVALID', 'The session is not of that project.', { details: { where: 'body.project_id' } });
    return { projectId, rootFrameId, ...(branchId === undefined ? {} : { branchId }) };
  });
}

/** RUN_WAITING while something of a run, or of one below it, waits for a person: only a decision carries it on. */
async function requireDecided({ runtime }: GatewayContext, principal: Principal, runId: string): Promise<void> {
  for (const { runId: one, place } of await runtime.runs.tree(principal, runId))
    if (await runtime.approvals.isRunWaiting(principal, { runId: one, rootFrameId: place.rootFrameId }))
      throw fail('RUN_WAITING', 'The run waits for a person to decide its calls.');
}

/** A run of a list: the row, without its calls. */
function entryDocument(run: RunRecord, standing: Pick<RunView, 'outcome' | 'reason'> | undefined): JsonObject {
  const { state } = run;
  return {
    run_id: run.runId,
    session_id: run.place.rootFrameId,
    agent: run.agent,
    task: run.task,
    status: state.status,
    outcome: standing?.outcome ?? null,
    reason: standing?.reason ?? '',
    turns_used: run.turnsUsed,
    tokens: { prompt: run.promptTokens, completion: run.completionTokens },
    created_at: run.createdAt,
    updated_at: run.updatedAt,
  };
}
