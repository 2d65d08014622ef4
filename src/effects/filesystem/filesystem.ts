import { homedir } from 'node:os';
import { digestJson, fail, type FileSystem, type JsonObject, nodeFileSystem } from '../../core/index.ts';
import { exactResource, type Resource } from '../resources.ts';
import { readBackFile, type FileReading } from './read-back.ts';
import { factsAt, isWithin, parentOf, realPath } from './real-path.ts';
import {
  type FilesystemIdentity,
  type FilesystemRoot,
  identityDocument,
  identityOf,
  requirePathText,
  requireUnchangedRoot,
  type SealOptions,
  sealRoot,
} from './roots.ts';
import { type ControlPlaces, refuseSensitive } from './sensitive.ts';

export interface FilesystemOptions extends ControlPlaces {
  readonly files?: FileSystem;
  /** What a leading `~` stands for. */
  readonly home?: string;
}

/** The exact files and folders of this host, confined to sealed roots, with what the runtime uses kept closed. */
export interface Filesystem {
  /** Throws `RESOURCE_INVALID`, `RESOURCE_SENSITIVE` or `RESOURCE_NOT_FOUND`. */
  seal(path: string, options?: SealOptions): FilesystemRoot;
  /**
   * The exact resource that a text names below a root. Links are followed first, then the real path is judged.
   * Throws `RESOURCE_INVALID`, `RESOURCE_OUTSIDE_ROOT`, `RESOURCE_SENSITIVE`, `RESOURCE_NOT_FOUND` or
   * `RESOURCE_CHANGED`.
   */
  resolve(root: FilesystemRoot, path: string, options?: { readonly allowMissing?: boolean }): Resource;
  /** Reads what stands at a path now, for an observation by `filesystem_read`; as `resolve` with a missing target. */
  readBack(root: FilesystemRoot, path: string): FileReading;
}

interface Ancestor {
  readonly path: string;
  readonly identity: FilesystemIdentity;
}

export function openFilesystem(options: FilesystemOptions = {}): Filesystem {
  const { files = nodeFileSystem, home = homedir(), ...places } = options;
  const resolve: Filesystem['resolve'] = (root, path, how = {}) => {
    requireUnchangedRoot(files, root);
    const real = realPath(files, absolutePath(root, requirePathText(path), home));
    if (!isWithin(real, root.path)) throw fail('RESOURCE_OUTSIDE_ROOT', 'The path lies outside its root.');
    refuseSensitive(files, real, places);
    return exactFile(files, root, real, how.allowMissing === true);
  };
  return {
    seal: (path, how = {}) => sealRoot(files, path, how),
    resolve,
    readBack: (root, path) => readBackFile(files, resolve(root, path, { allowMissing: true })),
  };
}

/** PATH-2: relative to the root, never to the folder that the process happens to work in. */
function absolutePath(root: FilesystemRoot, text: string, home: string): string {
  if (root.scope === 'workspace' && (text === '/workspace' || text.startsWith('/workspace/')))
    return root.path + text.slice('/workspace'.length);
  if (text === '~' || text.startsWith('~/')) return home + text.slice(1);
  return text.startsWith('/') ? text : `${root.path}/${text}`;
}

/** PATH-9: every existing folder from the root to the parent, and the target itself. */
function exactFile(files: FileSystem, root: FilesystemRoot, path: string, allowMissing: boolean): Resource {
  const ancestors = existingFolders(files, root, path);
  const identity = identityOf(factsAt(files, path));
  if (!identity && !allowMissing) throw fail('RESOURCE_NOT_FOUND', 'The path names nothing that is there.');
  const chain = digestJson(ancestors.map((one) => [one.path, one.identity.device, one.identity.inode]));
  const incarnation = identity ? `${identity.kind}:${identity.device}:${identity.inode}:${chain}` : `absent:${chain}`;
  const { device, inode } = root.identity;
  const parts = [root.scope, root.owner, root.path, String(device), String(inode), path];
  return exactResource('filesystem', parts, incarnation, documentOf(root, path, identity, ancestors));
}

function documentOf(
  root: FilesystemRoot,
  path: string,
  identity: FilesystemIdentity | undefined,
  ancestors: readonly Ancestor[],
): JsonObject {
  return {
    root: { path: root.path, scope: root.scope, identity: identityDocument(root.identity), owner: root.owner },
    path,
    identity: identity ? identityDocument(identity) : null,
    ancestors: ancestors.map((one) => ({ path: one.path, identity: identityDocument(one.identity) })),
  };
}

function existingFolders(files: FileSystem, root: FilesystemRoot, path: string): Ancestor[] {
  const found: Ancestor[] = [];
  if (path === root.path) return [{ path, identity: root.identity }];
  for (let folder = parentOf(path); isWithin(folder, root.path); folder = parentOf(folder)) {
    const identity = identityOf(factsAt(files, folder));
    if (identity?.kind === 'file') throw fail('RESOURCE_NOT_FOUND', 'A part of the path on the way is not a folder.');
    if (identity) found.unshift({ path: folder, identity });
  }
  return found;
}
