import fs from 'node:fs';
import { join } from 'node:path';
import { type FileSystem, nodeFileSystem, systemClock } from '../../../src/core/index.ts';
import { type ScanOptions, WorkspaceStore } from '../../../src/sessions/index.ts';
import { assert, check } from '../../support/index.ts';
import { openSessionWorld, refusal } from '../../support/session-world.ts';

const NAMES = ['a/one', 'a/two', 'b/deep/three', 'b-four', 'five', 'six'];
const DAY = new Date('2024-01-01T00:00:00Z');

interface Place {
  readonly directory: string;
  readonly folder: string;
  readonly at: (path: string) => string;
  readonly put: (path: string, text: string) => void;
  /** The store as another process opens it, at a time at which no file is young. */
  readonly open: (files?: Partial<FileSystem>) => WorkspaceStore;
  /** What a store without any notes makes of the folder. */
  readonly treeAnew: (options?: ScanOptions) => Promise<string>;
}

async function withPlace(body: (place: Place) => Promise<void>): Promise<void> {
  await using world = await openSessionWorld();
  const base = join(world.file, '..');
  const [directory, folder] = [join(base, 'workspace'), join(base, 'workspace-cas')];
  const at = (path: string): string => join(directory, path);
  const put = (path: string, text: string): void => {
    fs.mkdirSync(join(at(path), '..'), { recursive: true });
    fs.writeFileSync(at(path), text);
    fs.utimesSync(at(path), DAY, DAY);
  };
  for (const name of NAMES) put(name, `text of ${name}`);
  const { store, context } = world;
  const clock = { nowMs: () => systemClock.nowMs() + 10_000 };
  const open = (files: Partial<FileSystem> = {}) =>
    new WorkspaceStore({ store, folder, clock, ids: context.ids, files: { ...nodeFileSystem, ...files } });
  const treeAnew = async (options?: ScanOptions): Promise<string> => {
    fs.rmSync(join(folder, 'cache'), { recursive: true });
    return (await open().capture(directory, options)).treeId;
  };
  await body({ directory, folder, at, put, open, treeAnew });
}

/** Two changes of a file may carry one time where no tick of the kernel's clock lies between them. */
const tick = (): Promise<void> => new Promise((settle) => setTimeout(settle, 20));

check('a workspace that did not change is looked at, and nothing of it is read, encoded or written', () =>
  withPlace(async ({ directory, folder, at, put, open }) => {
    fs.symlinkSync('five', at('link'));
    const first = await open().capture(directory);
    const called: string[] = [];
    const note = (call: string, of: string | number): void => {
      called.push(
        `${call} ${String(of)
          .replace(folder, '')
          .replace(/[0-9a-f]{64}/, 'digest')}`,
      );
    };
    const watched = open({
      open(path, ...how) {
        note('open', path);
        return nodeFileSystem.open(path, ...how);
      },
      write(fd, ...what) {
        note('write', fd);
        return nodeFileSystem.write(fd, ...what);
      },
      rename(from, to) {
        note('rename', from);
        nodeFileSystem.rename(from, to);
      },
      unlink(path) {
        note('unlink', path);
        nodeFileSystem.unlink(path);
      },
    });
    const again = await watched.capture(directory);
    assert.deepEqual(called.toSorted(), [
      'open /cache/digest.seen',
      ...fs.readdirSync(join(folder, 'packs')).map((pack) => `open /packs/${pack}`),
    ]);
    assert.deepEqual([again.treeId, again.created, again.filesRead], [first.treeId, false, 0]);
    assert.deepEqual(again.tree, first.tree);
    assert.deepEqual(again.tree, await open().readTree(first.treeId));
    for (const name of [...NAMES, 'none']) assert.deepEqual(again.seen(name), first.seen(name));
    assert.equal(again.seen('five')?.size, 'text of five'.length);
    assert.deepEqual(again.travelling(), first.travelling());

    put('five', 'changed');
    const changed = await watched.capture(directory);
    assert.equal(changed.filesRead, 1);
    await watched.restore(first.treeId, directory, changed);
    assert.equal(fs.readFileSync(at('five'), 'utf8'), 'text of five');
  }),
);

const CHANGES: Readonly<Record<string, (place: Place) => ScanOptions | void>> = {
  'a file is added': ({ put }) => put('a/new', 'x'),
  'a file is added at the end': ({ put }) => put('z', 'x'),
  'the first file is removed': ({ at }) => fs.rmSync(at('a/one')),
  'a file is removed': ({ at }) => fs.rmSync(at('b-four')),
  'the last file is removed': ({ at }) => fs.rmSync(at('six')),
  'a folder is removed': ({ at }) => fs.rmSync(at('b'), { recursive: true }),
  'a file is renamed': ({ at }) => fs.renameSync(at('five'), at('fife')),
  'a folder is renamed': ({ at }) => fs.renameSync(at('a'), at('c')),
  'rights change': ({ at }) => fs.chmodSync(at('five'), 0o755),
  'content changes, size and time do not': ({ put }) => put('five', 'text of FIVE'),
  'two files of one size and time change places': ({ at }) => {
    fs.renameSync(at('a/one'), at('swap'));
    fs.renameSync(at('a/two'), at('a/one'));
    fs.renameSync(at('swap'), at('a/two'));
  },
  'a file becomes a folder': ({ at, put }) => {
    fs.rmSync(at('five'));
    put('five/inside', 'x');
  },
  'a file becomes a link to what it was': ({ at }) => {
    fs.renameSync(at('five'), at('../outside'));
    fs.symlinkSync('../outside', at('five'));
  },
  'a link appears': ({ at }) => fs.symlinkSync('five', at('link')),
  'a secret appears': ({ put }) => put('a/.env', 'SECRET=1'),
  'a folder with the name of a secret appears': ({ put }) => put('.env.d/plain', 'x'),
  'a folder is excluded': () => ({ exclude: (path) => path === 'a' }),
};

for (const [what, change] of Object.entries(CHANGES))
  check(`a workspace that was captured again and again is seen to be another when ${what}`, () =>
    withPlace(async (place) => {
      const { directory, open, treeAnew } = place;
      const workspace = open();
      const { treeId } = await workspace.capture(directory);
      assert.equal((await workspace.capture(directory)).filesRead, 0);
      await tick();
      const options = change(place) ?? {};
      const changed = await workspace.capture(directory, options);
      assert.notEqual(changed.treeId, treeId);
      const again = await workspace.capture(directory, options);
      assert.deepEqual([again.treeId, again.tree, again.filesRead], [changed.treeId, changed.tree, 0]);
      assert.deepEqual(await workspace.readTree(changed.treeId), changed.tree);
      assert.equal(await treeAnew(options), changed.treeId);
      assert.deepEqual(await workspace.verifyTree(changed.treeId), []);
    }),
  );

check('files that changed places are seen where neither times nor sizes tell', () =>
  withPlace(async ({ directory, at, open }) => {
    const blind: Partial<FileSystem> = {
      lstat: (path) => ({ ...nodeFileSystem.lstat(path), changedMs: DAY.getTime() }),
      factsOf: (fd) => ({ ...nodeFileSystem.factsOf(fd), changedMs: DAY.getTime() }),
    };
    const workspace = open(blind);
    const { treeId } = await workspace.capture(directory);
    assert.equal((await workspace.capture(directory)).filesRead, 0);
    fs.renameSync(at('a/one'), at('swap'));
    fs.renameSync(at('a/two'), at('a/one'));
    fs.renameSync(at('swap'), at('a/two'));
    const changed = await workspace.capture(directory);
    assert.deepEqual([changed.filesRead, changed.treeId === treeId], [2, false]);
  }),
);

check('a file that was changed since it was known again is not written over, whatever its size and time say', () =>
  withPlace(async ({ directory, at, put, open }) => {
    const workspace = open();
    const { treeId } = await workspace.capture(directory);
    put('five', 'other words');
    await workspace.capture(directory);
    const current = await workspace.capture(directory);
    await tick();
    put('five', 'OTHER WORDS');
    assert.equal((await refusal(workspace.restore(treeId, directory, current))).code, 'WORKSPACE_CHANGED');
    assert.equal(fs.readFileSync(at('five'), 'utf8'), 'OTHER WORDS');
  }),
);

check('a file that was too young to be noted is missed once it is gone', () =>
  withPlace(async ({ directory, at, put, open, treeAnew }) => {
    put('young', 'x');
    const ahead = new Date(Date.now() + 3_600_000);
    fs.utimesSync(at('young'), ahead, ahead);
    const workspace = open();
    const { treeId } = await workspace.capture(directory);
    const again = await workspace.capture(directory);
    assert.deepEqual([again.treeId, again.filesRead], [treeId, 1]);
    fs.rmSync(at('young'));
    const without = await workspace.capture(directory);
    assert.deepEqual([without.filesRead, without.tree.entries.length], [0, NAMES.length]);
    assert.notEqual(without.treeId, treeId);
    assert.equal(await treeAnew(), without.treeId);
  }),
);

check('a workspace whose tree was collected since is stored anew', () =>
  withPlace(async ({ directory, open }) => {
    const workspace = open();
    const { treeId } = await workspace.capture(directory);
    assert.equal((await workspace.collect(-1)).trees, 1);
    const again = await workspace.capture(directory);
    assert.deepEqual([again.treeId, again.created, again.filesRead], [treeId, true, NAMES.length]);
    assert.deepEqual(await workspace.verifyTree(treeId), []);
  }),
);

check('a workspace whose tree is collected while it is captured is stored anew', () =>
  withPlace(async ({ directory, put, open }) => {
    for (let i = 0; i < 200; i += 1) put(`many/${i}`, `file ${i}`);
    const workspace = open();
    const { treeId } = await workspace.capture(directory);
    let collected: Promise<unknown> | undefined;
    const again = await workspace.capture(directory, {
      exclude: () => {
        collected ??= workspace.collect(-1);
        return false;
      },
    });
    assert.deepEqual(await collected, { trees: 1, contents: 0, packs: 1, strays: 1 });
    assert.deepEqual([again.treeId, again.created], [treeId, true]);
    assert.deepEqual(await open().verifyTree(treeId), []);
  }),
);

check('a content that lies in two packs is found when one of them was collected', () =>
  withPlace(async ({ directory, open }) => {
    const other = join(directory, '..', 'other');
    fs.cpSync(directory, other, { recursive: true });
    fs.writeFileSync(join(other, 'more'), 'more');
    const [one, two] = [open(), open()];
    const [kept, gone] = await Promise.all([one.capture(directory), two.capture(other)]);
    // Both know both packs now.
    for (const store of [one, two]) await store.readTree(kept.treeId);
    await one.forget({ trees: [gone.treeId], contents: [] }, systemClock.nowMs() + 60_000);
    for (const store of [one, two]) assert.deepEqual(await store.verifyTree(kept.treeId), []);
  }),
);

check('a file that is written all the time leaves nothing behind in captures that find the rest as it was', () =>
  withPlace(async ({ directory, folder, at, open }) => {
    let [opened, growing] = [0, -1];
    const workspace = open({
      open(path, ...how) {
        const fd = nodeFileSystem.open(path, ...how);
        opened += 1;
        if (path === at('six')) growing = fd;
        return fd;
      },
      close(fd) {
        nodeFileSystem.close(fd);
        opened -= 1;
        if (fd === growing) growing = -1;
      },
      read(fd, ...where) {
        if (fd === growing) fs.appendFileSync(at('six'), 'more');
        return nodeFileSystem.read(fd, ...where);
      },
    });
    const first = await workspace.capture(directory);
    assert.deepEqual(first.tree.skipped, [{ path: 'six', reason: 'changed_while_read' }]);
    const packs = fs.readdirSync(join(folder, 'packs'));
    for (let i = 0; i < 2; i += 1) {
      const again = await workspace.capture(directory);
      assert.deepEqual([again.treeId, again.created, again.filesRead], [first.treeId, false, 1]);
    }
    assert.deepEqual([opened, fs.readdirSync(join(folder, 'packs'))], [0, packs]);
  }),
);
