import { fail, type FileFacts, type FileSystem, isBlank, type JsonObject, trimText } from '../../core/index.ts';
import { FILESYSTEM_SCOPES, type FilesystemScope } from '../model.ts';
import { factsAt, realPath } from './real-path.ts';
import { hasSensitiveName, sensitive } from './sensitive.ts';

/** Which object stands at a path. Device and inode may pass 2^53. */
export interface FilesystemIdentity {
  readonly device: bigint;
  readonly inode: bigint;
  readonly kind: 'file' | 'directory';
}

/** A folder, sealed: its real path and the object that stood there. Everything below it is named relative to it. */
export interface FilesystemRoot {
  readonly path: string;
  readonly scope: FilesystemScope;
  readonly owner: string;
  readonly identity: FilesystemIdentity;
}

export interface SealOptions {
  /** `workspace` unless told. */
  readonly scope?: FilesystemScope;
  /** Empty unless told; needed for scope `private`. */
  readonly owner?: string;
}

export function sealRoot(files: FileSystem, path: string, options: SealOptions): FilesystemRoot {
  const { scope = 'workspace', owner = '' } = options;
  if (!FILESYSTEM_SCOPES.includes(scope))
    throw fail('RESOURCE_INVALID', 'The scope of a root is not one of its words.');
  if (scope === 'private' && isBlank(owner)) throw fail('RESOURCE_INVALID', 'A private root names its owner.');
  const text = requirePathText(path);
  if (!text.startsWith('/')) throw fail('RESOURCE_INVALID', 'A root is named by an absolute path.');
  const real = realPath(files, text);
  if (real === '/') throw fail('RESOURCE_INVALID', 'The top of the file system cannot be a root.');
  if (hasSensitiveName(real)) throw sensitive('it names credentials or a start file');
  const identity = identityOf(factsAt(files, real));
  if (identity?.kind !== 'directory') throw fail('RESOURCE_NOT_FOUND', 'The root is not a folder that is there.');
  return Object.freeze({ path: real, scope, owner, identity });
}

/** Throws `RESOURCE_CHANGED` unless the same folder still stands at the root's path (PATH-1). */
export function requireUnchangedRoot(files: FileSystem, root: FilesystemRoot): void {
  const now = identityOf(factsAt(files, root.path));
  if (!now || !sameIdentity(now, root.identity) || realPath(files, root.path) !== root.path)
    throw fail('RESOURCE_CHANGED', 'Another object stands where the root was sealed.');
}

/** Undefined when nothing is there. Throws for what is neither a regular file nor a folder. */
export function identityOf(facts: FileFacts | undefined): FilesystemIdentity | undefined {
  if (!facts) return undefined;
  if (facts.kind === 'symlink')
    throw fail('RESOURCE_CHANGED', 'A link appeared on the way while the path was resolved.');
  if (facts.kind === 'other')
    throw fail('RESOURCE_NOT_FOUND', 'The path names something that is neither a regular file nor a folder.');
  const [device = '', inode = ''] = facts.identity.split(':');
  return { device: BigInt(device), inode: BigInt(inode), kind: facts.kind === 'file' ? 'file' : 'directory' };
}

export function sameIdentity(a: FilesystemIdentity, b: FilesystemIdentity): boolean {
  return a.device === b.device && a.inode === b.inode && a.kind === b.kind;
}

export function identityDocument(identity: FilesystemIdentity): JsonObject {
  return { device: identity.device, inode: identity.inode, kind: identity.kind };
}

/** The text of a path without the blanks around it. Empty, NUL, line breaks and half characters are refused. */
export function requirePathText(value: unknown): string {
  if (typeof value !== 'string') throw fail('RESOURCE_INVALID', 'A path is a text.');
  const text = trimText(value);
  if (text === '') throw fail('RESOURCE_INVALID', 'The path is empty.');
  if (/[\0\r\n]/.test(text) || !text.isWellFormed())
    throw fail('RESOURCE_INVALID', 'The path holds NUL, a line break or half a character.');
  if (Buffer.byteLength(text) > 4096) throw fail('RESOURCE_INVALID', 'The path is longer than 4096 bytes.');
  return text;
}
