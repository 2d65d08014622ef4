import fc from 'fast-check';
import {
  beginRestore,
  beginTurn,
  createCheckpoint,
  finishRestore,
  forkBranch,
  listCheckpoints,
  requireSession,
  rollBackRestore,
  setActiveBranch,
  visibleMessages,
} from '../../src/sessions/index.ts';
import { assert, check } from '../support/index.ts';
import { AGENT, openSessionWorld, OWNER, type SessionWorld } from '../support/session-world.ts';

/** What each branch and each checkpoint must show, kept as plain lists. */
interface Model {
  readonly branches: Map<string, string[]>;
  readonly points: { readonly id: string; readonly branch: string; readonly shows: string[] }[];
  active: string;
  said: number;
}

type Act = (model: Model, world: SessionWorld) => Promise<void>;

const write = <T>(world: SessionWorld, body: Parameters<SessionWorld['store']['write']>[1]) =>
  world.store.write('t', body) as Promise<T>;

const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];

const say: Act = async (model, world) => {
  const content = `m${(model.said += 1)}`;
  const turn = { rootFrameId: world.root, branchId: model.active, content };
  await write(world, (tx) => beginTurn(tx, world.context, AGENT, turn));
  model.branches.get(model.active)?.push(content);
};

const point: Act = async (model, world) => {
  const asked = { rootFrameId: world.root, branchId: model.active, reason: 'test' };
  const made = await world.store.write('t', (tx) => createCheckpoint(tx, world.context, OWNER, asked));
  model.points.push({
    id: made.checkpointId,
    branch: model.active,
    shows: [...(model.branches.get(model.active) ?? [])],
  });
};

const fork =
  (index: number): Act =>
  async (model, world) => {
    const from = pick(model.points, index);
    if (!from) return;
    const made = await world.store.write('t', (tx) =>
      forkBranch(tx, world.context, OWNER, { rootFrameId: world.root, fromCheckpointId: from.id }),
    );
    model.branches.set(made.branchId, [...from.shows]);
    model.points.push({ id: made.head.checkpointId, branch: made.branchId, shows: [...from.shows] });
    const change = { rootFrameId: world.root, branchId: made.branchId, expectedActive: model.active };
    await write(world, (tx) => setActiveBranch(tx, world.context, OWNER, change));
    model.active = made.branchId;
  };

const revert =
  (index: number, ends: boolean): Act =>
  async (model, world) => {
    const to = pick(
      model.points.filter((one) => one.branch === model.active),
      index,
    );
    if (!to) return;
    const before = [...(model.branches.get(model.active) ?? [])];
    const restore = { rootFrameId: world.root, kind: 'revert' as const, targetCheckpointId: to.id, undoTreeId: null };
    const begun = await world.store.write('t', (tx) => beginRestore(tx, world.context, OWNER, restore));
    model.points.push({ id: begun.undo.checkpointId, branch: model.active, shows: before });
    if (!ends) {
      await write(world, (tx) => rollBackRestore(tx, world.context, OWNER, begun.operation, 'given up'));
      return;
    }
    const head = await world.store.write('t', (tx) => finishRestore(tx, world.context, OWNER, begun.operation));
    model.branches.set(model.active, [...to.shows]);
    model.points.push({ id: head.checkpointId, branch: model.active, shows: [...to.shows] });
  };

const acts: fc.Arbitrary<[string, Act]> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<[string, Act]>(['say', say]) },
  { weight: 3, arbitrary: fc.constant<[string, Act]>(['point', point]) },
  { weight: 1, arbitrary: fc.nat(20).map((i): [string, Act] => [`fork ${i}`, fork(i)]) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.nat(20), fc.boolean())
      .map(([i, ends]): [string, Act] => [`revert ${i} ${ends}`, revert(i, ends)]),
  },
);

check('every branch shows what plain lists say, over random histories of forks, reverts and undos', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(acts, { maxLength: 40 }), async (list) => {
      await using world = await openSessionWorld();
      const model: Model = { branches: new Map([[world.root, []]]), points: [], active: world.root, said: 0 };
      for (const [, act] of list) await act(model, world);
      for (const [branchId, shows] of model.branches) {
        const of = { rootFrameId: world.root, branchId };
        const page = await world.store.read('t', (tx) => visibleMessages(tx, OWNER, of, { limit: 500 }));
        assert.deepEqual(
          page.items.map((message) => message.content),
          shows,
        );
      }
      const points = await world.store.read('t', (tx) => listCheckpoints(tx, OWNER, world.root, { limit: 500 }));
      assert.equal(points.items.length, model.points.length);
      const session = await world.store.read('t', (tx) => requireSession(tx, OWNER, world.root));
      assert.equal(session.activeBranchId, model.active);
    }),
    { numRuns: 60 },
  );
});
