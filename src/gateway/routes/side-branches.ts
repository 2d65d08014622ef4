import { z } from 'zod';
import { sideBranchDocument, sideBranchesOf, sideBranchStoryDocument } from '../../app/index.ts';
import { fail } from '../../core/index.ts';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/runs.ts';
import { ANYONE, DEFAULT_PAGE } from './common.ts';

const ofRun = z.strictObject({ run_id: id });

/** What stands beside a run: its goal tree and its short detours, to be looked at. */
export const sideBranchRoutes = [
  route({
    id: 'showGoals',
    method: 'GET',
    path: '/api/v1/runs/{run_id}/goals',
    summary: 'The goal tree beside a run; null where none was given',
    roles: ANYONE,
    params: ofRun,
    query: none,
    body: null,
    reply: shape.runGoals,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params: { run_id: runId } }) => ({
      run_id: runId,
      goals: await runtime.runs.goals(principal, runId),
    }),
  }),
  route({
    id: 'listSideBranches',
    method: 'GET',
    path: '/api/v1/runs/{run_id}/side-branches',
    summary: 'The side branches of a run, in the order in which they were opened',
    roles: ANYONE,
    params: ofRun,
    query: page,
    body: null,
    reply: shape.sideBranchPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query: { after, limit = DEFAULT_PAGE } }) => {
      const all = await sideBranchesOf(runtime, principal, params.run_id);
      const from = after === undefined ? 0 : indexOf(all, after) + 1;
      const found = all.slice(from, from + limit);
      const more = from + limit < all.length;
      return { side_branches: found.map(sideBranchDocument), next: more ? (found.at(-1)?.branchId ?? null) : null };
    },
  }),
  route({
    id: 'showSideBranch',
    method: 'GET',
    path: '/api/v1/runs/{run_id}/side-branches/{side_branch_id}',
    summary: 'One side branch of a run: what it was asked and what it said in each turn',
    roles: ANYONE,
    params: z.strictObject({ run_id: id, side_branch_id: id }),
    query: none,
    body: null,
    reply: shape.sideBranchStory,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params }) => {
      const all = await sideBranchesOf(runtime, principal, params.run_id);
      const found = all.find(({ branchId }) => branchId === params.side_branch_id);
      if (!found) throw noSuch();
      return sideBranchStoryDocument(found);
    },
  }),
];

function indexOf(all: readonly { readonly branchId: string }[], wanted: string): number {
  const at = all.findIndex(({ branchId }) => branchId === wanted);
  if (at < 0) throw noSuch();
  return at;
}

const noSuch = () => fail('ACTION_GROUP_NOT_FOUND', 'The run has no such side branch.');
