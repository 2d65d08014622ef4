import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { ERROR_TABLE } from '../../src/core/index.ts';
import {
  beginTurn,
  forkBranch,
  listCheckpoints,
  requireSession,
  runningRestore,
  visibleMessages,
} from '../../src/sessions/index.ts';
import { assert, check } from '../support/index.ts';
import { AGENT, OWNER, refusal } from '../support/session-world.ts';
import { Dead, MortalProject } from './mortal-project.ts';

/** What a branch or a point shows: what was said, and the files. */
interface State {
  readonly said: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

interface Point extends State {
  readonly id: string;
  readonly branch: string;
}

/** A session as plain values. */
class Model {
  readonly points = new Map<string, Point>();
  readonly heads = new Map<string, string>();
  readonly said = new Map<string, readonly string[]>();
  files: Readonly<Record<string, string>> = {};
  active: string;
  turns = 0;

  constructor(root: string) {
    this.active = root;
    this.said.set(root, []);
  }

  get now(): State {
    return { said: this.said.get(this.active) ?? [], files: this.files };
  }
}

async function shown(project: MortalProject): Promise<{ readonly active: string } & State> {
  const { world } = project;
  const { activeBranchId: branchId } = await world.store.read('t', (tx) => requireSession(tx, OWNER, world.root));
  const of = { rootFrameId: world.root, branchId };
  const { items } = await world.store.read('t', (tx) => visibleMessages(tx, OWNER, of, { limit: 500 }));
  return { active: branchId, said: items.map(({ content }) => content), files: project.files };
}

/** Takes up checkpoints that are new: those that keep what was before a restore, and those of now. */
async function takeUp(model: Model, project: MortalProject, before: State): Promise<void> {
  const { world } = project;
  const { items } = await world.store.read('t', (tx) => listCheckpoints(tx, OWNER, world.root, { limit: 500 }));
  for (const { checkpointId: id, branchId: branch, internal } of items) {
    if (!model.points.has(id)) model.points.set(id, { id, branch, ...(internal ? before : model.now) });
    model.heads.set(branch, id);
  }
}

/** How the interrupted ended, over all histories. */
const seen = new Set<string>();

type Act = (model: Model, project: MortalProject) => Promise<void>;

/** Does something that may be interrupted after some steps; then what was interrupted is ended, one way or the other. */
async function mortally(
  model: Model,
  project: MortalProject,
  how: { readonly steps: number | null; readonly finish: boolean },
  work: () => Promise<unknown>,
  after: State & { readonly active: string },
): Promise<void> {
  const before = { ...model.now, active: model.active };
  if (how.steps !== null) project.mortality.dieAfter(how.steps);
  const error = await work().then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!project.mortality.isDead) {
    if (error !== null) throw error;
    project.mortality.revive();
  } else {
    // Whoever dies over giving the pen back had done the work.
    assert.ok(error === null || hasDeath(error), String(error));
    await project.comeBack();
    await end(project, how.finish);
  }
  const ended = await shown(project);
  const isNew = ended.active === after.active && same(ended, after);
  if (!isNew) assert.deepEqual(ended, error === null ? after : before);
  if (how.steps !== null) seen.add(isNew ? 'new' : 'old');
  const state = isNew ? after : before;
  model.active = state.active;
  model.files = state.files;
  model.said.set(state.active, state.said);
  await takeUp(model, project, before);
}

const hasDeath = (error: unknown): boolean =>
  error instanceof Dead || (error instanceof Error && (hasDeath(error.cause) || error.message.includes('dead')));

const same = (a: State, b: State): boolean => isDeepStrictEqual([a.said, a.files], [b.said, b.files]);

/** A marked session refuses work and names the command that ends it; that ends it, also when it dies on the way. */
async function end(project: MortalProject, finish: boolean): Promise<void> {
  const { world } = project;
  const running = await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root));
  if (!running) return;
  const turn = { rootFrameId: world.root, branchId: running.branchId, content: 'now' };
  const refused = await refusal(world.store.write('t', (tx) => beginTurn(tx, world.context, AGENT, turn)));
  assert.equal(refused.code, 'SESSION_REVERTING');
  assert.match(ERROR_TABLE.SESSION_REVERTING.resolve, /holdfast sessions recover/);
  const how = finish ? 'finish' : 'roll_back';
  seen.add(how);
  for (let steps = 3; ; steps += 7) {
    project.mortality.dieAfter(steps);
    try {
      await project.history.recover(OWNER, world.root, how);
      project.mortality.revive();
      return;
    } catch (error) {
      if (!project.mortality.isDead) throw error;
      await project.comeBack();
      const left = await project.world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root));
      if (!left) return;
    }
  }
}

const say: Act = async (model, { world }) => {
  const content = `m${(model.turns += 1)}`;
  const turn = { rootFrameId: world.root, branchId: model.active, content };
  await world.store.write('t', (tx) => beginTurn(tx, world.context, AGENT, turn));
  model.said.set(model.active, [...model.now.said, content]);
};

const work =
  (files: Readonly<Record<string, string>>): Act =>
  async (model, project) => {
    project.put(files);
    model.files = files;
  };

type Interruption = Parameters<typeof mortally>[2];

const point =
  (how: Interruption): Act =>
  async (model, project) => {
    const asked = { rootFrameId: project.world.root, branchId: model.active, reason: 'test' };
    const made = () => project.history.checkpoint(OWNER, asked);
    await mortally(model, project, how, made, { ...model.now, active: model.active });
  };

const fork =
  (index: number): Act =>
  async (model, project) => {
    const { world } = project;
    const from = [...model.points.values()][index % Math.max(1, model.points.size)];
    if (!from) return;
    const asked = { rootFrameId: world.root, fromCheckpointId: from.id };
    const made = await world.store.write('t', (tx) => forkBranch(tx, world.context, OWNER, asked));
    model.said.set(made.branchId, from.said);
    const { checkpointId: id } = made.head;
    model.points.set(id, { ...from, id, branch: made.branchId });
    model.heads.set(made.branchId, id);
  };

const revert =
  (index: number, how: Interruption): Act =>
  async (model, project) => {
    const own = [...model.points.values()].filter(({ branch }) => branch === model.active);
    const to = own[index % Math.max(1, own.length)];
    if (!to) return;
    const back = () => project.history.revert(OWNER, project.world.root, to.id);
    await mortally(model, project, how, back, { said: to.said, files: to.files, active: model.active });
  };

const activate =
  (index: number, how: Interruption): Act =>
  async (model, project) => {
    const others = [...model.heads].filter(([branch]) => branch !== model.active);
    const [branch, head] = others[index % Math.max(1, others.length)] ?? [];
    const files = model.points.get(head ?? '')?.files;
    if (branch === undefined || !files) return;
    const go = () => project.history.activate(OWNER, project.world.root, branch);
    await mortally(model, project, how, go, { said: model.said.get(branch) ?? [], files, active: branch });
  };

const path = fc.constantFrom('a.txt', 'b/c.txt', 'b/d/e', 'é.md');
const content = fc.constantFrom('', '1', 'two', 'x'.repeat(30));
const folder = fc.dictionary(path, content, { maxKeys: 4, noNullPrototype: true });
/** Without a bias to small numbers: most of the work, and most of what can go wrong, comes late. */
const dying = (min: number, max: number) =>
  fc.record({ steps: fc.option(fc.noBias(fc.integer({ min, max })), { freq: 3 }), finish: fc.boolean() });
const [capturing, restoring] = [dying(0, 14), dying(4, 36)];

/** An act by its name, so that a failing history can be read. */
class Named {
  readonly name: string;
  readonly act: Act;

  constructor(name: string, act: Act) {
    this.name = name;
    this.act = act;
  }

  toString(): string {
    return this.name;
  }
}

const acts: fc.Arbitrary<Named> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(new Named('say', say)) },
  { weight: 4, arbitrary: folder.map((files) => new Named(`work ${JSON.stringify(files)}`, work(files))) },
  { weight: 4, arbitrary: capturing.map((how) => new Named(`point ${JSON.stringify(how)}`, point(how))) },
  { weight: 1, arbitrary: fc.nat(20).map((i) => new Named(`fork ${i}`, fork(i))) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.nat(20), restoring)
      .map(([i, how]) => new Named(`revert ${i} ${JSON.stringify(how)}`, revert(i, how))),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(20), restoring)
      .map(([i, how]) => new Named(`activate ${i} ${JSON.stringify(how)}`, activate(i, how))),
  },
);

const RUNS = 16;
const MOST_MORE = 40;

check(
  'over random histories with deaths at any step, a session is the old one, the new one, or marked and ended',
  async () => {
    const property = fc.asyncProperty(fc.array(acts, { minLength: 8, maxLength: 24 }), async (list) => {
      const project = await MortalProject.open();
      try {
        const model = new Model(project.world.root);
        for (const { act } of list) await act(model, project);
        assert.deepEqual(await shown(project), { active: model.active, ...model.now });
        for (const [branchId, said] of model.said) {
          const of = { rootFrameId: project.world.root, branchId };
          const page = await project.world.store.read('t', (tx) => visibleMessages(tx, OWNER, of, { limit: 500 }));
          assert.deepEqual(
            page.items.map(({ content }) => content),
            said,
          );
        }
      } finally {
        await project.world.close();
      }
    });
    await fc.assert(property, { numRuns: RUNS });
    // More of them, until every ending was seen.
    for (let more = 0; more < MOST_MORE && seen.size < 4; more += 1) await fc.assert(property, { numRuns: 4 });
    assert.deepEqual([...seen].toSorted(), ['finish', 'new', 'old', 'roll_back']);
  },
);
