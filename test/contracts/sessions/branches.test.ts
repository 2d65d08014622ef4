import {
  beginRestore,
  beginTurn,
  type Checkpoint,
  createCheckpoint,
  finishRestore,
  forkBranch,
  getSetting,
  listCheckpoints,
  listRestores,
  type NewCheckpoint,
  requireBranch,
  requireSession,
  type Reverted,
  revertMarkerKey,
  rollBackRestore,
  runningRestore,
  setActiveBranch,
  visibleEvents,
  visibleGroups,
  visibleMessages,
} from '../../../src/sessions/index.ts';
import { assert, check } from '../../support/index.ts';
import {
  AGENT,
  append,
  openCalls,
  openSessionWorld,
  OWNER,
  refusal,
  type SessionWorld,
  STRANGER,
} from '../../support/session-world.ts';

const say = (world: SessionWorld, content: string, branchId = world.root) =>
  world.store.write('t', (tx) => beginTurn(tx, world.context, AGENT, { rootFrameId: world.root, branchId, content }));

const point = (world: SessionWorld, change: Partial<NewCheckpoint> = {}): Promise<Checkpoint> =>
  world.store.write('t', (tx) =>
    createCheckpoint(tx, world.context, OWNER, {
      rootFrameId: world.root,
      branchId: world.root,
      reason: 'test',
      ...change,
    }),
  );

const fork = (world: SessionWorld, fromCheckpointId: string) =>
  world.store.write('t', (tx) => forkBranch(tx, world.context, OWNER, { rootFrameId: world.root, fromCheckpointId }));

async function revert(world: SessionWorld, to: Checkpoint): Promise<Checkpoint> {
  const begun = await begin(world, to);
  return world.store.write('t', (tx) => finishRestore(tx, world.context, OWNER, begun.operation));
}

const begin = (world: SessionWorld, to: Checkpoint, kind: 'revert' | 'activate' = 'revert') =>
  world.store.write('t', (tx) =>
    beginRestore(tx, world.context, OWNER, {
      rootFrameId: world.root,
      kind,
      targetCheckpointId: to.checkpointId,
      undoTreeId: null,
    }),
  );

async function shown(world: SessionWorld, branchId = world.root): Promise<string[]> {
  const of = { rootFrameId: world.root, branchId };
  const page = await world.store.read('t', (tx) => visibleMessages(tx, OWNER, of));
  return page.items.map((message) => message.content);
}

check('a checkpoint has where each log stands, becomes the head, and follows the one before', async () => {
  await using world = await openSessionWorld([{ checkpointParts: async () => ({ autoEventCursor: 7 }) }]);
  await say(world, 'one');
  const { groupId } = await openCalls(world);
  await append(world, { groupId, type: 'proposed', actionId: 'a' });
  const first = await point(world, { source: { kind: 'message', id: 'm' }, metadata: { source_message_id: 'm' } });
  assert.deepEqual(first.cursors, { action: 4, message: 3, cell: 0, autoEvent: 7 });
  assert.deepEqual([first.number, first.parentCheckpointId], [1, null]);
  const second = await point(world);
  assert.deepEqual([second.number, second.parentCheckpointId], [2, first.checkpointId]);
  const branch = await world.store.read('t', (tx) => requireBranch(tx, OWNER, world.root, world.root));
  assert.equal(branch.headCheckpointId, second.checkpointId);
  const page = await world.store.read('t', (tx) => listCheckpoints(tx, OWNER, world.root));
  assert.deepEqual(page.items, [first, second]);
});

check('the head is compared and set: of two with one expectation the second is told', async () => {
  await using world = await openSessionWorld();
  const first = await point(world, { expectedHead: null });
  const both = await Promise.allSettled([
    point(world, { expectedHead: first.checkpointId }),
    point(world, { expectedHead: first.checkpointId }),
  ]);
  assert.deepEqual(both.map((one) => one.status).toSorted(), ['fulfilled', 'rejected']);
  assert.equal((await refusal(point(world, { expectedHead: null }))).code, 'CHECKPOINT_HEAD_MOVED');
});

check('checkpoints never change and are kept, whatever SQL says', async () => {
  await using world = await openSessionWorld();
  await point(world);
  const raw = world.raw();
  assert.throws(() => raw.exec('UPDATE session_checkpoints SET action_cursor = 0'), /immutable/);
  assert.throws(() => raw.exec('DELETE FROM session_checkpoints'), /kept/);
  raw.close();
});

check('a fork shows what its checkpoint shows, then its own; the parent goes on without it', async () => {
  await using world = await openSessionWorld();
  await say(world, 'one');
  const base = await point(world);
  await say(world, 'two');
  const child = await fork(world, base.checkpointId);
  await say(world, 'child one', child.branchId);
  await say(world, 'three');
  await say(world, 'child two', child.branchId);
  assert.deepEqual(await shown(world), ['one', 'two', 'three']);
  assert.deepEqual(await shown(world, child.branchId), ['one', 'child one', 'child two']);
  assert.deepEqual([child.head.parentCheckpointId, child.head.internal], [base.checkpointId, true]);
  const grandchild = await fork(world, (await point(world, { branchId: child.branchId })).checkpointId);
  await say(world, 'child three', child.branchId);
  await say(world, 'grand', grandchild.branchId);
  assert.deepEqual(await shown(world, grandchild.branchId), ['one', 'child one', 'child two', 'grand']);
});

check('a revert hides what came after, new work follows, and reverting to the undo brings all back', async () => {
  await using world = await openSessionWorld();
  await say(world, 'one');
  const target = await point(world);
  await say(world, 'abandoned');
  const reverted = await revert(world, target);
  assert.deepEqual(await shown(world), ['one']);
  await say(world, 'continued');
  await point(world);
  await say(world, 'more');
  assert.deepEqual(await shown(world), ['one', 'continued', 'more']);
  const undo = reverted.metadata['undo_checkpoint_id'];
  const all = await world.store.read('t', (tx) => listCheckpoints(tx, OWNER, world.root));
  await revert(world, all.items.find((one) => one.checkpointId === undo) ?? assert.fail());
  assert.deepEqual(await shown(world), ['one', 'abandoned']);
  const groups = await world.store.read('t', (tx) =>
    visibleGroups(tx, OWNER, { rootFrameId: world.root, branchId: world.root }),
  );
  assert.equal(groups.items.length, 2);
});

check('events in a group that was open at the checkpoint are hidden one by one', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  await append(world, { groupId, type: 'proposed', actionId: 'before' });
  const target = await point(world);
  await append(world, { groupId, type: 'result', actionId: 'after' });
  await revert(world, target);
  const of = { rootFrameId: world.root, branchId: world.root };
  const events = await world.store.read('t', (tx) => visibleEvents(tx, OWNER, of));
  assert.deepEqual(
    events.items.map((event) => event.actionId),
    ['before'],
  );
});

check('a revert that is running stops new work; observations and its own end go through', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const target = await point(world);
  const { operation } = await begin(world, target);
  assert.equal((await refusal(say(world, 'now'))).code, 'SESSION_REVERTING');
  assert.equal((await refusal(point(world))).code, 'SESSION_REVERTING');
  assert.equal((await refusal(begin(world, target))).code, 'SESSION_REVERTING');
  await append(world, { groupId, type: 'result', actionId: 'late' });
  assert.deepEqual(await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root)), operation);
  assert.equal(await world.store.read('t', (tx) => runningRestore(tx, STRANGER, world.root)), null);
  const marker = await world.store.read('t', (tx) => getSetting(tx, world.root, revertMarkerKey(world.root)));
  assert.deepEqual(JSON.parse(marker ?? ''), {
    schema_version: 1,
    state: 'recovery_required',
    operation_id: operation.operationId,
    branch_id: world.root,
  });
  await world.store.write('t', (tx) => finishRestore(tx, world.context, OWNER, operation));
  const again = world.store.write('t', (tx) => finishRestore(tx, world.context, OWNER, operation));
  assert.ok(['RESTORE_NOT_RUNNING', 'CHECKPOINT_HEAD_MOVED'].includes((await refusal(again)).code ?? ''));
  await say(world, 'now');
});

check('a restore that is given up leaves the history as it was', async () => {
  await using world = await openSessionWorld();
  await say(world, 'one');
  const target = await point(world);
  await say(world, 'two');
  const { operation } = await begin(world, target);
  await world.store.write('t', (tx) => rollBackRestore(tx, world.context, OWNER, operation, 'the disk was full'));
  assert.deepEqual(await shown(world), ['one', 'two']);
  const [ended] = (await world.store.read('t', (tx) => listRestores(tx, OWNER, world.root))).items;
  assert.deepEqual([ended?.status, ended?.error], ['rolled_back', 'the disk was full']);
  const raw = world.raw();
  assert.throws(() => raw.exec(`UPDATE restore_operations SET status = 'running', finished_at = NULL`), /ends once/);
  raw.close();
});

check('a revert goes only to a checkpoint the branch comes from, an activation only to another head', async () => {
  await using world = await openSessionWorld();
  const base = await point(world);
  await say(world, 'one');
  const later = await point(world);
  const child = await fork(world, base.checkpointId);
  const active = { rootFrameId: world.root, branchId: child.branchId, expectedActive: world.root };
  await world.store.write('t', (tx) => setActiveBranch(tx, world.context, OWNER, active));
  const stale = world.store.write('t', (tx) => setActiveBranch(tx, world.context, OWNER, active));
  assert.equal((await refusal(stale)).code, 'ACTIVE_BRANCH_MOVED');
  assert.equal((await refusal(begin(world, later))).code, 'RESTORE_TARGET_INVALID');
  assert.equal((await refusal(begin(world, base, 'activate'))).code, 'RESTORE_TARGET_INVALID');
  await revert(world, base);
  const back = await begin(world, later, 'activate');
  await world.store.write('t', (tx) => finishRestore(tx, world.context, OWNER, back.operation));
  assert.equal((await world.store.read('t', (tx) => requireSession(tx, OWNER, world.root))).activeBranchId, world.root);
});

check('every hook is told of a revert in the transaction that moves the head, and may refuse it', async () => {
  const told: Reverted[] = [];
  let refuse = true;
  await using world = await openSessionWorld([
    {
      async onRevert(tx, reverted) {
        await tx.get('SELECT 1');
        if (refuse) throw new Error('not this one');
        told.push(reverted);
      },
    },
  ]);
  const target = await point(world);
  const { operation, undo } = await begin(world, target);
  const finish = () => world.store.write('t', (tx) => finishRestore(tx, world.context, OWNER, operation));
  assert.match((await refusal(finish())).message, /not this one/);
  assert.equal((await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root)))?.status, 'running');
  refuse = false;
  const head = await finish();
  assert.deepEqual(told, [
    {
      rootFrameId: world.root,
      branchId: world.root,
      checkpointId: head.checkpointId,
      revertedTo: target.checkpointId,
      undoCheckpointId: undo.checkpointId,
      at: head.createdAt,
    },
  ]);
});

check('metadata that names a checkpoint of no session, and a bad cursor or tree, are refused', async () => {
  await using world = await openSessionWorld();
  const code = async (change: Partial<NewCheckpoint>) => (await refusal(point(world, change))).code;
  assert.equal(await code({ metadata: { reverted_to: 'none' } }), 'CHECKPOINT_NOT_FOUND');
  assert.equal(await code({ cursors: { action: -1 } }), 'INVALID_VALUE');
  assert.equal(await code({ workspaceTreeId: 'x' }), 'INVALID_VALUE');
  assert.equal(await code({ reason: ' ' }), 'INVALID_VALUE');
  assert.equal(await code({ branchId: 'none' }), 'BRANCH_NOT_FOUND');
  assert.equal((await refusal(fork(world, 'none'))).code, 'CHECKPOINT_NOT_FOUND');
});

check('two thousand checkpoints with a hundred reverts project in one query a branch', async () => {
  await using world = await openSessionWorld();
  await say(world, 'one');
  let last = await point(world);
  for (let i = 0; i < 2000; i += 1) {
    const metadata = {
      reverted_to: last.checkpointId,
      history_projection: { version: 1, base_checkpoint_id: last.checkpointId },
    };
    last = await point(world, i % 20 === 0 ? { metadata } : {});
  }
  await say(world, 'two');
  world.counts.reset();
  assert.deepEqual(await shown(world), ['one', 'two']);
  assert.ok(world.counts.statementsOf('t').length < 10);
});
