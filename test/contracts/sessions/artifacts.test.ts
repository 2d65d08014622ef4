import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LIMITS, sha256Hex } from '../../../src/core/index.ts';
import {
  addArtifactVersion,
  ARTIFACT,
  createCheckpoint,
  deleteSession,
  LINEAGE_EDGE,
  listRecords,
  openSession,
  SessionArtifacts,
  WorkspaceStore,
} from '../../../src/sessions/index.ts';
import { assert, check } from '../../support/index.ts';
import { openSessionWorld, OWNER, refusal, STRANGER } from '../../support/session-world.ts';

async function artifactWorld() {
  const world = await openSessionWorld();
  const { store, context, clock, file } = world;
  const folder = join(dirname(file), 'workspace-cas');
  const workspaces = new WorkspaceStore({ store, folder, clock, ids: context.ids });
  const artifacts = new SessionArtifacts({ store, context, workspaces });
  const read = async (versionId: string, by = OWNER): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await artifacts.read(by, versionId)).bytes) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  const packs = (): string[] => readdirSync(join(folder, 'packs')).sort();
  const add = (filename: string, text: string, more: object = {}) =>
    artifacts.add(OWNER, world.root, { filename, bytes: Buffer.from(text), ...more });
  return { ...world, folder, workspaces, artifacts, read, packs, add, [Symbol.asyncDispose]: () => world.close() };
}

check('bytes become versions of the artifact of their name, are read back, and are stored once', async () => {
  await using world = await artifactWorld();
  const first = await world.add('out.csv', 'one', { contentType: 'text/csv' });
  const second = await world.add('out.csv', 'two', { inputs: [first.id] });
  const third = await world.add('copy.csv', 'one');
  assert.deepEqual([await world.read(first.id), await world.read(second.id)], ['one', 'two']);
  assert.deepEqual([first.artifactId, second.filename, second.contentType], [second.artifactId, 'out.csv', 'text/csv']);
  assert.deepEqual([third.snapshotSha256, third.sizeBytes], [sha256Hex('one'), 3]);
  assert.equal(world.packs().length, 2);
  const { store, root } = world;
  const { items } = await store.read('t', (tx) => listRecords(tx, OWNER, root, ARTIFACT));
  assert.deepEqual(
    items.map((one) => [one.filename, one.latestVersionId]),
    [
      ['out.csv', second.id],
      ['copy.csv', third.id],
    ],
  );
  const edges = await store.read('t', (tx) => listRecords(tx, OWNER, root, LINEAGE_EDGE));
  assert.deepEqual(
    edges.items.map((edge) => [edge.inputVersionId, edge.outputVersionId]),
    [[first.id, second.id]],
  );
});

check('an empty file and a stream are bytes as any others; a file of the workspace serves its artifact', async () => {
  await using world = await artifactWorld();
  const { artifacts, root, file, workspaces } = world;
  assert.equal(await world.read((await world.add('empty', '')).id), '');
  async function* stream(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 3; i += 1) yield Buffer.alloc(1024 * 1024, 65 + i);
  }
  const large = await artifacts.add(OWNER, root, { filename: 'large', bytes: stream() });
  assert.equal(large.sizeBytes, 3 * 1024 * 1024);
  assert.equal(sha256Hex(await world.read(large.id)), large.snapshotSha256);
  const folder = join(dirname(file), 'workspace');
  mkdirSync(folder);
  writeFileSync(join(folder, 'in-the-folder.txt'), 'known already');
  await workspaces.capture(folder);
  const before = world.packs();
  assert.equal(await world.read((await world.add('known', 'known already')).id), 'known already');
  assert.deepEqual(world.packs(), before);
});

check('bytes that are too many, a stranger, a version without bytes and damaged bytes are refused', async () => {
  await using world = await artifactWorld();
  const { artifacts, root, store, context } = world;
  async function* endless(): AsyncGenerator<Uint8Array> {
    const chunk = Buffer.alloc(1024 * 1024);
    for (;;) yield chunk;
  }
  const many = await refusal(artifacts.add(OWNER, root, { filename: 'endless', bytes: endless() }));
  assert.equal(many.code, 'LIMIT_REACHED');
  assert.match(many.message, new RegExp(String(LIMITS.artifactVersionBytes)));
  assert.deepEqual(world.packs(), []);
  const kept = await world.add('out.csv', 'the very bytes');
  for (const work of [
    () => artifacts.read(STRANGER, kept.id),
    () => artifacts.add(STRANGER, root, { filename: 'x', bytes: Buffer.from('x') }),
  ])
    assert.match(String((await refusal(work())).code), /_NOT_FOUND$/);
  const bare = await store.write('t', (tx) =>
    addArtifactVersion(tx, context, OWNER, root, { artifactId: kept.artifactId }),
  );
  assert.equal((await refusal(world.read(bare.id))).code, 'ARTIFACT_BYTES_MISSING');
  const [pack = ''] = world.packs();
  const path = join(world.folder, 'packs', pack);
  const bytes = readFileSync(path);
  bytes.set(Buffer.from('THE'), bytes.indexOf('the very bytes'));
  writeFileSync(path, bytes);
  assert.equal((await refusal(world.read(kept.id))).code, 'WORKSPACE_PACK_CORRUPT');
});

check('a collection keeps what versions name; a session that goes takes the bytes that only it used', async () => {
  await using world = await artifactWorld();
  const { store, context, artifacts, workspaces, clock } = world;
  const other = await store.write('t', (tx) => openSession(tx, context, OWNER, { projectId: 'project-local' }));
  const own = await artifacts.add(OWNER, other, { filename: 'own', bytes: Buffer.from('own') });
  await artifacts.add(OWNER, other, { filename: 'shared', bytes: Buffer.from('shared') });
  const shared = await world.add('shared', 'shared');
  const tree = await workspaces.addTree(
    { entries: [{ path: 'a', blob: sha256Hex('tree'), size: 4, mode: 0o644 }], skipped: [] },
    async function* () {
      yield Buffer.from('tree');
    },
  );
  await store.write('t', (tx) =>
    createCheckpoint(tx, context, OWNER, {
      rootFrameId: world.root,
      branchId: world.root,
      reason: 'keeps its tree',
      workspaceTreeId: tree,
    }),
  );
  const orphan = await workspaces.keepContent(
    (async function* () {
      yield Buffer.from('nobody recorded this');
    })(),
  );
  assert.equal(orphan.created, true);
  clock.advance(1000);
  assert.deepEqual(await workspaces.collect(2000), { trees: 0, contents: 0, packs: 0, strays: 0 });
  assert.deepEqual(await workspaces.collect(500), { trees: 0, contents: 1, packs: 1, strays: 0 });
  using raw = world.raw();
  assert.throws(() => raw.exec('DELETE FROM workspace_contents'), /needs this content/);
  await store.write('t', (tx) => deleteSession(tx, context, OWNER, other));
  assert.deepEqual(await workspaces.collect(500), { trees: 0, contents: 1, packs: 1, strays: 0 });
  assert.equal(await world.read(shared.id), 'shared');
  assert.equal((await refusal(world.read(own.id))).code, 'RECORD_NOT_FOUND');
  assert.deepEqual(await workspaces.verifyTree(tree), []);
});
