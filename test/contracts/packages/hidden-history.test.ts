import { mkdirSync } from 'node:fs';
import {
  beginTurn,
  type Checkpoint,
  forkBranch,
  openSession,
  SessionHistory,
  SessionPen,
  visibleGroups,
  visibleMessages,
} from '../../../src/sessions/index.ts';
import { addProject } from '../../../src/store/index.ts';
import { assert, check } from '../../support/index.ts';
import { openPackageWorld, OWNER, type PackageWorld } from './world.ts';

interface Talk {
  readonly world: PackageWorld;
  readonly root: string;
  readonly history: SessionHistory;
  readonly say: (content: string, branchId?: string) => Promise<unknown>;
  readonly point: (branchId?: string) => Promise<Checkpoint>;
}

/** A session in which nothing was said yet. */
async function withTalk(body: (talk: Talk) => Promise<void>): Promise<void> {
  await using world = await openPackageWorld();
  const { store, sessions, workspaces, clock } = world;
  const root = await store.write('test.talk', async (tx) => {
    await addProject(tx, clock, { tenantId: OWNER.tenant, subjectId: OWNER.subject }, { projectId: 'p', name: 'P' });
    return openSession(tx, sessions, OWNER, { projectId: 'p' });
  });
  const historyOf = new SessionHistory({
    store,
    context: sessions,
    pen: new SessionPen(store, sessions),
    workspaces,
    directoryOf: (id) => {
      mkdirSync(world.workspaceOf(id), { recursive: true });
      return world.workspaceOf(id);
    },
  });
  await body({
    world,
    root,
    history: historyOf,
    say: (content, branchId = root) =>
      store.write('test.say', (tx) => beginTurn(tx, sessions, OWNER, { rootFrameId: root, branchId, content })),
    point: (branchId = root) => historyOf.checkpoint(OWNER, { rootFrameId: root, branchId, reason: 'test' }),
  });
}

/** What people are shown of a branch, and the turns of it that models are shown: by their place on their branch. */
async function shown(world: PackageWorld, root: string, branchId: string) {
  const of = { rootFrameId: root, branchId };
  return world.store.read('test.shown', async (tx) => ({
    said: (await visibleMessages(tx, OWNER, of)).items.map(({ content }) => content),
    turns: (await visibleGroups(tx, OWNER, of)).items.flatMap(({ kind, ordinal }) =>
      kind === 'user' ? [ordinal] : [],
    ),
  }));
}

/** The package of a session, imported: its root, its active branch. */
async function travelled(world: PackageWorld, root: string) {
  using exported = await world.packages.export(OWNER, root);
  const { root_frame_id: there, active_branch_id: branch } = await world.packages.import(OWNER, exported.data());
  return { there, branch };
}

check('what a revert to before the first turn has hidden is hidden after an import, and after a second one', () =>
  withTalk(async ({ world, root, history, say, point }) => {
    const start = await point();
    await say('never mind');
    await history.revert(OWNER, root, start.checkpointId);
    await say('what counts');
    const here = await shown(world, root, root);
    assert.deepEqual(here, { said: ['what counts'], turns: [1] });
    const once = await travelled(world, root);
    assert.deepEqual(await shown(world, once.there, once.branch), here);
    const twice = await travelled(world, once.there);
    assert.deepEqual(await shown(world, twice.there, twice.branch), here);
  }),
);

check('a branch that was taken back to where it was forked shows no turn of its own after an import', () =>
  withTalk(async ({ world, root, history, say, point }) => {
    await say('shared');
    const base = await point();
    const { branchId, head } = await world.store.write('test.fork', (tx) =>
      forkBranch(tx, world.sessions, OWNER, { rootFrameId: root, fromCheckpointId: base.checkpointId }),
    );
    await history.activate(OWNER, root, branchId);
    await say('never mind', branchId);
    await history.revert(OWNER, root, head.checkpointId);
    await say('what counts', branchId);
    const here = await shown(world, root, branchId);
    assert.deepEqual(here, { said: ['shared', 'what counts'], turns: [0, 1] });
    const once = await travelled(world, root);
    assert.deepEqual(await shown(world, once.there, once.branch), here);
  }),
);
