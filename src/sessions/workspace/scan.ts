import { join } from 'node:path';
import { isSecretPath } from '../../archive/index.ts';
import { fail, type FileFacts, type FileSystem, LIMITS, requireWithin } from '../../core/index.ts';
import type { SkippedName, SkipReason } from './model.ts';

/** A file to be captured, as `lstat` saw it. */
export interface FoundFile {
  readonly path: string;
  readonly at: string;
  readonly facts: FileFacts;
}

/** Version control and the house's own folder are never part of a workspace. */
const NEVER: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', '.holdfast']);

export interface ScanOptions {
  /** Whether to leave a path out, files and folders alike. */
  readonly exclude?: (path: string) => boolean;
}

/**
 * Walks a workspace without following any link. Yields regular files in the order of their names; what is left out is
 * told by `skip`. A folder that is not the same one before and after its walk is an error: something put another in its
 * place meanwhile. WORKSPACE_NOT_A_FOLDER, WORKSPACE_CHANGED, LIMIT_REACHED.
 */
export function* scanWorkspace(
  files: FileSystem,
  directory: string,
  options: ScanOptions,
  skip: (name: SkippedName) => void,
): Generator<FoundFile> {
  let found = 0;
  const walk = function* (folder: string, at: string, depth: number): Generator<FoundFile> {
    requireWithin('workspaceDepth', depth);
    const before = folderFacts(files, at);
    if (!before) {
      if (folder === '') throw fail('WORKSPACE_NOT_A_FOLDER', 'The workspace is not a folder that can be read.');
      return skip({ path: folder, reason: 'unreadable' });
    }
    const names = readNames(files, at);
    if (!names) return skip({ path: folder === '' ? '.' : folder, reason: 'unreadable' });
    for (const name of names) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const item = look(files, path, join(at, name), options);
      if (typeof item === 'string') skip({ path, reason: item });
      else if (item.facts.kind === 'folder') yield* walk(path, item.at, depth + 1);
      else {
        found += 1;
        requireWithin('workspaceFiles', found);
        yield item;
      }
    }
    if (folderFacts(files, at)?.identity !== before.identity)
      throw fail('WORKSPACE_CHANGED', 'A folder of the workspace was replaced while it was read.');
  };
  yield* walk('', directory, 0);
}

function folderFacts(files: FileSystem, at: string): FileFacts | undefined {
  try {
    const facts = files.lstat(at);
    return facts.kind === 'folder' ? facts : undefined;
  } catch {
    return undefined;
  }
}

function readNames(files: FileSystem, at: string): string[] | undefined {
  try {
    return files.readdir(at);
  } catch {
    return undefined;
  }
}

function look(files: FileSystem, path: string, at: string, options: ScanOptions): FoundFile | SkipReason {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (NEVER.has(name.toLowerCase()) || options.exclude?.(path) === true) return 'excluded';
  if (isSecretPath(path)) return 'secret_or_excluded';
  try {
    const facts = files.lstat(at);
    if (facts.kind === 'folder') return { path, at, facts };
    if (facts.kind !== 'file') return 'not_regular_file';
    return facts.size > LIMITS.workspaceFileBytes ? 'too_large' : { path, at, facts };
  } catch {
    return 'unreadable';
  }
}
