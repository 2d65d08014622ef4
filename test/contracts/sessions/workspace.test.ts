import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { type Clock, sha256Hex, systemClock } from '../../../src/core/index.ts';
import {
  type Capture,
  createCheckpoint,
  deleteSession,
  type ScanOptions,
  treeIdOf,
  WorkspaceStore,
} from '../../../src/sessions/index.ts';
import { soak } from '../../soak/workspace.ts';
import { assert, check } from '../../support/index.ts';
import { openSessionWorld, OWNER, refusal, type SessionWorld } from '../../support/session-world.ts';

interface Place {
  readonly world: SessionWorld;
  readonly workspace: WorkspaceStore;
  readonly folder: string;
  readonly directory: string;
  readonly put: (path: string, text: string, mode?: number) => void;
  readonly capture: (options?: ScanOptions) => Promise<Capture>;
  readonly restore: (treeId: string) => Promise<unknown>;
  readonly files: () => Record<string, string>;
  /** The same store as another process would open it. */
  readonly again: (clock?: Clock) => WorkspaceStore;
}

async function withPlace(body: (place: Place) => Promise<void>): Promise<void> {
  await using world = await openSessionWorld();
  const base = join(world.file, '..');
  const [folder, directory] = [join(base, 'workspace-cas'), join(base, 'workspace')];
  fs.mkdirSync(directory);
  const { store, context } = world;
  const again = (clock: Clock = systemClock) => new WorkspaceStore({ store, folder, clock, ids: context.ids });
  const workspace = again();
  await body({
    world,
    workspace,
    folder,
    directory,
    put(path, text, mode = 0o644) {
      fs.mkdirSync(join(directory, path, '..'), { recursive: true });
      fs.writeFileSync(join(directory, path), text);
      fs.chmodSync(join(directory, path), mode);
    },
    capture: (options) => workspace.capture(directory, options),
    restore: async (treeId) => workspace.restore(treeId, directory, await workspace.capture(directory)),
    files: () => filesOf(directory),
    again,
  });
}

/** Links are not followed: `readdir` with `recursive` goes through them, out of the workspace. */
function namesOf(directory: string, below = ''): string[] {
  return fs.readdirSync(join(directory, below), { withFileTypes: true }).flatMap((entry) => {
    const name = join(below, entry.name);
    if (entry.isDirectory()) return namesOf(directory, name);
    return entry.isFile() ? [name] : [];
  });
}

function filesOf(directory: string): Record<string, string> {
  const names = namesOf(directory).toSorted();
  return Object.fromEntries(names.map((name) => [name, fs.readFileSync(join(directory, name), 'utf8')]));
}

const paths = (capture: Capture) => capture.tree.entries.map((entry) => entry.path);
const skips = (capture: Capture) => capture.tree.skipped.map(({ path, reason }) => `${path} ${reason}`);

check('a workspace is captured as a tree whose id is the digest of its document, and comes back from it', () =>
  withPlace(async ({ put, capture, restore, files, workspace, directory, again }) => {
    put('b.txt', 'two');
    put('a/deep/one.txt', 'one', 0o755);
    put('empty', '');
    put('same', 'two');
    const first = await capture();
    assert.deepEqual(paths(first), ['a/deep/one.txt', 'b.txt', 'empty', 'same']);
    assert.equal(first.treeId, treeIdOf(first.tree));
    assert.deepEqual([first.created, first.filesRead], [true, 4]);
    assert.deepEqual(await again().readTree(first.treeId), first.tree);
    assert.deepEqual(await workspace.verifyTree(first.treeId), []);
    const before = files();
    put('b.txt', 'changed');
    put('new/folder/file', 'new');
    fs.rmSync(join(directory, 'a'), { recursive: true });
    await restore(first.treeId);
    assert.deepEqual(files(), before);
    assert.equal(fs.statSync(join(directory, 'a/deep/one.txt')).mode & 0o777, 0o755);
    assert.equal(fs.existsSync(join(directory, 'new')), false);
    const last = await capture();
    assert.deepEqual([last.treeId, last.created], [first.treeId, false]);
  }),
);

check('the difference of two trees names each path and how it differs', () =>
  withPlace(async ({ put, capture, workspace, directory }) => {
    put('a', '1');
    put('b', '1');
    put('c', '1');
    put('d', '1');
    const from = await capture();
    put('b', '2');
    put('c', '1', 0o600);
    fs.rmSync(join(directory, 'd'));
    put('e', '1');
    const to = await capture();
    assert.deepEqual(await workspace.diff(from.treeId, to.treeId), [
      { path: 'b', change: 'changed' },
      { path: 'c', change: 'mode' },
      { path: 'd', change: 'removed' },
      { path: 'e', change: 'added' },
    ]);
    assert.deepEqual(await workspace.diff(to.treeId, to.treeId), []);
  }),
);

check('secrets, version control, links, devices and what is excluded are left out, told, and never touched', () =>
  withPlace(async ({ put, capture, restore, directory, files }) => {
    put('keep.txt', 'keep');
    const only = (await capture()).treeId;
    put('.env', 'SECRET=1');
    put('conf/server.key', 'key');
    put('.git/config', 'git');
    put('node_modules/x/index.js', 'x');
    fs.symlinkSync('/etc', join(directory, 'link'));
    fs.symlinkSync('keep.txt', join(directory, 'file-link'));
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    const captured = await capture({ exclude: (path) => path === 'node_modules' });
    assert.deepEqual(paths(captured), ['keep.txt']);
    assert.deepEqual(skips(captured), [
      '.env secret_or_excluded',
      '.git excluded',
      'conf/server.key secret_or_excluded',
      'file-link not_regular_file',
      'link not_regular_file',
      'node_modules excluded',
      'pipe not_regular_file',
    ]);
    const before = Object.keys(files());
    await restore(only);
    assert.ok(
      before.filter((name) => !name.startsWith('node_modules')).every((name) => Object.keys(files()).includes(name)),
    );
    assert.ok(fs.lstatSync(join(directory, 'link')).isSymbolicLink());
  }),
);

check('unchanged files are not read again; a changed one is, whatever its size and time say', () =>
  withPlace(async ({ put, capture, again, directory, folder }) => {
    const old = new Date(0);
    const write = (name: string, text: string): void => {
      put(name, text);
      fs.utimesSync(join(directory, name), old, old);
    };
    for (const name of ['a', 'b', 'c']) write(name, name);
    assert.equal((await capture()).filesRead, 3);
    assert.equal((await capture()).filesRead, 3, 'the kernel changed them too recently to be trusted');
    const later = again({ nowMs: () => systemClock.nowMs() + 10_000 });
    assert.equal((await later.capture(directory)).filesRead, 3);
    assert.equal((await later.capture(directory)).filesRead, 0);
    write('b', 'x');
    assert.equal((await later.capture(directory)).filesRead, 1);
    for (const name of fs.readdirSync(join(folder, 'cache'))) fs.appendFileSync(join(folder, 'cache', name), 'x');
    assert.equal((await later.capture(directory)).filesRead, 3);
  }),
);

check('names that are one on some file systems, or that no package can carry, are told', () =>
  withPlace(async ({ put, capture }) => {
    for (const name of ['Readme', 'README', 'caf\u00e9', 'cafe\u0301', 'what?', 'nul.txt', 'plain.txt']) put(name, 'x');
    const { collisions, cannotTravel } = (await capture()).travelling();
    assert.deepEqual(collisions.map((one) => one.toSorted().join(' ')).toSorted(), [
      'README Readme',
      'cafe\u0301 caf\u00e9',
    ]);
    assert.deepEqual(cannotTravel.toSorted(), ['nul.txt', 'what?']);
  }),
);

check(
  'a restore writes nothing when something that is not captured stands in its way, or a file was just changed',
  () =>
    withPlace(async ({ put, capture, restore, workspace, directory, files }) => {
      put('a', '1');
      put('b', '1');
      const { treeId } = await capture();
      fs.rmSync(join(directory, 'a'));
      fs.symlinkSync('/etc/passwd', join(directory, 'a'));
      put('b', '2');
      assert.equal((await refusal(restore(treeId))).code, 'WORKSPACE_BLOCKED');
      assert.equal(files()['b'], '2');
      fs.rmSync(join(directory, 'a'));
      const current = await capture();
      put('b', 'somebody works here');
      assert.equal((await refusal(workspace.restore(treeId, directory, current))).code, 'WORKSPACE_CHANGED');
      assert.deepEqual(files(), { b: 'somebody works here' });
      const without = await capture();
      put('a', 'made meanwhile');
      assert.equal((await refusal(workspace.restore(treeId, directory, without))).code, 'WORKSPACE_CHANGED');
    }),
);

check('a file becomes a folder and a folder a file, both ways', () =>
  withPlace(async ({ put, capture, restore, directory, files }) => {
    put('x', 'file');
    put('y/inside', 'folder');
    const first = await capture();
    fs.rmSync(join(directory, 'x'));
    fs.rmSync(join(directory, 'y'), { recursive: true });
    put('x/inside', 'folder');
    put('y', 'file');
    fs.mkdirSync(join(directory, 'x', 'empty'));
    const second = await capture();
    await restore(first.treeId);
    assert.deepEqual(files(), { x: 'file', 'y/inside': 'folder' });
    await restore(second.treeId);
    assert.deepEqual(files(), { 'x/inside': 'folder', y: 'file' });
  }),
);

check('a file with another name is replaced, not written through', () =>
  withPlace(async ({ put, capture, restore, directory }) => {
    put('a', 'old');
    const { treeId } = await capture();
    fs.rmSync(join(directory, 'a'));
    const outside = join(directory, '..', 'outside');
    fs.writeFileSync(outside, 'precious');
    fs.linkSync(outside, join(directory, 'a'));
    await restore(treeId);
    assert.equal(fs.readFileSync(outside, 'utf8'), 'precious');
    assert.equal(fs.readFileSync(join(directory, 'a'), 'utf8'), 'old');
  }),
);

check('large files are stored chunk by chunk, once, and proved when they are read', () =>
  withPlace(async ({ put, capture, restore, workspace, directory, folder, again }) => {
    const text = 'x'.repeat(3 * 1024 * 1024 + 7);
    put('large', text);
    put('twin', text);
    const { treeId } = await capture();
    const [pack = ''] = fs.readdirSync(join(folder, 'packs'));
    assert.ok(fs.statSync(join(folder, 'packs', pack)).size < text.length + 2000);
    fs.rmSync(join(directory, 'large'));
    await restore(treeId);
    assert.equal(fs.readFileSync(join(directory, 'large'), 'utf8'), text);
    const at = join(folder, 'packs', pack);
    const bytes = fs.readFileSync(at);
    bytes[1000] = 0;
    fs.writeFileSync(at, bytes);
    assert.deepEqual(await workspace.verifyTree(treeId), [
      { path: 'large', problem: 'damaged' },
      { path: 'twin', problem: 'damaged' },
    ]);
    fs.rmSync(join(directory, 'large'));
    assert.equal((await refusal(restore(treeId))).code, 'WORKSPACE_PACK_CORRUPT');
    assert.equal(fs.existsSync(join(directory, 'large')), false);
    fs.rmSync(at);
    assert.equal((await refusal(again().readTree(treeId))).code, 'FILE_MISSING');
  }),
);

check(
  'collection keeps what a checkpoint names and what was captured lately, and removes the rest with its strays',
  () =>
    withPlace(async ({ world, put, capture, workspace, folder }) => {
      put('a', 'named');
      const named = await capture();
      await world.store.write('t', (tx) =>
        createCheckpoint(tx, world.context, OWNER, {
          rootFrameId: world.root,
          branchId: world.root,
          reason: 'test',
          workspaceTreeId: named.treeId,
        }),
      );
      put('a', 'not named');
      const other = await capture();
      fs.writeFileSync(join(folder, 'packs', `${'0'.repeat(32)}.part`), 'left by a killed capture');
      assert.deepEqual(await workspace.collect(60_000), { trees: 0, contents: 0, packs: 0, strays: 0 });
      await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual(await workspace.collect(0), { trees: 1, contents: 0, packs: 1, strays: 1 });
      assert.deepEqual(await workspace.verifyTree(named.treeId), []);
      assert.equal((await refusal(workspace.readTree(other.treeId))).code, 'WORKSPACE_TREE_NOT_FOUND');
      const raw = world.raw();
      assert.throws(() => raw.exec('DELETE FROM workspace_trees'), /a checkpoint needs this workspace tree/);
      raw.close();
      put('a', 'named');
      assert.equal((await capture()).treeId, named.treeId);
      put('a', 'not named');
      assert.equal((await capture()).created, true);
      assert.deepEqual(await workspace.verifyTree(other.treeId), []);
    }),
);

check('what was noted of a workspace goes with its tree: the names of its files are kept no longer', () =>
  withPlace(async ({ world, put, again, directory, folder }) => {
    const at = (ms: number) => again({ nowMs: () => systemClock.nowMs() + ms });
    const notes = () => fs.readdirSync(join(folder, 'cache'));
    put('secret-plan.txt', 'x');
    const { treeId } = await at(10_000).capture(directory);
    const point = { rootFrameId: world.root, branchId: world.root, reason: 'test', workspaceTreeId: treeId };
    await world.store.write('t', (tx) => createCheckpoint(tx, world.context, OWNER, point));
    await at(20_000).collect(0);
    assert.equal(notes().length, 1);
    await world.store.write('t', (tx) => deleteSession(tx, world.context, OWNER, world.root));
    assert.deepEqual(await at(30_000).collect(0), { trees: 1, contents: 0, packs: 1, strays: 1 });
    assert.deepEqual(notes(), []);
  }),
);

check('a checkpoint names only trees that are there', () =>
  withPlace(async ({ world }) => {
    const made = world.store.write('t', (tx) =>
      createCheckpoint(tx, world.context, OWNER, {
        rootFrameId: world.root,
        branchId: world.root,
        reason: 'test',
        workspaceTreeId: '0'.repeat(64),
      }),
    );
    assert.equal((await refusal(made)).code, 'WORKSPACE_TREE_NOT_FOUND');
  }),
);

check('what is no folder is refused; a folder that cannot be read is told', () =>
  withPlace(async ({ put, workspace, directory }) => {
    put('file', 'x');
    assert.equal((await refusal(workspace.capture(join(directory, 'file')))).code, 'WORKSPACE_NOT_A_FOLDER');
    assert.equal((await refusal(workspace.capture(join(directory, 'none')))).code, 'WORKSPACE_NOT_A_FOLDER');
    fs.symlinkSync(directory, join(directory, 'self'));
    assert.equal((await refusal(workspace.capture(join(directory, 'self')))).code, 'WORKSPACE_NOT_A_FOLDER');
  }),
);

check('a tree from elsewhere is stored only when each content is what it is called', () =>
  withPlace(async ({ workspace, directory, restore }) => {
    const text = 'from elsewhere';
    const blob = sha256Hex(text);
    const tree = { entries: [{ path: 'a', blob, size: text.length, mode: 0o644 }], skipped: [] };
    const wrong = workspace.addTree(tree, async function* () {
      yield Buffer.from('something else');
    });
    assert.equal((await refusal(wrong)).code, 'WORKSPACE_PACK_CORRUPT');
    const treeId = await workspace.addTree(tree, async function* () {
      yield Buffer.from(text);
    });
    await restore(treeId);
    assert.equal(fs.readFileSync(join(directory, 'a'), 'utf8'), text);
  }),
);

check(
  'thousands of files are captured, known again, gone back to and collected; the soak does it with the most',
  async () => {
    assert.deepEqual(await soak({ seed: 1, count: 2000, log: () => undefined }), []);
  },
);
