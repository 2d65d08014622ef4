import { dirname, join } from 'node:path';
import { fail, type FaultPoints, type FileSystem, type Ids, syncFolder, writeAll } from '../../core/index.ts';
import { factsOrNone, isUnchanged } from './capture.ts';
import type { Capture, SeenFile, TreeChange, TreeEntry, WorkspaceTree } from './model.ts';
import { sameFile } from './stat-cache.ts';
import { diffTrees, TEMPORARY_PREFIX } from './tree.ts';
import { Turns } from './turns.ts';

/** Each file that is written is synced, which takes longer than to read one. */
const FILES_A_TURN = 8;

export interface RestoreTools {
  readonly files: FileSystem;
  readonly ids: Ids;
  readonly faults: FaultPoints;
  /** Gives others their turn, again and again; what it throws ends the restore where it stands. */
  readonly atTurn: () => Promise<void>;
}

export interface Restored {
  readonly written: number;
  readonly removed: number;
  /** Files of which only the rights changed. */
  readonly rights: number;
}

/** Makes a workspace what `target` says; see `WorkspaceStore.restore`. */
export async function restoreWorkspace(
  tools: RestoreTools,
  directory: string,
  current: Capture,
  target: WorkspaceTree,
  contentOf: (sha: string) => AsyncIterable<Uint8Array>,
): Promise<Restored> {
  const changes = diffTrees(current.tree, target);
  const entries = new Map(target.entries.map((entry) => [entry.path, entry]));
  requireFree(current, target, changes);
  // Reading the tree may have taken long, and others may have come since.
  await tools.atTurn();
  requireUnchanged(tools.files, directory, current, changes);
  const touched = new Set<string>();
  const turns = new Turns(FILES_A_TURN);
  const counts = { written: 0, removed: 0, rights: 0 };
  for (const { path } of changes.filter((one) => one.change === 'removed').reverse()) {
    requireStill(tools.files, directory, path, current.seen(path));
    removeFile(tools.files, directory, path, touched);
    counts.removed += 1;
    if (turns.isDue(0)) await tools.atTurn();
  }
  for (const { path, change } of changes.filter((one) => one.change !== 'removed')) {
    const entry = entries.get(path);
    if (!entry) continue;
    const seen = change === 'added' ? undefined : current.seen(path);
    if (change === 'mode') {
      requireStill(tools.files, directory, path, seen);
      tools.files.chmod(join(directory, path), entry.mode);
      counts.rights += 1;
    } else {
      await writeEntry(tools, directory, entry, { content: contentOf(entry.blob), seen });
      touched.add(dirname(join(directory, path)));
      counts.written += 1;
    }
    if (turns.isDue(entry.size)) await tools.atTurn();
  }
  for (const folder of touched) syncQuietly(tools.files, folder);
  return counts;
}

/** What the capture left out may stand where the tree wants a file or a folder: then nothing is written at all. */
function requireFree(current: Capture, target: WorkspaceTree, changes: readonly TreeChange[]): void {
  const wanted = new Set<string>();
  for (const { path } of target.entries)
    for (let at = path; at !== '.' && !wanted.has(at); at = dirname(at)) wanted.add(at);
  const files = new Set(target.entries.map((entry) => entry.path));
  const rewritten = new Set(changes.map((change) => change.path));
  for (const { path } of current.tree.skipped) {
    const inside = parents(path).find((parent) => files.has(parent) && rewritten.has(parent));
    if (wanted.has(path) || inside !== undefined)
      throw fail('WORKSPACE_BLOCKED', 'Something that was not captured stands where a file must be restored.', {
        details: { path },
      });
  }
}

function parents(path: string): string[] {
  const list: string[] = [];
  for (let at = dirname(path); at !== '.'; at = dirname(at)) list.push(at);
  return list;
}

/** A file that was changed, made or removed since the capture is somebody's work: nothing is written over it. */
function requireUnchanged(
  files: FileSystem,
  directory: string,
  current: Capture,
  changes: readonly TreeChange[],
): void {
  const captured = new Set(current.tree.entries.map((entry) => entry.path));
  for (const { path, change } of changes) {
    const seen = change === 'added' ? undefined : current.seen(path);
    // Under what is a file now there is nothing yet; a folder in the place of a file is emptied first.
    const underFile = change === 'added' && parents(path).some((parent) => captured.has(parent));
    if (underFile || (change === 'added' && isFolder(files, join(directory, path)))) continue;
    if (!isUnchanged(files, join(directory, path), seen)) throw changedSince(path);
  }
}

function changedSince(path: string): Error {
  return fail('WORKSPACE_CHANGED', 'A file of the workspace was changed since it was captured.', { details: { path } });
}

/**
 * The same for one file just before it is replaced or removed: others may have written it while the files before it were.
 * When its inode changed says nothing here, since another name of it may have been replaced by this very restore.
 */
function requireStill(files: FileSystem, directory: string, path: string, seen: SeenFile | undefined): void {
  const now = factsOrNone(files, join(directory, path));
  const expected = seen && now ? { ...seen, changedMs: now.changedMs } : seen;
  if (expected === undefined ? now !== undefined : now === undefined || !sameFile(expected, now))
    throw changedSince(path);
}

function isFolder(files: FileSystem, at: string): boolean {
  try {
    return files.lstat(at).kind === 'folder';
  } catch {
    return false;
  }
}

/** Removes a file and the folders that became empty with it. */
function removeFile(files: FileSystem, directory: string, path: string, touched: Set<string>): void {
  files.unlink(join(directory, path));
  touched.add(dirname(join(directory, path)));
  for (const folder of parents(path)) {
    try {
      files.rmdir(join(directory, folder));
      touched.delete(join(directory, folder));
      touched.add(dirname(join(directory, folder)));
    } catch {
      return;
    }
  }
}

async function writeEntry(
  { files, ids, faults }: RestoreTools,
  directory: string,
  entry: TreeEntry,
  { content, seen }: { readonly content: AsyncIterable<Uint8Array>; readonly seen: SeenFile | undefined },
): Promise<void> {
  const path = join(directory, entry.path);
  for (const folder of parents(entry.path).reverse()) requireFolder(files, join(directory, folder));
  if (isFolder(files, path)) removeEmptyFolders(files, path);
  const temporary = join(dirname(path), `${TEMPORARY_PREFIX}${ids.next()}`);
  const fd = files.open(temporary, 'wx', 0o600);
  try {
    try {
      for await (const chunk of content) writeAll(files, fd, chunk);
      files.fsync(fd);
    } finally {
      files.close(fd);
    }
    files.chmod(temporary, entry.mode);
    void faults.reach('file-temp-written');
    requireStill(files, directory, entry.path, seen);
    files.rename(temporary, path);
  } catch (error) {
    removeQuietly(files, temporary);
    throw error;
  }
  void faults.reach('file-renamed');
}

/** A folder that stands where a file must be: it goes if nothing but empty folders is left in it. */
function removeEmptyFolders(files: FileSystem, at: string): void {
  for (const name of files.readdir(at)) {
    if (!isFolder(files, join(at, name)))
      throw fail('WORKSPACE_BLOCKED', 'A folder with something in it stands where a file must be restored.');
    removeEmptyFolders(files, join(at, name));
  }
  files.rmdir(at);
}

/** Makes a folder, or takes the one that is there; a link in its place is never gone through. */
function requireFolder(files: FileSystem, at: string): void {
  try {
    files.mkdir(at, 0o777);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
    if (!isFolder(files, at)) throw fail('WORKSPACE_BLOCKED', 'Something that is no folder stands where one must be.');
  }
}

function removeQuietly(files: FileSystem, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // The first error is the one to tell.
  }
}

function syncQuietly(files: FileSystem, folder: string): void {
  try {
    syncFolder(files, folder);
  } catch {
    // A folder that is gone has nothing to sync.
  }
}
