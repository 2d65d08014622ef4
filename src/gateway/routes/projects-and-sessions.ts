import { asJsonValue, fail, JSON_PROFILES, type JsonObject } from '../../core/index.ts';
import {
  listBranches,
  listMessages,
  listSessions,
  type Message,
  openSession,
  requireSession,
  type Session,
  type SessionBranch,
} from '../../sessions/index.ts';
import { addProject, listProjects, type Project } from '../../store/index.ts';
import { z } from 'zod';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/sessions.ts';
import { ANYONE, DEFAULT_PAGE, projectOf, refOf, WORKERS } from './common.ts';

const ofSession = z.strictObject({ session_id: id });

export const projectAndSessionRoutes = [
  route({
    id: 'listProjects',
    method: 'GET',
    path: '/api/v1/projects',
    summary: 'Projects of the tenant, by id',
    roles: ANYONE,
    params: none,
    query: page,
    body: null,
    reply: shape.projectPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query: { after = '', limit = DEFAULT_PAGE } }) => {
      const rows = await runtime.store.read('gateway.projects', (tx) =>
        listProjects(tx, refOf(principal), { after, limit: limit + 1 }),
      );
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      return { projects: shown.map(projectDocument), next: last?.projectId ?? null };
    },
  }),
  route({
    id: 'createProject',
    method: 'POST',
    path: '/api/v1/projects',
    summary: 'Add a project; its id is made here',
    roles: WORKERS,
    params: none,
    query: none,
    body: shape.newProject,
    reply: shape.project,
    status: 201,
    creates: true,
    handle: ({ gateway: { runtime }, principal, body: { name }, keep }) =>
      runtime.store.write('gateway.new-project', async (tx) => {
        const { clock, sessions } = runtime.calls;
        const made = await addProject(tx, clock, refOf(principal), { projectId: sessions.ids.next(), name });
        await keep(tx, projectDocument(made));
        return projectDocument(made);
      }),
  }),
  route({
    id: 'listSessions',
    method: 'GET',
    path: '/api/v1/sessions',
    summary: 'Sessions of the tenant, newest first',
    roles: ANYONE,
    params: none,
    query: page,
    body: null,
    reply: shape.sessionPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query }) => {
      const found = await runtime.store.read('gateway.sessions', (tx) => listSessions(tx, principal, given(query)));
      const damaged = found.damaged.map(({ rootFrameId, code, why }) => ({ session_id: rootFrameId, code, why }));
      return { sessions: found.items.map(sessionDocument), damaged, next: found.next };
    },
  }),
  route({
    id: 'createSession',
    method: 'POST',
    path: '/api/v1/sessions',
    summary: 'Open a session in a project',
    roles: WORKERS,
    params: none,
    query: none,
    body: shape.newSession,
    reply: shape.begunSession,
    status: 201,
    creates: true,
    handle: ({ gateway, principal, body, keep }) =>
      gateway.runtime.store.write('gateway.new-session', async (tx) => {
        const { project_id: asked, name, task_summary: taskSummary } = body;
        const projectId = await projectOf(tx, gateway, principal, asked);
        const sessionId = await openSession(tx, gateway.runtime.calls.sessions, principal, {
          projectId,
          ...(name === undefined ? {} : { name }),
          ...(taskSummary === undefined ? {} : { taskSummary }),
        });
        await keep(tx, { session_id: sessionId });
        return { session_id: sessionId };
      }),
  }),
  route({
    id: 'showSession',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}',
    summary: 'One session',
    roles: ANYONE,
    params: ofSession,
    query: none,
    body: null,
    reply: shape.session,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params }) =>
      sessionDocument(
        await runtime.store.read('gateway.session', (tx) => requireSession(tx, principal, params.session_id)),
      ),
  }),
  route({
    id: 'listBranches',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/branches',
    summary: 'Branches of a session, by id',
    roles: ANYONE,
    params: ofSession,
    query: page,
    body: null,
    reply: shape.branchPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query }) => {
      const found = await runtime.store.read('gateway.branches', (tx) =>
        listBranches(tx, principal, params.session_id, given(query)),
      );
      return { branches: found.items.map(branchDocument), next: found.next };
    },
  }),
  route({
    id: 'listMessages',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/messages',
    summary: 'Messages of a session, all branches, in order',
    roles: ANYONE,
    params: ofSession,
    query: page,
    body: null,
    reply: shape.messagePage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query }) => {
      if (query.after !== undefined && !/^\d{1,15}$/.test(query.after))
        throw fail('REQUEST_INVALID', 'after must be the next of the page before.', {
          details: { where: 'query.after' },
        });
      const found = await runtime.store.read('gateway.messages', (tx) =>
        listMessages(tx, principal, params.session_id, given(query)),
      );
      return { messages: found.items.map(messageDocument), next: found.next };
    },
  }),
];

function given(query: z.output<typeof page>): { after?: string; limit: number } {
  const limit = query.limit ?? DEFAULT_PAGE;
  return query.after === undefined ? { limit } : { limit, after: query.after };
}

function projectDocument(project: Project): JsonObject {
  return { project_id: project.projectId, name: project.name, created_at: project.createdAtMs };
}

function sessionDocument(session: Session): JsonObject {
  return {
    session_id: session.rootFrameId,
    project_id: session.projectId,
    kind: session.kind,
    origin: session.origin,
    trust_state: session.trustState,
    name: session.name,
    task_summary: session.taskSummary,
    active_branch_id: session.activeBranchId,
    created_at: session.createdAt,
    updated_at: session.updatedAt,
  };
}

function branchDocument(branch: SessionBranch): JsonObject {
  return {
    branch_id: branch.branchId,
    parent_branch_id: branch.parentBranchId,
    base_checkpoint_id: branch.baseCheckpointId,
    head_checkpoint_id: branch.headCheckpointId,
    name: branch.name,
    created_at: branch.createdAt,
    updated_at: branch.updatedAt,
  };
}

function messageDocument(message: Message): JsonObject {
  return {
    message_id: message.messageId,
    branch_id: message.branchId,
    seq: message.seq,
    role: message.role,
    content: message.content,
    metadata: asJsonValue(message.metadata, JSON_PROFILES.packages),
    group_id: message.groupId,
    event_id: message.eventId,
    created_at: message.createdAt,
  };
}
