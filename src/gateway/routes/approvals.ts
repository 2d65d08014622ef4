import { z } from 'zod';
import { requestView } from '../../app/index.ts';
import type { Said } from '../../approvals/index.ts';
import { fail, type JsonObject } from '../../core/index.ts';
import { carryOn } from '../carry-on.ts';
import { route } from '../route.ts';
import * as shape from '../schemas/approvals.ts';
import { id, none, page } from '../schemas/common.ts';
import { ANYONE, APPROVERS, DEFAULT_PAGE } from './common.ts';

const ofRequest = z.strictObject({ request_id: id });

export const approvalRoutes = [
  route({
    id: 'listApprovals',
    method: 'GET',
    path: '/api/v1/approvals',
    summary: 'What waits for a decision, oldest first; with which=all every request, newest first',
    roles: ANYONE,
    params: none,
    query: page.extend(shape.requestQuery),
    body: null,
    reply: shape.requestPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query: { which, after, limit = DEFAULT_PAGE } }) => {
      const { approvals } = runtime;
      const asked = after === undefined ? { limit } : { limit, after };
      const found =
        which === 'all' ? await approvals.list(principal, asked) : await approvals.pending(principal, asked);
      const damaged = found.damaged.map(({ requestId, code, why }) => ({ request_id: requestId, code, why }));
      return { requests: found.items.map(requestView), damaged, next: found.next };
    },
  }),
  route({
    id: 'showApproval',
    method: 'GET',
    path: '/api/v1/approvals/{request_id}',
    summary: 'One permission request, with the digest of exactly what is shown',
    roles: ANYONE,
    params: ofRequest,
    query: none,
    body: null,
    reply: shape.request,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params }) =>
      requestView(await runtime.approvals.show(principal, params.request_id)),
  }),
  route({
    id: 'decideApproval',
    method: 'POST',
    path: '/api/v1/approvals/{request_id}/decision',
    summary: 'Decide a request, once; its run goes on when nothing of it waits any more',
    roles: APPROVERS,
    params: ofRequest,
    query: none,
    body: shape.decision,
    reply: shape.decided,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params, body }) => {
      const { approvals, packages } = gateway.runtime;
      await packages.requireTrusted(principal, (await approvals.show(principal, params.request_id)).rootFrameId);
      const decided = await approvals.decide(principal, [saidOf(params.request_id, body)]);
      const [made] = decided;
      if (!made) throw fail('APPROVAL_NOT_FOUND', 'There is no such permission request.');
      const { runId, rootFrameId } = made.action;
      return {
        request: requestView(approvals.shownNow(made)),
        run_continues: runId !== null && (await carryOn(gateway, principal, { runId, rootFrameId })),
      };
    },
  }),
];

function saidOf(requestId: string, body: z.output<typeof shape.decision>): Said {
  const { decision, digest, message, edited_arguments: edited } = body;
  return {
    requestId,
    decision,
    digest,
    ...(message === undefined ? {} : { message }),
    // The schema passed it as an object, and it came from the strict reader: it is JSON.
    ...(edited === undefined ? {} : { editedArguments: edited as JsonObject }),
  };
}
