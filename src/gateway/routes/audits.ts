import { z } from 'zod';
import { fail } from '../../core/index.ts';
import { route } from '../route.ts';
import * as shape from '../schemas/audits.ts';
import { id, page } from '../schemas/common.ts';
import { ANYONE, DEFAULT_PAGE } from './common.ts';

export const auditRoutes = [
  route({
    id: 'listAudits',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/audits',
    summary: 'Reviews of results and assessments of permissions on a branch of a session, newest first, each proved',
    roles: ANYONE,
    params: z.strictObject({ session_id: id }),
    query: page.extend(shape.auditQuery),
    body: null,
    reply: shape.auditPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query }) => {
      const { after: before, limit = DEFAULT_PAGE, branch_id: branchId, subject_kind: subjectKind } = query;
      if (before !== undefined && !/^\d{1,15}$/.test(before))
        throw fail('REQUEST_INVALID', 'after must be the next of the page before.', {
          details: { where: 'query.after' },
        });
      const audits = await runtime.autonomy.audits(principal, {
        rootFrameId: params.session_id,
        // The main branch has the id of its session.
        branchId: branchId ?? params.session_id,
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
        ...(subjectKind === undefined ? {} : { subjectKind }),
      });
      const shown = audits.slice(0, limit);
      const last = shown.at(-1)?.['event_ordinal'];
      return { audits: shown, next: audits.length > limit && typeof last === 'number' ? String(last) : null };
    },
  }),
];
