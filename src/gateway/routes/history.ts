import { z } from 'zod';
import { activateTask, previewDocument, revertTask } from '../../app/index.ts';
import { fail, type JsonObject } from '../../core/index.ts';
import {
  forkBranch,
  listCheckpoints,
  requireBranch,
  requireCheckpoint,
  requireSession,
  type Principal,
  type TreeChange,
} from '../../sessions/index.ts';
import type { ReadTx } from '../../store/index.ts';
import { beginKeeping } from '../begin-run.ts';
import { checkpointDocument } from '../checkpoint-document.ts';
import type { GatewayContext } from '../context.ts';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/history.ts';
import { begunRun } from '../schemas/runs.ts';
import { ANYONE, DEFAULT_PAGE, WORKERS } from './common.ts';

const ofSession = z.strictObject({ session_id: id });
const ofCheckpoint = z.strictObject({ session_id: id, checkpoint_id: id });
const ofBranch = z.strictObject({ session_id: id, branch_id: id });

/** Branches and checkpoints of a session. Going back, and going on with another branch, are calls that wait for a person. */
export const historyRoutes = [
  route({
    id: 'listCheckpoints',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/checkpoints',
    summary: 'Checkpoints of a session, all branches, oldest first',
    roles: ANYONE,
    params: ofSession,
    query: page,
    body: null,
    reply: shape.checkpointPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query }) => {
      const found = await runtime.store.read('gateway.checkpoints', (tx) =>
        listCheckpoints(tx, principal, params.session_id, numbered(query)),
      );
      return { checkpoints: found.items.map(checkpointDocument), next: found.next };
    },
  }),
  route({
    id: 'diffCheckpoint',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/checkpoints/{checkpoint_id}/diff',
    summary:
      'What changes in the workspace by going back to a checkpoint, and what is not undone; or from it to another',
    roles: ANYONE,
    params: ofCheckpoint,
    query: shape.diffQuery,
    body: null,
    reply: shape.difference,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params: { session_id, checkpoint_id }, query: { to } }) => {
      const { history } = runtime.histories;
      if (to === undefined) {
        const preview = await history.preview(principal, session_id, checkpoint_id);
        return { ...changesDocument(preview.changes), ...previewDocument(preview) };
      }
      const changes = await history.diff(principal, session_id, checkpoint_id, to);
      return { ...changesDocument(changes), files_changed: changes.length, not_undone: [], not_undone_more: false };
    },
  }),
  route({
    id: 'forkBranch',
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/branches',
    summary: 'Start another branch at a checkpoint',
    roles: WORKERS,
    params: ofSession,
    actsIn: (_gateway, _principal, params) => params.session_id,
    query: none,
    body: shape.newBranch,
    reply: shape.forked,
    status: 201,
    creates: true,
    handle: ({ gateway: { runtime }, principal, params: { session_id: rootFrameId }, body, keep }) =>
      runtime.store.write('gateway.fork', async (tx) => {
        const { checkpoint_id: fromCheckpointId, name } = body;
        const fork = { rootFrameId, fromCheckpointId, ...(name === undefined ? {} : { name }) };
        const made = await forkBranch(tx, runtime.calls.sessions, principal, fork);
        const reply = { branch_id: made.branchId, head_checkpoint_id: made.head.checkpointId };
        await keep(tx, reply);
        return reply;
      }),
  }),
  route({
    id: 'activateBranch',
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/branches/{branch_id}/activate',
    summary: 'Ask to go on with another branch and its workspace: a run begins, whose one call waits for a person',
    roles: WORKERS,
    params: ofBranch,
    actsIn: (_gateway, _principal, params) => params.session_id,
    query: none,
    body: none,
    reply: begunRun,
    status: 202,
    creates: true,
    handle: async ({ gateway, principal, params: { session_id, branch_id }, keep }) => {
      const check = (tx: ReadTx) => requireBranch(tx, principal, session_id, branch_id);
      const projectId = await placeOf(gateway, principal, session_id, check);
      return beginKeeping(gateway, principal, { task: activateTask(session_id, branch_id), projectId }, keep);
    },
  }),
  route({
    id: 'revertSession',
    method: 'POST',
    path: '/api/v1/sessions/{session_id}/revert',
    summary: 'Ask to take a session back to a checkpoint: a run begins, whose one call waits for a person',
    roles: WORKERS,
    params: ofSession,
    actsIn: (_gateway, _principal, params) => params.session_id,
    query: none,
    body: shape.newRevert,
    reply: begunRun,
    status: 202,
    creates: true,
    handle: async ({ gateway, principal, params: { session_id }, body: { checkpoint_id }, keep }) => {
      const check = (tx: ReadTx) => requireCheckpoint(tx, principal, session_id, checkpoint_id);
      const projectId = await placeOf(gateway, principal, session_id, check);
      return beginKeeping(gateway, principal, { task: revertTask(session_id, checkpoint_id), projectId }, keep);
    },
  }),
];

/** The project of a session in which something that `check` finds is to be acted on. */
function placeOf(
  { runtime }: GatewayContext,
  principal: Principal,
  rootFrameId: string,
  check: (tx: ReadTx) => Promise<unknown>,
): Promise<string> {
  return runtime.store.read('gateway.restore', async (tx) => {
    const { projectId } = await requireSession(tx, principal, rootFrameId);
    await check(tx);
    return projectId;
  });
}

/** A page of a list that goes by numbers. REQUEST_INVALID for a mark that is none. */
export function numbered({ after, limit = DEFAULT_PAGE }: z.output<typeof page>): { after?: string; limit: number } {
  if (after === undefined) return { limit };
  if (/^\d{1,15}$/.test(after)) return { after, limit };
  throw fail('REQUEST_INVALID', 'after must be the next of the page before.', { details: { where: 'query.after' } });
}

const SHOWN = 1000;

const changesDocument = (changes: readonly TreeChange[]): JsonObject => ({
  changes: changes.slice(0, SHOWN).map(({ path, change }) => ({ path, change })),
  changes_more: changes.length > SHOWN,
});
