import {
  canonicalJson,
  compareCodePoints,
  fail,
  isJsonObject,
  isSha256Hex,
  JSON_PROFILES,
  type JsonValue,
  readCanonicalJson,
  requireWithin,
  sha256Hex,
} from '../../core/index.ts';
import type { SkippedName, TreeChange, TreeEntry, WorkspaceTree } from './model.ts';

/**
 * The canonical document of a tree; its SHA-256 is the tree's id. It is what `canonicalJson` makes of version, entries
 * and skipped, put together here since each of very many entries has the same keys in the same order.
 */
export function treeDocument({ entries, skipped }: WorkspaceTree): string {
  let text = '{"entries":[';
  let comma = '';
  for (const { path, blob, size, mode } of entries) {
    text += `${comma}{"blob":${canonicalJson(blob)},"mode":${canonicalJson(mode)}`;
    text += `,"path":${canonicalJson(path)},"size":${canonicalJson(size)}}`;
    comma = ',';
  }
  const left = skipped.map(({ path, reason }) => ({ path, reason }));
  return `${text}],"skipped":${canonicalJson(left)},"version":1}`;
}

export const treeIdOf = (tree: WorkspaceTree): string => sha256Hex(treeDocument(tree));

/** The tree with its lists in the order of their paths. */
export function sortedTree(entries: readonly TreeEntry[], skipped: readonly SkippedName[]): WorkspaceTree {
  const byPath = (a: { path: string }, b: { path: string }): number => compareCodePoints(a.path, b.path);
  return { entries: entries.toSorted(byPath), skipped: skipped.toSorted(byPath) };
}

function damaged(what: string): Error {
  return fail('WORKSPACE_TREE_CORRUPT', `A stored workspace tree is damaged: ${what}.`);
}

/** Reads a stored tree document and proves that it has the id, the order and the shape it must have. */
export function readTreeDocument(treeId: string, text: string): WorkspaceTree {
  if (sha256Hex(text) !== treeId) throw damaged('its digest');
  const value = readCanonicalJson(text, JSON_PROFILES.packages);
  if (!isJsonObject(value) || value['version'] !== 1) throw damaged('its version');
  const { entries, skipped } = value;
  if (!Array.isArray(entries) || !Array.isArray(skipped)) throw damaged('its lists');
  requireWithin('workspaceFiles', entries.length);
  const tree: WorkspaceTree = { entries: entries.map(entryOf), skipped: skipped.map(skippedOf) };
  requireOrder(tree.entries, 1);
  // Earlier builds told one name of several that are no UTF-8 more than once.
  requireOrder(tree.skipped, 0);
  return tree;
}

function requireOrder(list: readonly { readonly path: string }[], least: 0 | 1): void {
  for (let i = 1; i < list.length; i += 1)
    if (compareCodePoints(list[i]?.path ?? '', list[i - 1]?.path ?? '') < least)
      throw damaged('the order of its paths');
}

/** Relative, without an empty, `.` or `..` part. */
export function isTreePath(path: unknown): path is string {
  if (typeof path !== 'string' || path === '' || path.startsWith('/') || path.includes('\0')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function entryOf(value: JsonValue): TreeEntry {
  if (!isJsonObject(value)) throw damaged('an entry');
  const { path, blob, size, mode } = value;
  if (!isTreePath(path) || !isSha256Hex(blob) || !isCount(size) || !isCount(mode) || mode > 0o777)
    throw damaged('an entry');
  return { path, blob, size, mode };
}

function skippedOf(value: JsonValue): SkippedName {
  if (!isJsonObject(value)) throw damaged('a skipped name');
  const { path, reason } = value;
  if (typeof path !== 'string' || typeof reason !== 'string') throw damaged('a skipped name');
  return { path, reason };
}

/**
 * What changes from one tree to another, by path. Both are sorted, so one walk over both serves. Of what `to` left out
 * nobody knows what it was: that it is not in `to` does not say that it was not there, so it is not removed.
 */
export function diffTrees(from: WorkspaceTree, to: WorkspaceTree): TreeChange[] {
  const changes: TreeChange[] = [];
  const leftOut = new Set(to.skipped.map(({ path }) => path));
  let a = 0;
  let b = 0;
  while (a < from.entries.length || b < to.entries.length) {
    const old = from.entries[a];
    const now = to.entries[b];
    const order = old === undefined ? 1 : now === undefined ? -1 : compareCodePoints(old.path, now.path);
    const change = order < 0 ? 'removed' : order > 0 ? 'added' : changeOf(old, now);
    const isKnown = change !== 'removed' || !isBelow(leftOut, old?.path ?? '');
    if (change !== null && isKnown) changes.push({ path: (order > 0 ? now?.path : old?.path) ?? '', change });
    if (order <= 0) a += 1;
    if (order >= 0) b += 1;
  }
  return changes;
}

/** Whether a path is one of these, or lies in one of them. */
function isBelow(paths: ReadonlySet<string>, path: string): boolean {
  if (paths.size === 0) return false;
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
    if (paths.has(path.slice(0, end))) return true;
  return paths.has('.');
}

function changeOf(old: TreeEntry | undefined, now: TreeEntry | undefined): TreeChange['change'] | null {
  if (old?.blob !== now?.blob) return 'changed';
  return old?.mode === now?.mode ? null : 'mode';
}

/** How a restore names what it has not finished writing. */
export const TEMPORARY_PREFIX = '.holdfast-restore-';

const isTemporary = (path: string): boolean => path.slice(path.lastIndexOf('/') + 1).startsWith(TEMPORARY_PREFIX);

/**
 * The way from one tree to another, walked on from where a workspace stands between them: what is as in either becomes
 * what it is in `to`. What is as in neither is somebody's own work: it stays as it is, and its paths are told.
 */
export function onTheWay(
  current: WorkspaceTree,
  { from, to }: { readonly from: WorkspaceTree; readonly to: WorkspaceTree },
): { readonly tree: WorkspaceTree; readonly others: readonly string[] } {
  const byPath = ({ entries }: WorkspaceTree) => new Map(entries.map((entry) => [entry.path, entry]));
  const [now, start, end] = [byPath(current), byPath(from), byPath(to)];
  const skipped = new Set(current.skipped.map(({ path }) => path));
  const entries: TreeEntry[] = [];
  const others: string[] = [];
  for (const path of new Set([...now.keys(), ...end.keys()])) {
    const [is, was, will] = [now.get(path), start.get(path), end.get(path)];
    const isOurs = !skipped.has(path) && (changeOf(is, was) === null || changeOf(is, will) === null);
    const entry = isOurs ? will : is;
    if (!isOurs && is !== undefined && isTemporary(path)) continue;
    if (entry) entries.push(entry);
    if (!isOurs) others.push(path);
  }
  return { tree: sortedTree(entries, to.skipped), others };
}
