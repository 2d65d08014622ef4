import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import {
  type Clock,
  errnoOf,
  fail,
  type FaultPoints,
  type FileSystem,
  type Ids,
  nodeFileSystem,
  noFaults,
  requireWithin,
  sha256Hex,
  wrapFileError,
} from '../../core/index.ts';
import type { ReadTx, Store, Tx } from '../../store/index.ts';
import { readWorkspace, type Walked } from './capture.ts';
import { Captured, treeOf } from './captured.ts';
import { type Added, collectGarbage, type Collected, forgetAdded } from './collect.ts';
import type { Capture, TreeChange, WorkspaceTree } from './model.ts';
import { type BlobPlace, PackWriter, packChunks } from './pack.ts';
import { PackIndex } from './pack-index.ts';
import * as sql from './queries.ts';
import { restoreWorkspace, type Restored } from './restore.ts';
import type { ScanOptions } from './scan.ts';
import { StatCache } from './stat-cache.ts';
import { breathe } from './turns.ts';
import { diffTrees, onTheWay, readTreeDocument, treeDocument } from './tree.ts';

export interface WorkspaceStoreOptions {
  readonly store: Store;
  /**
   * The folder `workspace-cas` beside the database; made, for its owner alone, where there is none. What it lies in, the
   * data folder, is part of no workspace.
   */
  readonly folder: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly files?: FileSystem;
  readonly faults?: FaultPoints;
}

export interface TreeProblem {
  readonly path: string;
  readonly problem: 'missing' | 'damaged';
}

/** A content that is kept by itself. */
export interface KeptContent {
  readonly sha256: string;
  readonly size: number;
  /** False when this very content was kept already. */
  readonly created: boolean;
}

/** What is read at a time of a content that is only passed on. */
const PROOF_BYTES = 256 * 1024;

/** A pack that something relied on was collected meanwhile: it is made once more. */
class PackGone extends Error {}

/**
 * Workspaces as they were: contents by their SHA-256 in packs, trees by theirs. The database says which packs and trees
 * there are; a pack is durable before it is named there, so that whatever kills a capture leaves at most a file that
 * nobody names, which `collect` removes. Several processes may use one folder.
 */
export class WorkspaceStore {
  readonly #options: WorkspaceStoreOptions;
  readonly #files: FileSystem;
  readonly #faults: FaultPoints;
  readonly #packs: string;
  readonly #cache: string;
  readonly #index: PackIndex;

  constructor(options: WorkspaceStoreOptions) {
    this.#options = options;
    this.#files = options.files ?? nodeFileSystem;
    this.#faults = options.faults ?? noFaults;
    this.#packs = join(options.folder, 'packs');
    this.#cache = join(options.folder, 'cache');
    this.#index = new PackIndex(this.#files, this.#packs);
    for (const folder of [options.folder, this.#packs, this.#cache]) makeFolder(this.#files, folder);
  }

  /**
   * Captures a workspace: what is new is written in one pack, with one sync of the file and one of the folder; files
   * that did not change since the last capture are not read. Links are never followed; links, devices, secrets, version
   * control, too large, unreadable and changing files are left out and told. Gives the event loop turns meanwhile.
   * Refuses with WORKSPACE_NOT_A_FOLDER, WORKSPACE_CHANGED, LIMIT_REACHED, and what the disk says.
   */
  capture(directory: string, options: ScanOptions = {}): Promise<Capture> {
    return this.#withPacks('the workspace', () => this.#captureOnce(directory, options));
  }

  /** Tries again what relied on a pack that was collected meanwhile. */
  async #withPacks<T>(what: string, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof PackGone) || attempt === 2) throw wrapFileError(error, what);
      }
    }
  }

  async #captureOnce(directory: string, options: ScanOptions): Promise<Capture> {
    let pack: PackWriter | undefined;
    const { clock, ids } = this.#options;
    const open = (): PackWriter => (pack ??= new PackWriter(this.#files, this.#packs, ids.next()));
    try {
      const cache = new StatCache(this.#files, this.#cache, directory, clock.nowMs());
      // A tree that is there has all its contents: the database keeps the packs that it needs, and the cache names no
      // content that is not the tree's. Should both be collected meanwhile, the capture is made once more.
      const isThere = (await this.#refresh(cache.treeId)) === 'whole';
      const isStored = isThere ? () => true : (sha: string) => this.#index.has(sha);
      const tools = { files: this.#files, cache, index: this.#index, isStored, pack: open };
      const walked = await readWorkspace(tools, directory, { ...options, apart: this.#ownFolders() });
      const kept = await this.#keepWalked(cache, walked, open, () => pack);
      cache.save(walked.table, walked.skipped, kept.treeId, ids.next());
      return new Captured(walked, kept);
    } catch (error) {
      pack?.abandon();
      throw error;
    }
  }

  /** A workspace may lie around them: what is being written is not captured, and no restore puts an old database back. */
  #ownFolders(): ReadonlySet<string> {
    const { folder } = this.#options;
    return new Set([folder, dirname(resolve(folder))].map((own) => this.#files.lstat(own).identity));
  }

  async #keepWalked(
    cache: StatCache,
    walked: Walked,
    open: () => PackWriter,
    made: () => PackWriter | undefined,
  ): Promise<{ treeId: string; created: boolean }> {
    const treeId = cache.treeOf(walked.table, walked.skipped);
    if (treeId === undefined || !(await this.#touch(treeId))) return this.#keep(treeOf(walked), open, made);
    // Files that were left out may have been read for nothing.
    made()?.abandon();
    return { treeId, created: false };
  }

  /** Stores a tree whose contents are in the pack or stored already; a tree that is there is only touched. */
  async #keep(
    tree: WorkspaceTree,
    open: () => PackWriter,
    made: () => PackWriter | undefined,
  ): Promise<{ treeId: string; created: boolean }> {
    const document = treeDocument(tree);
    // What could not be read again must not be relied upon.
    requireWithin('workspaceFileBytes', Buffer.byteLength(document));
    const treeId = sha256Hex(document);
    if (await this.#touch(treeId)) {
      made()?.abandon();
      return { treeId, created: false };
    }
    if (!this.#index.has(treeId)) open().add(treeId, Buffer.from(document));
    const pack = made();
    pack?.finish(this.#faults);
    await this.#options.store.write('workspace.keep', (tx) => this.#name(tx, treeId, tree, pack));
    if (pack) this.#index.add(pack);
    void this.#faults.reach('checkpoint-tree-written');
    return { treeId, created: true };
  }

  /** False as well for a tree that needs a pack which cannot be read: it is stored again. */
  #touch(treeId: string): Promise<boolean> {
    const now = this.#options.clock.nowMs();
    return this.#options.store.write('workspace.touch', async (tx) => {
      if (await this.#isBroken(tx, treeId)) return false;
      const { changes } = await tx.run(sql.TOUCH_TREE, [now, treeId]);
      return changes === 1;
    });
  }

  async #isBroken(tx: ReadTx, treeId: string): Promise<boolean> {
    const { unreadable } = this.#index;
    if (unreadable.size === 0) return false;
    return (await tx.all(sql.PACKS_OF_TREE, [treeId])).some((row) => unreadable.has(String(row['pack_id'])));
  }

  async #name(tx: Tx, treeId: string, tree: WorkspaceTree, pack: PackWriter | undefined): Promise<void> {
    const now = this.#options.clock.nowMs();
    const bytes = tree.entries.reduce((sum, entry) => sum + entry.size, 0);
    if (pack) await tx.run(sql.INSERT_PACK, [pack.id, pack.places.size, now]);
    await tx.run(sql.INSERT_TREE, [treeId, tree.entries.length, bytes, now]);
    // A tree that is stored again needs what it is stored in now.
    await tx.run(sql.UNNEED_PACKS, [treeId]);
    const place = (sha: string): string => (pack?.places.get(sha) ?? this.#index.get(sha))?.pack ?? '';
    const needed = new Set([treeId, ...tree.entries.map((entry) => entry.blob)].map(place));
    for (const id of needed) {
      const { changes } = await tx.run(sql.NEED_PACK, [treeId, id]);
      if (changes === 0 && !(await tx.get(sql.HAS_PACK, [id]))) throw new PackGone();
    }
  }

  /** Looks which packs there are; says whether a tree is there, and all that it needs. */
  async #refresh(treeId = ''): Promise<'none' | 'whole' | 'broken'> {
    const { store } = this.#options;
    const { rows, tree } = await store.read('workspace.packs', async (tx) => ({
      rows: await tx.all(sql.LIST_PACKS),
      tree: await tx.get(sql.FIND_TREE, [treeId]),
    }));
    this.#index.learn(new Set(rows.map((row) => String(row['pack_id']))));
    if (tree === undefined) return 'none';
    if (this.#index.unreadable.size === 0) return 'whole';
    return (await store.read('workspace.packs', (tx) => this.#isBroken(tx, treeId))) ? 'broken' : 'whole';
  }

  /** Undefined where it lies nowhere. A pack that cannot be read may be where it lies: then that is told. */
  async #place(sha: string): Promise<BlobPlace | undefined> {
    const known = this.#index.get(sha);
    if (known) return known;
    await this.#refresh();
    const found = this.#index.get(sha);
    const [why] = this.#index.unreadable.values();
    if (found === undefined && why !== undefined) throw why;
    return found;
  }

  /** A stored tree, proved against its id. WORKSPACE_TREE_NOT_FOUND, WORKSPACE_TREE_CORRUPT, WORKSPACE_PACK_CORRUPT. */
  async readTree(treeId: string): Promise<WorkspaceTree> {
    if ((await this.#refresh(treeId)) === 'none')
      throw fail('WORKSPACE_TREE_NOT_FOUND', 'There is no such workspace tree.');
    requireWithin('workspaceFileBytes', (await this.#place(treeId))?.size ?? 0);
    const chunks = [];
    for await (const chunk of this.readBlob(treeId)) chunks.push(chunk);
    return readTreeDocument(treeId, Buffer.concat(chunks).toString('utf8'));
  }

  /**
   * A stored content, chunk by chunk. Its digest is proved at the end: WORKSPACE_PACK_CORRUPT, also when it is missing.
   * With `into`, every chunk is a view of that one buffer, for who is done with a chunk when asking for the next.
   */
  async *readBlob(sha: string, into?: Buffer): AsyncGenerator<Uint8Array> {
    const place = await this.#place(sha);
    if (!place) throw fail('WORKSPACE_PACK_CORRUPT', 'A content of the workspace is missing.');
    const hash = createHash('sha256');
    let hasBegun = false;
    try {
      for (const chunk of packChunks(this.#files, this.#packs, place, into)) {
        hasBegun = true;
        hash.update(chunk);
        yield chunk;
      }
    } catch (error) {
      if (hasBegun || errnoOf(error) !== 'ENOENT') throw error;
      // Its pack was collected since it was looked at; it may lie in another one too.
      this.#index.forget();
      if ((await this.#place(sha))?.pack === place.pack) throw error;
      yield* this.readBlob(sha, into);
      return;
    }
    if (hash.digest('hex') !== sha) throw fail('WORKSPACE_PACK_CORRUPT', 'A content of the workspace is damaged.');
  }

  /** Reads every content of a tree and proves its digest. Empty: the tree can be restored. */
  async verifyTree(treeId: string): Promise<TreeProblem[]> {
    const problems: TreeProblem[] = [];
    const proved = new Map<string, TreeProblem['problem'] | null>();
    for (const { path, blob } of (await this.readTree(treeId)).entries) {
      const problem = proved.get(blob) ?? (proved.has(blob) ? null : await this.#prove(blob));
      proved.set(blob, problem);
      if (problem !== null) problems.push({ path, problem });
    }
    return problems;
  }

  async #prove(sha: string): Promise<TreeProblem['problem'] | null> {
    try {
      if (!(await this.#place(sha))) return 'missing';
      for await (const _chunk of this.readBlob(sha, Buffer.allocUnsafe(PROOF_BYTES))) continue;
      return null;
    } catch {
      return 'damaged';
    }
  }

  /** What changes from one tree to another, by path. */
  async diff(fromTreeId: string, toTreeId: string): Promise<TreeChange[]> {
    return diffTrees(await this.readTree(fromTreeId), await this.readTree(toTreeId));
  }

  /**
   * Makes a workspace what a tree says. `current` is a capture made just before: what it left out is never touched, and
   * a file that changed since is not replaced, whenever that was. Everything is checked before anything is written, and
   * each file again just before it is replaced; it is written under a temporary name, synced and renamed. Interrupted, it
   * is done again from a fresh capture. WORKSPACE_BLOCKED, WORKSPACE_CHANGED, and what the disk says.
   */
  async restore(treeId: string, directory: string, current: Capture): Promise<Restored> {
    return this.restoreTree(await this.readTree(treeId), directory, current);
  }

  /** The same for a tree that was read already. What `atTurn` throws, between two files, ends it where it stands. */
  async restoreTree(
    target: WorkspaceTree,
    directory: string,
    current: Capture,
    atTurn: () => Promise<void> = breathe,
  ): Promise<Restored> {
    const tools = { files: this.#files, ids: this.#options.ids, faults: this.#faults, atTurn };
    try {
      // One content is written after the other.
      const buffer = Buffer.allocUnsafe(PROOF_BYTES);
      return await restoreWorkspace(tools, directory, current, target, (sha) => this.readBlob(sha, buffer));
    } catch (error) {
      throw wrapFileError(error, 'the workspace');
    }
  }

  /**
   * Goes on, or back, on the way from one tree to another on which a restore has stopped: what is as in neither of them is
   * somebody's own work since. `others` says whether that stays as it is, or WORKSPACE_CHANGED is thrown. As `restore` in
   * everything else.
   */
  async goOn(
    way: { readonly from: string; readonly to: string; readonly others: 'stay' | 'refuse' },
    directory: string,
    current: Capture,
    atTurn: () => Promise<void> = breathe,
  ): Promise<Restored> {
    const to = await this.readTree(way.to);
    const from = await this.readTree(way.from).catch((error: unknown) => {
      if (way.others === 'refuse') throw error;
      return null;
    });
    // Without it nobody can tell what was written of it.
    if (from === null) return this.restoreTree(to, directory, current, atTurn);
    const { tree, others } = onTheWay(current.tree, { from, to });
    const [path] = others;
    if (way.others === 'stay' || path === undefined) return this.restoreTree(tree, directory, current, atTurn);
    const message = 'A file of the workspace was changed since the restore stopped.';
    const resolve =
      'Roll it back with `holdfast sessions recover SESSION --roll-back`, which leaves that file as it is.';
    throw fail('WORKSPACE_CHANGED', message, { details: { path }, resolve });
  }

  /**
   * Stores a tree that came from elsewhere. Each content is read and proved; `blobs` gives it by its SHA-256, again where
   * it is asked again. Contents that are stored already are not asked for. WORKSPACE_PACK_CORRUPT when one is not what it
   * is called.
   */
  addTree(tree: WorkspaceTree, blobs: (sha: string) => AsyncIterable<Uint8Array>): Promise<string> {
    return this.#withPacks('a workspace', () => this.#addTreeOnce(tree, blobs));
  }

  async #addTreeOnce(tree: WorkspaceTree, blobs: (sha: string) => AsyncIterable<Uint8Array>): Promise<string> {
    await this.#refresh();
    let pack: PackWriter | undefined;
    const open = (): PackWriter => (pack ??= new PackWriter(this.#files, this.#packs, this.#options.ids.next()));
    try {
      for (const { blob } of tree.entries) {
        if (this.#index.has(blob) || pack?.places.has(blob)) continue;
        if ((await open().addLarge(blobs(blob), () => false)) !== blob)
          throw fail('WORKSPACE_PACK_CORRUPT', 'A content of the tree is not what its digest says.');
      }
      return (await this.#keep(tree, open, () => pack)).treeId;
    } catch (error) {
      pack?.abandon();
      throw error;
    }
  }

  /** Whether a tree is stored with all that it needs; then it is kept from the next collection, as one that is captured. */
  async keepTree(treeId: string): Promise<boolean> {
    await this.#refresh();
    return this.#touch(treeId);
  }

  /**
   * Keeps a content by itself: the bytes of an artifact version, which is recorded soon after. What is stored already is
   * not stored twice; what is new is one pack, synced, read back and proved. `readBlob` reads it. LIMIT_REACHED above
   * `artifactVersionBytes`; WORKSPACE_PACK_CORRUPT when it is not `expected`, or what was read back is another.
   */
  async keepContent(chunks: AsyncIterable<Uint8Array>, expected?: string): Promise<KeptContent> {
    await this.#refresh();
    const { clock, ids, store } = this.#options;
    const pack = new PackWriter(this.#files, this.#packs, ids.next());
    try {
      const sha256 = await pack.addLarge(withinBytes(chunks), () => false);
      if (expected !== undefined && sha256 !== expected)
        throw fail('WORKSPACE_PACK_CORRUPT', 'A content is not what its digest says.');
      const place = pack.places.get(sha256) as BlobPlace;
      const kept = { sha256, size: place.size };
      // Where a pack cannot be read, what is kept may have lain there: it is kept anew.
      const anew = this.#index.unreadable.size > 0;
      const keep = (packId: string) => (tx: Tx) => keepIn(tx, kept, { packId, anew }, clock.nowMs());
      const packId = this.#index.get(sha256)?.pack ?? '';
      const known = anew ? null : await store.write('workspace.keep', keep(packId));
      if (known !== null) {
        pack.abandon();
        return { ...kept, created: known === 'new' };
      }
      pack.finish(this.#faults);
      await this.#proveWritten(place, sha256);
      const made = await store.write('workspace.keep', async (tx) => {
        await tx.run(sql.INSERT_PACK, [pack.id, 1, clock.nowMs()]);
        return keep(pack.id)(tx);
      });
      this.#index.add(pack);
      return { ...kept, created: made === 'new' };
    } catch (error) {
      pack.abandon();
      throw wrapFileError(error, 'the bytes of an artifact');
    }
  }

  async #proveWritten(place: BlobPlace, sha256: string): Promise<void> {
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(Math.min(place.size, PROOF_BYTES));
    for (const chunk of packChunks(this.#files, this.#packs, place, buffer)) hash.update(chunk);
    if (hash.digest('hex') !== sha256) throw fail('WORKSPACE_PACK_CORRUPT', 'What was stored is not what was given.');
  }

  /** Takes back what was added at `addedMs` or before and nobody came to need. */
  forget(added: Added, addedMs: number): Promise<void> {
    return forgetAdded({ store: this.#options.store, files: this.#files, folder: this.#packs }, added, addedMs);
  }

  /**
   * Removes trees that no checkpoint names and contents that no artifact version names, where they were not captured or
   * kept within `graceMs`, packs that neither needs, and files that nobody names and that are older than that. What is named is kept, by the database itself.
   */
  collect(graceMs: number): Promise<Collected> {
    const { store, clock } = this.#options;
    return collectGarbage({
      store,
      files: this.#files,
      folder: this.#packs,
      cacheFolder: this.#cache,
      beforeMs: clock.nowMs() - graceMs,
    });
  }
}

/** Names a content in a pack that is there, in that very one where it is kept anew: null when the pack is gone. */
async function keepIn(
  tx: Tx,
  { sha256, size }: Omit<KeptContent, 'created'>,
  { packId, anew }: { readonly packId: string; readonly anew: boolean },
  nowMs: number,
): Promise<'new' | 'known' | null> {
  if ((await tx.run(sql.TOUCH_CONTENT, [nowMs, sha256])).changes === 1) {
    if (anew) await tx.run(sql.MOVE_CONTENT, [packId, sha256]);
    return 'known';
  }
  const { changes } = await tx.run(sql.KEEP_CONTENT, [sha256, size, nowMs, packId]);
  return changes === 1 ? 'new' : null;
}

async function* withinBytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    requireWithin('artifactVersionBytes', bytes);
    yield chunk;
  }
}

function makeFolder(files: FileSystem, folder: string): void {
  try {
    files.mkdir(folder, 0o700);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
    if (files.lstat(folder).kind !== 'folder')
      throw fail('WORKSPACE_NOT_A_FOLDER', 'The place of the workspace store is not a folder.');
  }
}
