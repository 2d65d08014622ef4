import { join } from 'node:path';
import type { FileSystem } from '../../core/index.ts';
import type { Store } from '../../store/index.ts';
import { packName } from './pack.ts';
import * as sql from './queries.ts';
import { isHalfNote, notedTree } from './stat-cache.ts';

export interface Collected {
  readonly trees: number;
  /** Contents of artifact versions that are gone. */
  readonly contents: number;
  readonly packs: number;
  /** Files that nobody named: left by captures that were killed, and notes of workspaces whose tree is gone. */
  readonly strays: number;
}

interface CollectTools {
  readonly store: Store;
  readonly files: FileSystem;
  readonly folder: string;
  readonly beforeMs: number;
  /** Where captures leave their notes. */
  readonly cacheFolder: string;
}

/** First the rows, in one transaction; the files only once it stands, so that no row ever names a file that is gone. */
export async function collectGarbage({
  store,
  files,
  folder,
  cacheFolder,
  beforeMs,
}: CollectTools): Promise<Collected> {
  const { trees, contents, packs, named, whole } = await store.write('workspace.collect', async (tx) => {
    const dropped = await tx.run(sql.DROP_TREES, [beforeMs]);
    const unused = await tx.run(sql.DROP_CONTENTS, [beforeMs]);
    const rows = await tx.all(sql.DROP_PACKS, [beforeMs]);
    const left = await tx.all(sql.LIST_PACKS);
    const idOf = (row: { readonly [column: string]: unknown }): string => String(row['pack_id']);
    const counts = { trees: dropped.changes, contents: unused.changes };
    const whole = new Set((await tx.all(sql.LIST_TREES)).map((row) => String(row['tree_id'])));
    return { ...counts, packs: rows.map(idOf), named: new Set(left.map(idOf)), whole };
  });
  for (const id of packs) remove(files, join(folder, packName(id)));
  const unnamed = files.readdir(folder).filter((name) => !named.has(name.replace(/\.pack$/, '')));
  // The names of files that were erased are not kept in the notes of their folder.
  const isLeft = (name: string): boolean => isHalfNote(name) || !whole.has(notedTree(files, join(cacheFolder, name)));
  let strays = 0;
  for (const path of [
    ...unnamed.map((name) => join(folder, name)),
    ...files
      .readdir(cacheFolder)
      .filter(isLeft)
      .map((name) => join(cacheFolder, name)),
  ])
    if (isOld(files, path, beforeMs) && remove(files, path)) strays += 1;
  return { trees, contents, packs: packs.length, strays };
}

/** Trees and contents that were added together. */
export interface Added {
  readonly trees: readonly string[];
  readonly contents: readonly string[];
}

/**
 * Takes back what was added and nobody came to need: trees that no checkpoint and contents that no version names, and
 * that were not captured or kept after `addedMs`, with the packs that only they needed. What others share stays.
 */
export async function forgetAdded(
  { store, files, folder }: Omit<CollectTools, 'beforeMs' | 'cacheFolder'>,
  added: Added,
  addedMs: number,
): Promise<void> {
  const gone = await store.write('workspace.forget', async (tx) => {
    const packs = new Set<string>();
    for (const treeId of added.trees) {
      const rows = await tx.all(sql.PACKS_OF_TREE, [treeId]);
      const { changes } = await tx.run(sql.FORGET_TREE, [treeId, addedMs]);
      if (changes === 1) for (const row of rows) packs.add(String(row['pack_id']));
    }
    for (const sha of added.contents)
      for (const row of await tx.all(sql.FORGET_CONTENT, [sha, addedMs])) packs.add(String(row['pack_id']));
    const dropped: string[] = [];
    for (const pack of packs) if ((await tx.run(sql.FORGET_PACK, [pack])).changes === 1) dropped.push(pack);
    return dropped;
  });
  for (const pack of gone) remove(files, join(folder, packName(pack)));
}

function isOld(files: FileSystem, path: string, beforeMs: number): boolean {
  try {
    return files.lstat(path).changedMs < beforeMs;
  } catch {
    return false;
  }
}

function remove(files: FileSystem, path: string): boolean {
  try {
    files.unlink(path);
    return true;
  } catch {
    // It is gone already, or stays for the next collection.
    return false;
  }
}
