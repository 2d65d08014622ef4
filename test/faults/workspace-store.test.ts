import fs from 'node:fs';
import { join } from 'node:path';
import { fail, type FileSystem, nodeFileSystem, sha256Hex, systemClock } from '../../src/core/index.ts';
import { WorkspaceStore, type WorkspaceTree } from '../../src/sessions/index.ts';
import type { Store } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { openSessionWorld, refusal } from '../support/session-world.ts';

interface Place {
  readonly directory: string;
  readonly folder: string;
  readonly put: (path: string, text: string) => void;
  /** The store as another process opens it. */
  readonly open: (files?: Partial<FileSystem>, store?: (store: Store) => Store) => WorkspaceStore;
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
    open: (files = {}, store = (one) => one) =>
      new WorkspaceStore({
        store: store(world.store),
        folder,
        clock: systemClock,
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
    assert.equal(await workspace.hasTree(treeId), false);
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
    assert.equal(await workspace.hasTree(captured.treeId), false);
    assert.deepEqual(await open().verifyTree(treeId), []);
  }),
);
