import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type FileSystem, HoldfastError, nodeFileSystem } from '../../../src/core/index.ts';
import { ImportStages } from '../../../src/packages/index.ts';
import { oracle } from '../../archive/support/packages.ts';
import { assert, check } from '../../support/index.ts';
import { openPackageWorld, OWNER, type PackageWorld, refusal } from './world.ts';

const folderOf = (world: PackageWorld, root: string): string => join(world.folder, 'session-imports', root);

/** An imported session with a file of its own beside its workspace. */
async function imported(world: PackageWorld): Promise<string> {
  const { root_frame_id: root } = await world.packages.import(OWNER, oracle('b-notebook'));
  mkdirSync(join(folderOf(world, root), 'kept'));
  writeFileSync(join(folderOf(world, root), 'kept', 'secret.txt'), 'a customer');
  return root;
}

const refused = (path: string, errno: string): Error =>
  Object.assign(new Error(`${errno}: unlink '${path}'`), { code: errno, syscall: 'unlink', path });

/** What the operating system does for who is not root: nothing is made or removed in a folder that may not be written. */
const strict: FileSystem = {
  ...nodeFileSystem,
  unlink(path) {
    if ((lstatSync(dirname(path)).mode & 0o200) === 0) throw refused(path, 'EACCES');
    nodeFileSystem.unlink(path);
  },
  readdir(path) {
    if ((lstatSync(path).mode & 0o500) !== 0o500) throw refused(path, 'EACCES');
    return nodeFileSystem.readdir(path);
  },
};

check('a file that cannot be removed is told without a path, and goes with the next start', async () => {
  for (const errno of ['EACCES', 'EBUSY']) {
    await using world = await openPackageWorld();
    const root = await imported(world);
    const files: FileSystem = {
      ...nodeFileSystem,
      unlink(path) {
        if (path.endsWith('secret.txt')) throw refused(path, errno);
        nodeFileSystem.unlink(path);
      },
    };
    const held = world.with({ files });
    const error = await held.erase(OWNER, root).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof HoldfastError);
    assert.equal(error.code, 'IMPORT_FILES_LEFT');
    assert.match(error.message, new RegExp(errno));
    assert.ok(!`${error.message} ${error.resolve} ${JSON.stringify(error.details)}`.includes(world.folder));
    assert.ok(`${error.message} ${error.resolve}`.includes(`session-imports/${root}`), 'which folder it is');
    assert.equal(world.count('sessions'), 0, 'the session itself is gone');
    await held.sweep();
    assert.equal(existsSync(folderOf(world, root)), true, 'what cannot be removed keeps nothing else from going on');
    assert.equal(world.count('erased_imports'), 1);
    await world.packages.sweep();
    assert.equal(existsSync(folderOf(world, root)), false);
    assert.equal(world.count('erased_imports'), 0);
  }
});

check('a folder that what worked there made read-only is removed all the same', async () => {
  await using world = await openPackageWorld();
  const root = await imported(world);
  nodeFileSystem.chmod(join(folderOf(world, root), 'kept'), 0o555);
  await world.with({ files: strict }).erase(OWNER, root);
  assert.equal(existsSync(folderOf(world, root)), false);
});

check('an erase never goes through a link that stands in the place of the folder', async () => {
  await using world = await openPackageWorld();
  const root = await imported(world);
  const elsewhere = join(world.folder, 'elsewhere');
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, 'mine.txt'), 'mine');
  rmSync(folderOf(world, root), { recursive: true });
  symlinkSync(elsewhere, folderOf(world, root));
  await world.packages.erase(OWNER, root);
  assert.equal(existsSync(join(elsewhere, 'mine.txt')), true);
  assert.throws(() => lstatSync(folderOf(world, root)), /ENOENT/);
});

check('an erase that is killed between any two of its steps is ended by the next start', async () => {
  const script = join(import.meta.dirname, 'children', 'erase-and-die.ts');
  for (const point of ['erase-rows-committed', 'erase-files-removed']) {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-erase-'));
    try {
      const child = spawn(process.execPath, [script, folder, point], { stdio: 'inherit' });
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      assert.equal(signal, 'SIGKILL', point);
      await using world = await openPackageWorld({ folder });
      assert.equal(world.count('sessions'), 0, point);
      assert.equal(world.count('erased_imports'), 1, point);
      await world.packages.sweep();
      for (const name of ['session-imports', 'workspaces']) assert.deepEqual(world.filesUnder(name), [], point);
      assert.equal(world.count('erased_imports'), 0, point);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
});

check('a start that sweeps while an erase removes files is not in its way', async () => {
  await using world = await openPackageWorld();
  const root = await imported(world);
  const once: { sweep: boolean } = { sweep: true };
  const files: FileSystem = {
    ...nodeFileSystem,
    readdir(path) {
      const names = nodeFileSystem.readdir(path);
      // Another process is faster: everything that was just listed is gone.
      if (once.sweep && path === folderOf(world, root)) rmSync(path, { recursive: true });
      return names;
    },
  };
  await world.with({ files }).erase(OWNER, root);
  assert.equal(world.count('erased_imports'), 0);
});

check('only a folder that an import made is swept, whatever a note names', async () => {
  await using world = await openPackageWorld();
  await imported(world);
  const db = world.raw();
  for (const name of ['..', '.', '', '../workspace-cas', 'A'.repeat(32)])
    assert.throws(() => db.prepare('INSERT INTO erased_imports VALUES (?, ?)').run(name, 1), /CHECK/, name);
  db.close();
});

check('an import that is removed while it is under way ends as that, and leaves nothing', async () => {
  for (const stage of ['branches', 'messages', 'artifacts', 'workspace', 'marker'] as const) {
    await using world = await openPackageWorld();
    const packages = world.with({
      seams: {
        importStages: (...args) => {
          const stages = new ImportStages(...args);
          const own = stages[stage].bind(stages);
          stages[stage] = async () => {
            await world.packages.erase(OWNER, stages.plan.root);
            await own();
          };
          return stages;
        },
      },
    });
    const error = await refusal(packages.import(OWNER, oracle('b-notebook')));
    assert.equal(error.code, 'SESSION_NOT_FOUND', `${stage}: ${error.code} ${error.message}`);
    for (const table of ['sessions', 'projects', 'erased_imports']) assert.equal(world.count(table), 0, stage);
    for (const name of ['session-imports', 'workspaces']) assert.deepEqual(world.filesUnder(name), [], stage);
  }
});
