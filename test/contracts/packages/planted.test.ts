import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/core/index.ts';
import { at, editDocument, type Files, filesOf, resealed } from '../../archive/support/packages.ts';
import { assert, check } from '../../support/index.ts';
import { plantFiles } from './planted.ts';
import { openPackageWorld, OWNER, refusal } from './world.ts';

/** The first artifact of the package under another name; gives its newest bytes. */
function renamed(files: Files, name: string): Buffer | undefined {
  let newest = '';
  editDocument(files, 'artifacts.json', (document) => {
    const artifact = at(document, 'artifacts', 0);
    artifact['filename'] = name;
    for (const version of artifact['versions'] as JsonObject[]) {
      version['filename'] = name;
      if (version['version_id'] === artifact['latest_version_id']) newest = version['snapshot_sha256'] as string;
    }
  });
  return files.get(`artifact-data/${newest}`);
}

/** Names that version control takes for its own folder, also where a file system folds or drops what is in them. */
const ACTING = ['.git', '.GIT', '.git.', '.g\u200cit', 'git~1', '.hg', '.svn', '.holdfast'];

check('an artifact is not put into the workspace under a name that version control acts on', async () => {
  await using world = await openPackageWorld();
  for (const name of ACTING) {
    const files = await filesOf('b-notebook');
    renamed(files, name);
    const error = await refusal(world.packages.import(OWNER, resealed(files)));
    assert.equal(error.code, 'PACKAGE_ARTIFACT', name);
  }
  assert.equal(world.count('sessions'), 0);
});

check('no file of a workspace lies in a folder that some file system takes for one of version control', async () => {
  await using world = await openPackageWorld();
  for (const name of ACTING) {
    const files = await filesOf('g-workspace');
    plantFiles(files, [`deep/${name}/config`]);
    const error = await refusal(world.packages.import(OWNER, resealed(files)));
    assert.equal(error.code, 'PACKAGE_WORKSPACE', name);
  }
  assert.equal(world.count('sessions'), 0);
});

check('an artifact comes under the longest name, and beside a file that has its name and an ending', async () => {
  const long = `${'n'.repeat(251)}.csv`;
  for (const name of [long, 'report.csv']) {
    await using world = await openPackageWorld();
    const files = await filesOf('b-notebook');
    const bytes = renamed(files, name);
    plantFiles(files, ['report.csv.part']);
    const { root_frame_id: root } = await world.packages.import(OWNER, resealed(files));
    const folder = world.workspaceOf(root);
    assert.deepEqual(readFileSync(join(folder, name)), bytes);
    assert.equal(existsSync(join(folder, 'report.csv.part')), true);
    assert.deepEqual(
      readdirSync(folder).filter((one) => one.startsWith('.')),
      [],
    );
  }
});
