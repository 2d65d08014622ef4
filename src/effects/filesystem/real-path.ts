import { fail, type FileFacts, type FileSystem, HoldfastError, requireWithin } from '../../core/index.ts';

/** What stands at a path itself, links not followed; undefined when nothing does. */
export function factsAt(files: FileSystem, path: string): FileFacts | undefined {
  try {
    return files.lstat(path);
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw refusedBySystem(cause);
  }
}

/**
 * The absolute path after every symbolic link was followed, name by name as the kernel does it (`link/..` is the parent
 * of where the link points). Names that do not exist yet are kept as they are. Links that hold bytes which are no text
 * are refused, since their real target cannot be told.
 */
export function realPath(files: FileSystem, absolute: string): string {
  let links = 0;
  let current = '';
  const waiting = split(absolute).reverse();
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (part === '..') {
      current = parentOf(current);
      continue;
    }
    const next = `${current}/${part}`;
    if (factsAt(files, next)?.kind !== 'symlink') {
      current = next;
      continue;
    }
    links += 1;
    requireWithin('effectPathLinks', links);
    const target = linkTarget(files, next);
    waiting.push(...split(target).reverse());
    requireWithin('effectPathParts', waiting.length);
    if (target.startsWith('/')) current = '';
  }
  return current === '' ? '/' : current;
}

/** Whether a path is the folder or lies below it, part by part. Both are real paths. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function partsOf(path: string): string[] {
  return split(path);
}

/** An error of the operating system, without the path that its message carries. */
export function refusedBySystem(cause: unknown): unknown {
  if (cause instanceof HoldfastError) return cause;
  return fail('RESOURCE_INVALID', 'The path cannot be looked at.', { cause });
}

function linkTarget(files: FileSystem, link: string): string {
  const target = attempt(() => files.readlink(link));
  if (target === '' || target.includes('\uFFFD'))
    throw fail('RESOURCE_INVALID', 'A symbolic link on the way cannot be read as text.');
  return target;
}

function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (cause) {
    throw refusedBySystem(cause);
  }
}

function split(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  requireWithin('effectPathParts', parts.length);
  return parts;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
