import { LIMITS, trimText } from '../../core/index.ts';
import { foldName } from '../member-names.ts';

const SECRET_PARTS: ReadonlySet<string> = new Set([
  '.env',
  'credentials',
  'credentials.json',
  'service-account.json',
  'service_account.json',
]);
const SECRET_ENDINGS = ['.key', '.pem', '.p12', '.pfx'] as const;

/** Whether a path names a file that usually holds secrets: such files never travel. */
export function isSecretPath(path: string): boolean {
  const parts = path.toLowerCase().split('/');
  const last = parts.at(-1) ?? '';
  return (
    parts.some((part) => SECRET_PARTS.has(part) || part.startsWith('.env.')) ||
    SECRET_ENDINGS.some((ending) => last.endsWith(ending))
  );
}

const FORBIDDEN: ReadonlySet<string> = new Set('<>:"/\\|?*');

/** Separators, wildcards and control characters. */
const hasForbidden = (name: string): boolean => name.split('').some((unit) => unit < ' ' || FORBIDDEN.has(unit));

/**
 * Whether a text is a plain file name that every file system takes, and none of those that act by themselves: the package
 * contract's rule for artifacts, which are put into a workspace.
 */
export function isPlainFileName(name: string): boolean {
  const bytes = Buffer.byteLength(name);
  const fits = bytes > 0 && bytes <= LIMITS.packageFileNameBytes;
  const isOrdinary = name !== '.' && name !== '..' && !isActingName(name);
  return fits && trimText(name) === name && isOrdinary && !hasForbidden(name);
}

/**
 * Whether a path stays inside a workspace: relative, no empty, `.` or `..` part, no NUL, no backslash. Workspace files
 * are other people's: a name may be odd otherwise.
 */
export function isInsideWorkspace(path: string): boolean {
  if (path === '' || path.startsWith('/') || /[\0\\]/.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Folders that act by themselves, version control's and those of runtimes: what a stranger puts there could run. */
const ACTING: ReadonlySet<string> = new Set(['.git', 'git~1', '.hg', '.svn', '.holdfast', '.openai4s']);

/** Whether some file system takes a name for one of those: it may fold names, and drop what is not seen or ends them. */
function isActingName(name: string): boolean {
  const seen = foldName(name.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''));
  let end = seen.length;
  while (seen[end - 1] === '.' || seen[end - 1] === ' ') end -= 1;
  return ACTING.has(seen.slice(0, end));
}

/**
 * Why files with these paths cannot stand side by side in a workspace, or undefined: no name is longer than file systems
 * take, none is in a folder that acts, and no file stands where another needs a folder.
 */
export function placesFault(paths: readonly string[]): string | undefined {
  const places: string[] = [];
  for (const path of paths) {
    const parts = path.split('/');
    const tooLong = parts.some((part) => Buffer.byteLength(part) > LIMITS.archiveNamePartBytes);
    if (tooLong || Buffer.byteLength(path) > LIMITS.archiveNameBytes)
      return 'a workspace name is longer than file systems take';
    if (parts.some(isActingName)) return 'a workspace file lies in a folder of version control or of a runtime';
    // No path holds a NUL, the lowest of all: what lies in a folder follows right after its name.
    places.push(parts.map(foldName).join('\0'));
  }
  places.sort();
  const isBoth = places.some((place, at) => places[at + 1]?.startsWith(`${place}\0`));
  return isBoth ? 'a workspace name is used both as a file and as a folder' : undefined;
}
