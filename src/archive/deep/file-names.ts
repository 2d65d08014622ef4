import { LIMITS, trimText } from '../../core/index.ts';

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

/** Whether a text is a plain file name that every file system takes: the package contract's rule for artifacts. */
export function isPlainFileName(name: string): boolean {
  const bytes = Buffer.byteLength(name);
  const fits = bytes > 0 && bytes <= LIMITS.packageFileNameBytes;
  return fits && trimText(name) === name && name !== '.' && name !== '..' && !hasForbidden(name);
}

/**
 * Whether a path stays inside a workspace: relative, no empty, `.` or `..` part, no NUL, no backslash. Workspace files
 * are other people's: a name may be odd otherwise.
 */
export function isInsideWorkspace(path: string): boolean {
  if (path === '' || path.startsWith('/') || /[\0\\]/.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
