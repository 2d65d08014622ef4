import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../../../src/core/index.ts';
import { createCheckpoint } from '../../../src/sessions/index.ts';
import { assert, check } from '../../support/index.ts';
import { addArtifact, BEARER, makeSource, putFiles, ROOT } from './source.ts';
import { documentsOf, workspaceSummary } from './summary.ts';
import { openPackageWorld, OWNER, type PackageWorld } from './world.ts';

// The reference program exports sessions that its own importer refuses. Here each either travels, or stays with a reason.

/** What is exported is imported elsewhere, and its workspace is the same there. */
async function travels(world: PackageWorld): Promise<void> {
  using exported = await world.packages.export(OWNER, ROOT);
  await using other = await openPackageWorld();
  const { root_frame_id: root } = await other.packages.import(OWNER, exported.data());
  // The newest bytes of an artifact are written anew, for their owner alone.
  const told = ({ '.env': _secret, 'prediction.csv': _artifact, ...files }: Record<string, unknown>) => files;
  assert.deepEqual(told(workspaceSummary(other.workspaceOf(root))), told(workspaceSummary(world.workspaceOf(ROOT))));
}

async function stays(world: PackageWorld, why: RegExp): Promise<void> {
  await assert.rejects(world.packages.export(OWNER, ROOT), (error) => {
    assert.ok(error instanceof HoldfastError);
    assert.equal(error.code, 'SESSION_NOT_EXPORTABLE');
    assert.match(error.message, why);
    assert.ok(!error.message.includes(world.folder), 'no path of this machine');
    return true;
  });
  assert.deepEqual(world.filesUnder('package-staging'), []);
}

async function sourceWith(files: Readonly<Record<string, string>>): Promise<PackageWorld> {
  const world = await openPackageWorld();
  await makeSource(world);
  putFiles(world.workspaceOf(ROOT), files);
  return world;
}

check('files without a byte, deep folders and names of 255 bytes travel', async () => {
  await using world = await sourceWith({
    'empty.txt': '',
    'a/b/c/d/e/f/empty too': '',
    [`${'é'.repeat(125)}.text`]: 'long\n',
    ['x'.repeat(255)]: 'longest\n',
  });
  await travels(world);
});

check('two names that are one on some file systems stay, files and folders alike', async () => {
  for (const twins of [
    { 'Data.csv': 'a', 'data.csv': 'b' },
    { 'caf\u00e9.txt': 'a', 'cafe\u0301.txt': 'b' },
    { 'Out/one.txt': 'a', 'out/two.txt': 'b', 'OUT/one.txt': 'c' },
  ]) {
    await using world = await sourceWith(twins);
    await stays(world, /are one on some file systems/);
  }
});

check('two artifacts whose names differ in case cannot be in one session', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  await assert.rejects(addArtifact(world, 'a-twin', 'v-twin', 'Prediction.CSV', 'x\n'), /constraint \(unique\)/);
});

check('a name that other systems read as a path stays; one that only they refuse travels as it is', async () => {
  await using world = await sourceWith({ 'a\\b.txt': 'x' });
  await stays(world, /path/);
  await using other = await sourceWith({ CON: 'x', 'ends with a dot.': 'y' });
  await travels(other);
});

check('a name that is no UTF-8 is left out and named, never changed', async () => {
  await using world = await sourceWith({});
  const raw = Buffer.concat([Buffer.from(`${world.workspaceOf(ROOT)}/bad-`), Buffer.from([0xff, 0xfe])]);
  writeFileSync(raw, 'bytes\n');
  using exported = await world.packages.export(OWNER, ROOT);
  await using other = await openPackageWorld();
  const { root_frame_id: root } = await other.packages.import(OWNER, exported.data());
  assert.ok(!Object.keys(workspaceSummary(other.workspaceOf(root))).some((name) => name.startsWith('bad-')));
});

check('a checkpoint that names a version which holds a secret travels without it', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  await addArtifact(world, 'a-left', 'v-left', 'left.csv', `x ${BEARER}\n`);
  await world.store.write('test.checkpoint', (tx) =>
    createCheckpoint(tx, world.sessions, OWNER, { rootFrameId: ROOT, branchId: ROOT, reason: 'names both' }),
  );
  using exported = await world.packages.export(OWNER, ROOT);
  const documents = await documentsOf(exported.data());
  const excluded = [{ artifact_id: 'a-left', reason: 'no_importable_version' }];
  assert.deepEqual(documents('artifacts.json')['excluded'], excluded);
  await travels(world);
});

check('more files than a package takes stay, and so does a history that is too long', async () => {
  await using world = await sourceWith({});
  const folder = join(world.workspaceOf(ROOT), 'many');
  mkdirSync(folder);
  for (let at = 0; at < 4100; at += 1) writeFileSync(join(folder, `${at}.txt`), `content ${at}\n`);
  await stays(world, /needs \d+ files, and a package takes at most 4096/);
});

check('a folder of version control, or of a program that runs sessions, is left behind', async () => {
  await using world = await sourceWith({ '.hg/hooks': 'x', '.git/config': 'x', '.openai4s/state.json': 'x' });
  using exported = await world.packages.export(OWNER, ROOT);
  await using other = await openPackageWorld();
  const { root_frame_id: root } = await other.packages.import(OWNER, exported.data());
  assert.deepEqual(Object.keys(workspaceSummary(other.workspaceOf(root))), ['analysis.txt', 'prediction.csv']);
});

check('an artifact with the name of a folder of the workspace stays', async () => {
  await using world = await sourceWith({});
  rmSync(join(world.workspaceOf(ROOT), 'prediction.csv'));
  putFiles(world.workspaceOf(ROOT), { 'prediction.csv/inside.txt': 'x' });
  await stays(world, /name of a folder/);
});
