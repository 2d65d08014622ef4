import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { approvalsSchema } from '../../src/approvals/index.ts';
import { createIds } from '../../src/core/index.ts';
import {
  appendEvent,
  beginTurn,
  type NewEvent,
  openGroup,
  openSession,
  type Principal,
  type SessionContext,
  type SessionHooks,
  sessionsSchema,
  visibleMessages,
} from '../../src/sessions/index.ts';
import {
  addProject,
  type ContextSchema,
  countingObserver,
  ensureTenant,
  type Store,
  STORE_SCHEMAS,
  type StoreCounts,
} from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { type ManualClock, manualClock } from './clock.ts';
import { newDatabase } from './new-database.ts';

export const SCHEMAS = [...STORE_SCHEMAS, sessionsSchema, approvalsSchema];

export const OWNER: Principal = { tenant: 'local', subject: 'owner', roles: ['owner'] };
export const AGENT: Principal = { tenant: 'local', subject: 'agent', roles: [] };
export const STRANGER: Principal = { tenant: 'elsewhere', subject: 'owner', roles: ['owner'] };

/** A store in a folder of its own, with two tenants, a project, and a session of tenant `local`. */
export interface SessionWorld {
  readonly file: string;
  readonly store: Store;
  readonly clock: ManualClock;
  readonly context: SessionContext;
  readonly counts: StoreCounts;
  /** The session; also the id of its main branch. */
  readonly root: string;
  /** A connection that goes around the program. */
  raw(): DatabaseSync;
  /** Closes the store and opens the same file again, as another process would. */
  reopen(): Promise<SessionWorld>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openSessionWorld(
  hooks: readonly SessionHooks[] = [],
  schemas: readonly ContextSchema[] = SCHEMAS,
): Promise<SessionWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sessions-'));
  const file = join(folder, 'holdfast.db');
  const clock = manualClock();
  const context: SessionContext = { clock, ids: createIds(clock), hooks };
  await newDatabase(file, schemas);
  const world = await open(folder, file, clock, context, '', schemas);
  const root = await world.store.write('test.setup', async (tx) => {
    await ensureTenant(tx, clock, { tenantId: STRANGER.tenant, name: 'Elsewhere' });
    for (const principal of [OWNER, STRANGER])
      await addProject(
        tx,
        clock,
        { tenantId: principal.tenant, subjectId: principal.subject },
        { projectId: `project-${principal.tenant}`, name: 'Project' },
      );
    return openSession(tx, context, OWNER, { projectId: 'project-local' });
  });
  return { ...world, root, reopen: async () => ({ ...(await world.reopen()), root }) };
}

async function open(
  folder: string,
  file: string,
  clock: ManualClock,
  context: SessionContext,
  root: string,
  schemas: readonly ContextSchema[],
): Promise<SessionWorld> {
  const counts = countingObserver();
  const store = await openSqliteStore({ file, schemas, observer: counts.observe });
  const close = async (): Promise<void> => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    file,
    store,
    clock,
    context,
    counts,
    root,
    raw: () => new DatabaseSync(file, { timeout: 5000 }),
    async reopen() {
      await store.close();
      return open(folder, file, clock, context, root, schemas);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What a reader is shown of a session: its messages, and how many checkpoints and workspaces there are. */
export function readShown(
  store: Store,
  root: string,
): Promise<{ messages: string[]; points: unknown; trees: unknown }> {
  return store.read('test.shown', async (tx) => {
    const { items } = await visibleMessages(tx, OWNER, { rootFrameId: root, branchId: root });
    const count = async (table: string) => (await tx.get(`SELECT count(*) AS n FROM ${table}`))?.['n'];
    return {
      messages: items.map((message) => message.content),
      points: await count('session_checkpoints'),
      trees: await count('workspace_trees'),
    };
  });
}

/** A turn with a user's message and an open group for the calls of one model reply. */
export async function openCalls(world: SessionWorld, turnId?: string): Promise<{ turnId: string; groupId: string }> {
  const { store, context, root } = world;
  return store.write('test.calls', async (tx) => {
    const begun = await beginTurn(tx, context, AGENT, {
      rootFrameId: root,
      branchId: root,
      content: 'Do it.',
      ...(turnId === undefined ? {} : { turnId }),
    });
    const group = await openGroup(tx, context, AGENT, {
      rootFrameId: root,
      branchId: root,
      turnId: begun.turnId,
      kind: 'native_tools',
      assistantContent: 'I will.',
    });
    return { turnId: begun.turnId, groupId: group.id };
  });
}

export function append(world: SessionWorld, event: NewEvent) {
  return world.store.write('test.append', (tx) => appendEvent(tx, world.context, AGENT, event));
}

/** The error that a promise ends in; fails when it ends well. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ code?: string; httpStatus?: number; message: string; cause?: unknown }> {
  try {
    await promise;
  } catch (error) {
    return error as { code?: string; httpStatus?: number; message: string; cause?: unknown };
  }
  throw new Error('it was not refused');
}
