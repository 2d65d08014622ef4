import { isSecretPath } from '../../archive/index.ts';
import { fail, type FileFacts, type FileSystem, LIMITS, requireWithin } from '../../core/index.ts';
import type { SkippedName, SkipReason } from './model.ts';

/** A file to be captured, as `lstat` saw it. */
export interface FoundFile {
  readonly path: string;
  readonly at: string;
  readonly facts: FileFacts;
}

/** Version control, the house's own folder, and that of the program whose packages are read, are no part of a workspace. */
const NEVER: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', '.holdfast', '.openai4s']);

export interface ScanOptions {
  /** Whether to leave a path out, files and folders alike. */
  readonly exclude?: (path: string) => boolean;
  /** Folders, by their identity, that are part of no workspace, wherever they lie and whatever they are called. */
  readonly apart?: ReadonlySet<string>;
}

/** A folder that is being walked. */
interface Level {
  readonly path: string;
  readonly at: string;
  readonly identity: string;
  readonly names: readonly string[];
  next: number;
}

/**
 * Walks a workspace without following any link. Yields regular files in the order of their names; what is left out is
 * told by `skip`. A folder that is not the same one before and after its walk is an error: something put another in its
 * place meanwhile. WORKSPACE_NOT_A_FOLDER, WORKSPACE_CHANGED, LIMIT_REACHED; INVALID_VALUE for a folder that is apart.
 */
export function* scanWorkspace(
  files: FileSystem,
  directory: string,
  options: ScanOptions,
  skip: (name: SkippedName) => void,
): Generator<FoundFile> {
  let found = 0;
  const levels: Level[] = [];
  const enter = (path: string, at: string, facts: FileFacts): void => {
    requireWithin('workspaceDepth', levels.length);
    const names = readNames(files, at);
    if (names) levels.push({ path, at, identity: facts.identity, names, next: 0 });
    else if (path === '') throw notAFolder();
    else skip({ path, reason: 'unreadable' });
  };
  const root = folderFacts(files, directory);
  if (!root) throw notAFolder();
  if (options.apart?.has(root.identity) === true)
    throw fail('INVALID_VALUE', 'The data folder cannot be the workspace of a session.');
  enter('', directory, root);
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const name = level.names[level.next];
    if (name === undefined) {
      requireSame(files, level);
      levels.pop();
      continue;
    }
    level.next += 1;
    const isOne = level.names[level.next] !== name;
    // Names that are no UTF-8 are read as the same text: nobody can say which file it names.
    while (level.names[level.next] === name) level.next += 1;
    const path = level.path === '' ? name : `${level.path}/${name}`;
    const item = isOne ? look(files, name, path, `${level.at}/${name}`, options) : 'unreadable';
    if (typeof item === 'string') skip({ path, reason: item });
    else if (item.facts.kind === 'folder') enter(path, item.at, item.facts);
    else {
      found += 1;
      requireWithin('workspaceFiles', found);
      yield item;
    }
  }
}

const notAFolder = (): Error => fail('WORKSPACE_NOT_A_FOLDER', 'The workspace is not a folder that can be read.');

function requireSame(files: FileSystem, { at, identity }: Level): void {
  if (folderFacts(files, at)?.identity !== identity)
    throw fail('WORKSPACE_CHANGED', 'A folder of the workspace was replaced while it was read.');
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

function look(files: FileSystem, name: string, path: string, at: string, options: ScanOptions): FoundFile | SkipReason {
  if (NEVER.has(name.toLowerCase()) || options.exclude?.(path) === true) return 'excluded';
  // The folders above were asked about when they were come to, and are not walked where they are secret.
  if (isSecretPath(name)) return 'secret_or_excluded';
  try {
    const facts = files.lstat(at);
    if (facts.kind === 'folder') return options.apart?.has(facts.identity) === true ? 'excluded' : { path, at, facts };
    if (facts.kind !== 'file') return 'not_regular_file';
    return facts.size > LIMITS.workspaceFileBytes ? 'too_large' : { path, at, facts };
  } catch {
    return 'unreadable';
  }
}
