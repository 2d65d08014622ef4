import fs from 'node:fs';
import { join } from 'node:path';
import { type Clock, fail, type FileSystem, nodeFileSystem, sha256Hex, systemClock } from '../../src/core/index.ts';
import { WorkspaceStore, type WorkspaceTree } from '../../src/sessions/index.ts';
import type { Store } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { openSessionWorld, refusal } from '../support/session-world.ts';

interface Place {
  readonly directory: string;
  readonly folder: string;
  readonly put: (path: string, text: string) => void;
  /** The pack that a content which is kept by itself is said to lie in. */
  readonly packOf: (sha256: string) => string;
  /** The store as another process opens it. */
  readonly open: (files?: Partial<FileSystem>, store?: (store: Store) => Store, clock?: Clock) => WorkspaceStore;
}

async function withPlace(body: (place: Place) => Promise<void>): Promise<void> {
  await using world = await openSessionWorld();
  const base = join(world.file, '..');
  const [directory, folder] = [join(base, 'workspace'), join(base, 'workspace-cas')];
  fs.mkdirSync(directory);
  const { ids } = world.context;
  await body({
    directory,
    folder,
    put: (path, text) => fs.writeFileSync(join(directory, path), text),
    packOf(sha256) {
      using raw = world.raw();
      const row = raw.prepare('SELECT pack_id FROM workspace_contents WHERE sha256 = ?').get(sha256);
      return String(row?.['pack_id']);
    },
    open: (files = {}, store = (one) => one, clock = systemClock) =>
      new WorkspaceStore({
        store: store(world.store),
        folder,
        clock,
        ids,
        files: { ...nodeFileSystem, ...files },
      }),
  });
}

/** A store that refuses every write once `isRefusing` says so. */
const refusing = (store: Store, isRefusing: () => boolean): Store => ({
  read: (name, body) => store.read(name, body),
  async write(name, body) {
    if (isRefusing()) throw fail('STORE_BUSY', 'The store is busy.');
    return store.write(name, body);
  },
  close: () => store.close(),
  [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
});

for (const [what, keep] of [
  ['a capture', (workspace: WorkspaceStore, directory: string) => workspace.capture(directory)],
  [
    'an artifact',
    (workspace: WorkspaceStore) =>
      workspace.keepContent(
        (async function* () {
          yield Buffer.from('bytes');
        })(),
      ),
  ],
] as const)
  check(`${what} whose pack could not be named closes nothing that somebody else has opened since`, () =>
    withPlace(async ({ directory, put, open }) => {
      put('a', 'one');
      const others: number[] = [];
      const files: Partial<FileSystem> = {
        rename(from, to) {
          fs.renameSync(from, to);
          if (to.endsWith('.pack')) for (let i = 0; i < 2; i += 1) others.push(fs.openSync(join(directory, 'a'), 'r'));
        },
      };
      const workspace = open(files, (store) => refusing(store, () => others.length > 0));
      assert.equal((await refusal(keep(workspace, directory))).code, 'STORE_BUSY');
      assert.deepEqual(
        others.map((fd) => fs.fstatSync(fd).size),
        [3, 3],
      );
      for (const fd of others) fs.closeSync(fd);
    }),
  );

const contentsOf = (texts: readonly string[]) => {
  const byDigest = new Map(texts.map((text) => [sha256Hex(text), text]));
  return async function* (sha: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(byDigest.get(sha) ?? '');
  };
};

const treeOf = (files: Readonly<Record<string, string>>): WorkspaceTree => ({
  entries: Object.entries(files).map(([path, text]) => ({
    path,
    blob: sha256Hex(text),
    size: text.length,
    mode: 0o644,
  })),
  skipped: [],
});

check('a tree from elsewhere is stored again when it was collected and all that it needs is still in other packs', () =>
  withPlace(async ({ open }) => {
    const [one, two] = [treeOf({ a: 'one' }), treeOf({ a: 'one', b: 'two' })];
    const blobs = contentsOf(['one', 'two']);
    const workspace = open();
    const treeId = await workspace.addTree(one, blobs);
    await workspace.addTree(two, blobs);
    await workspace.forget({ trees: [treeId], contents: [] }, systemClock.nowMs() + 60_000);
    assert.equal(await workspace.keepTree(treeId), false);
    assert.equal(await workspace.addTree(one, blobs), treeId);
    assert.deepEqual(await open().verifyTree(treeId), []);
  }),
);

check('a tree from elsewhere is stored when a pack that it relied on is collected meanwhile', () =>
  withPlace(async ({ directory, put, open }) => {
    put('a', 'one');
    const workspace = open();
    const captured = await workspace.capture(directory);
    const blobs = contentsOf(['one', 'two']);
    const treeId = await workspace.addTree(treeOf({ a: 'one', b: 'two' }), async function* (sha) {
      await open().forget({ trees: [captured.treeId], contents: [] }, systemClock.nowMs() + 60_000);
      yield* blobs(sha);
    });
    assert.equal(await workspace.keepTree(captured.treeId), false);
    assert.deepEqual(await open().verifyTree(treeId), []);
  }),
);

/** The packs that are there now and were not before. */
async function packsOf(folder: string, work: () => Promise<unknown>): Promise<string[]> {
  const names = (): string[] => (fs.existsSync(folder) ? fs.readdirSync(join(folder, 'packs')) : []);
  const before = new Set(names());
  await work();
  return names().flatMap((name) => (before.has(name) ? [] : [join(folder, 'packs', name)]));
}

const keep = (workspace: WorkspaceStore, text: string) =>
  workspace.keepContent(
    (async function* () {
      yield Buffer.from(text);
    })(),
  );

async function textOf(workspace: WorkspaceStore, sha256: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of workspace.readBlob(sha256)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

for (const [how, damage] of [
  ['is gone', (path: string) => fs.rmSync(path)],
  ['is damaged', (path: string) => fs.truncateSync(path, 20)],
] as const)
  check(
    `a pack that ${how} keeps nothing else from being captured, kept and read, and is told where it is needed`,
    () =>
      withPlace(async ({ directory, folder, put, open, packOf }) => {
        put('a', 'one');
        let first = '';
        const lost = await packsOf(folder, async () => (first = (await open().capture(directory)).treeId));
        const artifact = await keep(open(), 'an artifact');
        const alsoLost = await packsOf(folder, async () => keep(open(), 'another'));
        put('a', 'two, longer');
        const second = await open().capture(directory);
        for (const path of [...lost, ...alsoLost]) damage(path);
        put('b', 'three');
        const third = await open().capture(directory);
        assert.deepEqual(await open().verifyTree(third.treeId), []);
        assert.deepEqual(await open().verifyTree(second.treeId), []);
        assert.equal(await textOf(open(), artifact.sha256), 'an artifact');
        const code = how === 'is gone' ? 'FILE_MISSING' : 'WORKSPACE_PACK_CORRUPT';
        assert.equal((await refusal(open().readTree(first))).code, code);
        assert.equal((await refusal(textOf(open(), sha256Hex('another')))).code, code);
        // What is captured and kept again is there again.
        fs.rmSync(join(directory, 'b'));
        put('a', 'one');
        assert.equal((await open().capture(directory)).treeId, first);
        assert.deepEqual(await open().verifyTree(first), []);
        assert.equal(await textOf(open(), (await keep(open(), 'another')).sha256), 'another');
        assert.ok(alsoLost.every((path) => !path.includes(packOf(sha256Hex('another')))));
      }),
  );

check('a workspace that did not change is not taken as captured when a pack that it needs is gone', () =>
  withPlace(async ({ directory, folder, put, open }) => {
    put('a', 'one');
    fs.utimesSync(join(directory, 'a'), 1, 1);
    const later = { nowMs: () => systemClock.nowMs() + 10_000 };
    const { treeId } = await open({}, undefined, later).capture(directory);
    for (const name of fs.readdirSync(join(folder, 'packs'))) fs.rmSync(join(folder, 'packs', name));
    assert.equal((await open({}, undefined, later).capture(directory)).treeId, treeId);
    assert.deepEqual(await open().verifyTree(treeId), []);
    const again = await open({}, undefined, later).capture(directory);
    assert.deepEqual([again.treeId, again.created, again.filesRead], [treeId, false, 0]);
  }),
);

check('a content that lies in two packs is read by whoever knows it from the one that was collected', () =>
  withPlace(async ({ directory, put, open }) => {
    put('a', 'bytes');
    const [one, two, reader] = [open(), open(), open()];
    // Neither knows of the other's pack.
    const [kept, { treeId }] = await Promise.all([keep(one, 'bytes'), two.capture(directory)]);
    for (const path of [kept.sha256]) assert.equal(await textOf(reader, path), 'bytes');
    await open().forget({ trees: [treeId], contents: [] }, systemClock.nowMs() + 60_000);
    for (const workspace of [one, two, reader]) assert.equal(await textOf(workspace, kept.sha256), 'bytes');
  }),
);

for (const call of ['write', 'rename'] as const)
  check(`a capture whose notes do not fit on the disk is a capture, and leaves nothing of them (${call})`, () =>
    withPlace(async ({ directory, folder, put, open }) => {
      put('a', 'one');
      fs.utimesSync(join(directory, 'a'), 1, 1);
      let notes = -1;
      const full = (): never => {
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      };
      const workspace = open(
        {
          open(path, flags, mode) {
            const fd = nodeFileSystem.open(path, flags, mode);
            if (path.includes('.seen')) notes = fd;
            return fd;
          },
          write: (fd, bytes, position) =>
            call === 'write' && fd === notes ? full() : nodeFileSystem.write(fd, bytes, position),
          rename: (from, to) => (to.endsWith('.seen') ? full() : nodeFileSystem.rename(from, to)),
        },
        undefined,
        { nowMs: () => systemClock.nowMs() + 10_000 },
      );
      const { treeId } = await workspace.capture(directory);
      assert.deepEqual(await open().verifyTree(treeId), []);
      assert.deepEqual(fs.readdirSync(join(folder, 'cache')), []);
    }),
  );
