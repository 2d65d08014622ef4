import { canonicalJson, type JsonObject, sha256Hex } from '../../../src/core/index.ts';
import { editDocument, type Files, filesOf, oracle, oracleNames, resealed } from '../../archive/support/packages.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { assert, check } from '../../support/index.ts';
import { unmetDemands } from './demands.ts';
import { addDelivery, putFiles, ROOT } from './source.ts';
import { superviseSource } from './supervised.ts';
import { openPackageWorld, OWNER, refusal } from './world.ts';

/** Its own exports that it refuses itself, and why. */
const ITS_FAULTS = ['h4-excluded-in-checkpoint', 'h5-artifact-twins', 'h6-not-a-number'];

check('the demands are those that the reference program keeps itself, but for its known faults', async () => {
  for (const name of oracleNames())
    if (!ITS_FAULTS.includes(name)) assert.deepEqual(unmetDemands(await filesOf(name)), [], name);
  assert.deepEqual(unmetDemands(await filesOf('h4-excluded-in-checkpoint')), ['a checkpoint names what travels']);
  assert.deepEqual(unmetDemands(await filesOf('h5-artifact-twins')), ['names of artifacts differ after folding']);
  await assert.rejects(async () => unmetDemands(await filesOf('h6-not-a-number')), SyntaxError);
});

for (const name of oracleNames())
  if (![...ITS_FAULTS, 'h2-case-twins'].includes(name))
    check(`what is exported of ${name} meets every demand on a foreign exporter`, async () => {
      await using world = await openPackageWorld();
      const { root_frame_id: root } = await world.packages.import(OWNER, oracle(name));
      using exported = await world.packages.export(OWNER, root);
      assert.deepEqual(unmetDemands(await readAll(exported.data())), []);
    });

check('so does a session with everything in it, and with files that break foreign packages most easily', async () => {
  await using world = await openPackageWorld();
  await superviseSource(world);
  await addDelivery(world, { publishedAt: 1235 });
  putFiles(world.workspaceOf(ROOT), {
    empty: '',
    'model.py': `n_${'tok'}ens = 128\n`,
    'prose.txt': `the ${'sec'}ret: is out\n`,
    'é/ü.txt': 'x',
  });
  using exported = await world.packages.export(OWNER, ROOT);
  const files = await readAll(exported.data());
  assert.deepEqual(unmetDemands(files), []);
  const names = [...files.values()].filter((bytes) => bytes.includes('the sec')).length;
  assert.equal(names, 0, 'what the patterns would change stays here');
});

/** A real package with one more file in its workspace, named and sealed by someone who knows the format. */
async function withFile(path: string, mode = 0o644): Promise<Buffer> {
  const files: Files = await filesOf('b-notebook');
  const blob = sha256Hex('hi');
  files.set(`workspace/blobs/${blob}`, Buffer.from('hi'));
  editDocument(files, 'snapshots.json', (document) => {
    const workspace = document['workspace'] as { active_source_tree_id: string; tree_map: Record<string, string> };
    const old = workspace.tree_map[workspace.active_source_tree_id] ?? '';
    const tree = JSON.parse(files.get(`workspace/trees/${old}.json`)?.toString() ?? '') as {
      entries: { path: string }[];
      skipped: JsonObject[];
    };
    const entries = [...tree.entries, { path, blob, size: 2, mode }].sort((a, b) =>
      Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)),
    );
    const sealed: JsonObject = { version: 1, entries, skipped: tree.skipped };
    const id = sha256Hex(canonicalJson(sealed));
    files.delete(`workspace/trees/${old}.json`);
    files.set(`workspace/trees/${id}.json`, Buffer.from(canonicalJson({ ...sealed, tree_id: id })));
    for (const [key, value] of Object.entries(workspace.tree_map)) if (value === old) workspace.tree_map[key] = id;
  });
  return resealed(files);
}

check('a workspace file where none may stand is refused, and leaves nothing', async () => {
  await using world = await openPackageWorld();
  await world.packages.import(OWNER, await withFile('zz/fine.txt', 0o755));
  const before = world.count('projects');
  const [existing = ''] = await activePaths();
  for (const path of [
    '.git/hooks/post-checkout',
    'sub/.GIT/config',
    '.hg/hgrc',
    '.holdfast/holdfast.db',
    '.openai4s/state.json',
    `${existing}/inside`,
    'x'.repeat(256),
    `deep/${'y'.repeat(256)}/z`,
    '../escape',
    '/etc/x',
    'a//b',
    './a',
    'a\\b',
    'a\0b',
    '',
  ]) {
    const refused = await refusal(world.packages.import(OWNER, await withFile(path)));
    assert.equal(refused.code, 'PACKAGE_WORKSPACE', path);
  }
  assert.equal(world.count('projects'), before);
  assert.deepEqual(world.filesUnder('package-staging'), []);
});

async function activePaths(): Promise<string[]> {
  const files = await filesOf('b-notebook');
  const trees = [...files.keys()].filter((name) => name.startsWith('workspace/trees/'));
  return trees.flatMap((name) =>
    (JSON.parse(files.get(name)?.toString() ?? '') as { entries: { path: string }[] }).entries.map(({ path }) => path),
  );
}
