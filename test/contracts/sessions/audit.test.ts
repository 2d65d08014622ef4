import {
  auditSession,
  beginTurn,
  bindWorkspace,
  type Checkpoint,
  createCheckpoint,
  beginRestore,
  finishRestore,
  forkBranch,
  openSession,
  setActiveBranch,
  visibleMessages,
  workspaceOf,
} from '../../../src/sessions/index.ts';
import { assert, check } from '../../support/index.ts';
import { AGENT, openSessionWorld, OWNER, refusal, type SessionWorld } from '../../support/session-world.ts';

const say = (world: SessionWorld, content: string) =>
  world.store.write('t', (tx) =>
    beginTurn(tx, world.context, AGENT, { rootFrameId: world.root, branchId: world.root, content }),
  );

const point = (world: SessionWorld): Promise<Checkpoint> =>
  world.store.write('t', (tx) =>
    createCheckpoint(tx, world.context, OWNER, { rootFrameId: world.root, branchId: world.root, reason: 'test' }),
  );

const fork = (world: SessionWorld, from: Checkpoint) =>
  world.store.write('t', (tx) =>
    forkBranch(tx, world.context, OWNER, { rootFrameId: world.root, fromCheckpointId: from.checkpointId }),
  );

/** What somebody does to the file who goes around the program. */
function tamper(world: SessionWorld, ...statements: readonly string[]): void {
  const raw = world.raw();
  for (const statement of ['PRAGMA foreign_keys = OFF', 'PRAGMA ignore_check_constraints = ON', ...statements])
    raw.exec(statement);
  raw.close();
}

async function problems(world: SessionWorld): Promise<string[]> {
  const audit = await world.store.read('t', (tx) => auditSession(tx, OWNER, world.root));
  return audit.problems.map(({ problem, reference }) => `${problem} ${reference}`);
}

const messageLike = (id: string, columns: string): string =>
  `INSERT INTO messages SELECT '${id}', root_frame_id, branch_id, ${columns}, created_at FROM messages WHERE seq = 1`;

const FREE = 'DROP TRIGGER trg_message_shows_ledger';

for (const [what, edits, found] of [
  [
    'a message that no line says',
    [messageLike('planted', `99, 'assistant', 'Send it.', NULL, NULL, NULL`)],
    ['message_unfounded planted'],
  ],
  [
    'a message whose line is gone',
    [messageLike('left', `99, 'assistant', 'Send it.', NULL, 'no-group', NULL`)],
    ['message_unfounded left'],
  ],
  [
    'a message of an event that is gone',
    [messageLike('left', `99, 'tool', 'Sent.', NULL, group_id, 'no-event'`)],
    ['message_unfounded left'],
  ],
  [
    'messages in another order than their lines',
    [FREE, `UPDATE messages SET seq = 99 WHERE content = 'one'`],
    ['message_differs {one}'],
  ],
  [
    'a message of another time than its line',
    [FREE, `UPDATE messages SET created_at = created_at - 1 WHERE content = 'one'`],
    ['message_differs {one}'],
  ],
  [
    'a group that is gone with all that it showed',
    [
      'DROP TRIGGER trg_action_group_no_delete',
      `DELETE FROM messages WHERE content = 'two'`,
      'DELETE FROM action_groups WHERE position = 2',
    ],
    ['sequence_gap {root}'],
  ],
  [
    'a checkpoint that cannot be read',
    [`DROP TRIGGER trg_checkpoint_immutable`, `UPDATE session_checkpoints SET recovery_recipe = '{'`],
    ['record_damaged {checkpoint}'],
  ],
  [
    'a checkpoint whose metadata is no JSON',
    [`DROP TRIGGER trg_checkpoint_immutable`, `UPDATE session_checkpoints SET metadata = '{'`],
    ['record_damaged {checkpoint}', 'record_damaged {root}'],
  ],
  [
    'a checkpoint with a number beyond 2^53',
    [`DROP TRIGGER trg_checkpoint_immutable`, `UPDATE session_checkpoints SET message_cursor = 9007199254740993`],
    ['record_damaged {checkpoint}', 'record_damaged {root}'],
  ],
  [
    'a branch whose checkpoints do not hold together',
    [`UPDATE session_branches SET head_checkpoint_id = 'nobody'`],
    ['record_damaged {root}'],
  ],
] as const)
  check(`the audit of a session sees ${what}`, async () => {
    await using world = await openSessionWorld();
    for (const content of ['one', 'two', 'three']) await say(world, content);
    const { checkpointId } = await point(world);
    assert.deepEqual(await problems(world), []);
    const one = await world.store.read('t', (tx) => tx.get(`SELECT message_id FROM messages WHERE content = 'one'`));
    tamper(world, ...edits);
    const names = { root: world.root, checkpoint: checkpointId, one: String(one?.['message_id']) };
    const expected = found.map((text) => text.replace(/\{(\w+)\}/, (_, name: keyof typeof names) => names[name]));
    assert.deepEqual(await problems(world), expected);
  });

check('a checkpoint that is damaged and no longer needed keeps nobody from reading its branch', async () => {
  await using world = await openSessionWorld();
  await say(world, 'one');
  const base = await point(world);
  await say(world, 'two');
  const hidden = await point(world);
  const restore = { rootFrameId: world.root, kind: 'revert', targetCheckpointId: base.checkpointId } as const;
  await world.store.write('t', async (tx) => {
    const { operation } = await beginRestore(tx, world.context, OWNER, { ...restore, undoTreeId: null });
    await finishRestore(tx, world.context, OWNER, operation);
  });
  tamper(
    world,
    'DROP TRIGGER trg_checkpoint_immutable',
    `UPDATE session_checkpoints SET metadata = '{', message_cursor = 9007199254740993
     WHERE checkpoint_id = '${hidden.checkpointId}'`,
  );
  const of = { rootFrameId: world.root, branchId: world.root };
  const { items } = await world.store.read('t', (tx) => visibleMessages(tx, OWNER, of));
  assert.deepEqual(
    items.map(({ content }) => content),
    ['one'],
  );
  assert.deepEqual(await problems(world), [`record_damaged ${hidden.checkpointId}`]);
});

check(
  'branches that were written as forked from each other, in a circle, are refused and not walked for ever',
  async () => {
    await using world = await openSessionWorld();
    await say(world, 'one');
    const target = await point(world);
    const [one, two] = [await fork(world, target), await fork(world, target)];
    const change = { rootFrameId: world.root, branchId: one.branchId, expectedActive: world.root };
    await world.store.write('t', (tx) => setActiveBranch(tx, world.context, OWNER, change));
    tamper(
      world,
      `UPDATE session_branches SET parent_branch_id = '${two.branchId}' WHERE branch_id = '${one.branchId}'`,
      `UPDATE session_branches SET parent_branch_id = '${one.branchId}' WHERE branch_id = '${two.branchId}'`,
    );
    const restore = { rootFrameId: world.root, kind: 'revert', targetCheckpointId: target.checkpointId } as const;
    const begun = world.store.write('t', (tx) =>
      beginRestore(tx, world.context, OWNER, { ...restore, undoTreeId: null }),
    );
    assert.equal((await refusal(begun)).code, 'SESSION_CORRUPT');
  },
);

check('no session is bound to another folder while a revert of it waits to be ended', async () => {
  await using world = await openSessionWorld();
  await say(world, 'one');
  const target = await point(world);
  const bind = (root: string, folder: string | null) =>
    world.store.write('t', (tx) => bindWorkspace(tx, world.context, OWNER, root, folder));
  await bind(world.root, '/first');
  const restore = { rootFrameId: world.root, kind: 'revert', targetCheckpointId: target.checkpointId } as const;
  await world.store.write('t', (tx) => beginRestore(tx, world.context, OWNER, { ...restore, undoTreeId: null }));
  for (const folder of ['/second', null])
    assert.equal((await refusal(bind(world.root, folder))).code, 'SESSION_REVERTING');
  assert.equal(await world.store.read('t', (tx) => workspaceOf(tx, world.root)), '/first');
  const other = await world.store.write('t', (tx) =>
    openSession(tx, world.context, OWNER, { projectId: 'project-local' }),
  );
  await bind(other, '/second');
});
