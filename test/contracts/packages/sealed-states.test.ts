import type { JsonObject } from '../../../src/core/index.ts';
import {
  changeRecord,
  CHECKPOINT_STATE,
  listCheckpoints,
  listRecords,
  MEMORY,
  PLAN,
  restoreCheckpointState,
} from '../../../src/sessions/index.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { editDocument, resealed } from '../../archive/support/packages.ts';
import { assert, check, contract } from '../../support/index.ts';
import { makeSource, ROOT } from './source.ts';
import { openPackageWorld, OWNER, type PackageWorld } from './world.ts';

const plansOf = async (world: PackageWorld, root: string) =>
  (await world.store.read('test', (tx) => listRecords(tx, OWNER, root, PLAN))).items;

const restore = (world: PackageWorld, root: string, checkpoint: string) =>
  world.store.write('test.restore', (tx) => restoreCheckpointState(tx, world.sessions, OWNER, root, checkpoint));

contract('PKG-69', 'a checkpoint without a sealed state guesses nothing and clears nothing', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  using exported = await world.packages.export(OWNER, ROOT);
  const files = await readAll(exported.data());
  editDocument(files, 'snapshots.json', (snapshots: JsonObject) => {
    delete snapshots['checkpoint_states'];
  });
  const { root_frame_id: root } = await world.packages.import(OWNER, resealed(files));
  const states = await world.store.read('test', (tx) => listRecords(tx, OWNER, root, CHECKPOINT_STATE));
  assert.deepEqual(states.items, []);
  const checkpoints = await world.store.read('test', (tx) => listCheckpoints(tx, OWNER, root));
  const before = await plansOf(world, root);
  const answer = await restore(world, root, checkpoints.items[0]?.checkpointId ?? '');
  assert.equal(answer.partial, true);
  assert.equal(answer.plans.preserved_live_state, true);
  assert.equal(before.length, 1);
  assert.deepEqual(await plansOf(world, root), before);
});

check('a sealed state is put back: what changed since is as it was, a plan comes back paused', async () => {
  await using world = await openPackageWorld();
  const { checkpointId } = await makeSource(world);
  await world.store.write('test.change', async (tx) => {
    await changeRecord(tx, world.sessions, OWNER, ROOT, PLAN, 'plan-source', { title: 'Other', status: 'completed' });
    await changeRecord(tx, world.sessions, OWNER, ROOT, MEMORY, 'mem-source', { content: 'Scores are not' });
  });
  const answer = await restore(world, ROOT, checkpointId);
  assert.deepEqual(answer, {
    partial: false,
    plans: { preserved_live_state: false, restored: 1 },
    review: { preserved_live_state: false, restored: 0 },
    memory: { preserved_live_state: false, restored: 1 },
  });
  const [plan] = await plansOf(world, ROOT);
  assert.deepEqual([plan?.title, plan?.status], ['Study plan', 'paused']);
  const { items } = await world.store.read('test', (tx) => listRecords(tx, OWNER, ROOT, MEMORY));
  assert.equal(items[0]?.content, 'Scores are normalised');
  assert.equal((await restore(world, ROOT, checkpointId)).plans.restored, 0, 'twice changes nothing more');
});

check('nothing is put back into a session that is locked', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  using exported = await world.packages.export(OWNER, ROOT);
  const { root_frame_id: root } = await world.packages.import(OWNER, exported.data());
  const { items } = await world.store.read('test', (tx) => listRecords(tx, OWNER, root, CHECKPOINT_STATE));
  const db = world.raw();
  db.prepare('UPDATE plans SET title = ? WHERE root_frame_id = ?').run('Changed behind', root);
  db.close();
  await assert.rejects(restore(world, root, items[0]?.id ?? ''), /view-only|quarantin/);
});
