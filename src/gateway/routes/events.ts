import { z } from 'zod';
import { requireSession } from '../../sessions/index.ts';
import { eventStream } from '../event-stream.ts';
import { route } from '../route.ts';
import { id, none } from '../schemas/common.ts';
import { ANYONE } from './common.ts';

const STREAM = 'text/event-stream';

export const eventRoutes = [
  route({
    id: 'streamEvents',
    method: 'GET',
    path: '/api/v1/events',
    summary: 'What happens in the tenant, as server-sent events; goes on after Last-Event-ID',
    roles: ANYONE,
    params: none,
    query: none,
    body: null,
    reply: z.string(),
    media: STREAM,
    status: 200,
    creates: false,
    handle: (asked) => eventStream({ ...asked, sessionId: null }),
  }),
  route({
    id: 'streamSessionEvents',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/events',
    summary: 'What happens in one session, as server-sent events; goes on after Last-Event-ID',
    roles: ANYONE,
    params: z.strictObject({ session_id: id }),
    query: none,
    body: null,
    reply: z.string(),
    media: STREAM,
    status: 200,
    creates: false,
    handle: async (asked) => {
      const { gateway, principal, params } = asked;
      const { session_id: sessionId } = params;
      await gateway.runtime.store.read('gateway.session', (tx) => requireSession(tx, principal, sessionId));
      return eventStream({ ...asked, sessionId });
    },
  }),
];
