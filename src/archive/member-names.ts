import { type ErrorCode, fail, type HoldfastError } from '../core/index.ts';
import type { ArchiveLimits } from './limits.ts';
import { hasInvisible, printable } from './printable.ts';

const ASCII = /^\p{ASCII}*$/u;

/** The form in which two names are one on some file system: compatibility-normalised, then case-folded. */
export function foldName(name: string): string {
  if (ASCII.test(name)) return name.toLowerCase();
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

interface NameRule {
  readonly code: ErrorCode;
  readonly says: string;
  readonly broken: (name: string) => boolean;
}

const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com\d|lpt\d)\s*(?:\..*)?$/;

const parts = (name: string): string[] => name.split('/');
const isDevicePart = (part: string): boolean => DEVICE.test(part.toLowerCase());

/** In this order: the first broken rule names the refusal. */
const NAME_RULES: readonly NameRule[] = [
  { code: 'ARCHIVE_NAME_PART', says: 'is empty', broken: (name) => name === '' },
  { code: 'ARCHIVE_NAME_NUL', says: 'holds a NUL', broken: (name) => name.includes('\0') },
  { code: 'ARCHIVE_NAME_BACKSLASH', says: 'holds a backslash', broken: (name) => name.includes('\\') },
  { code: 'ARCHIVE_NAME_ABSOLUTE', says: 'is absolute', broken: (name) => name.startsWith('/') },
  { code: 'ARCHIVE_NAME_DRIVE', says: 'begins with a drive letter', broken: (name) => /^[a-z]:/i.test(name) },
  { code: 'ARCHIVE_NAME_OUTSIDE', says: 'leads outside', broken: (name) => parts(name).includes('..') },
  { code: 'ARCHIVE_FOLDER', says: 'is a folder', broken: (name) => name.endsWith('/') },
  {
    code: 'ARCHIVE_NAME_PART',
    says: 'has an empty part or a part that is a dot',
    broken: (name) => parts(name).some((part) => part === '' || part === '.'),
  },
  {
    code: 'ARCHIVE_NAME_TRAILING',
    says: 'has a part that ends in a dot or ends or begins with a blank',
    broken: (name) => parts(name).some((part) => /[.\s]$|^\s/u.test(part)),
  },
  {
    code: 'ARCHIVE_NAME_CHARACTER',
    says: 'holds a character that a file name cannot have everywhere',
    broken: (name) => /[<>:"|?*]/.test(name) || hasInvisible(name),
  },
  {
    code: 'ARCHIVE_NAME_DEVICE',
    says: 'is a reserved device name',
    broken: (name) => parts(name).some(isDevicePart),
  },
];

/**
 * What is wrong with a member's name, or undefined. A name is judged as it is spelled and as compatibility
 * normalisation would spell it, since a file system may do the same (a full-width `．．／` is a way out too).
 */
export function nameFault(name: string, limits: ArchiveLimits): HoldfastError | undefined {
  const normal = name.normalize('NFKC');
  const rule = NAME_RULES.find((candidate) => candidate.broken(name) || candidate.broken(normal));
  if (rule) return fail(rule.code, `unsafe package path: '${printable(name)}' ${rule.says}.`);
  if (Buffer.byteLength(name) > limits.nameBytes)
    return fail('ARCHIVE_NAME_LENGTH', `unsafe package path: a name is longer than ${limits.nameBytes} bytes.`);
  if (parts(name).some((part) => Buffer.byteLength(part) > limits.namePartBytes))
    return fail('ARCHIVE_NAME_LENGTH', `unsafe package path: a part is longer than ${limits.namePartBytes} bytes.`);
  return undefined;
}

/** The names of one archive: each once, also on a file system that folds them, and none both file and folder. */
export class NameSet {
  readonly #files = new Map<string, string>();
  readonly #folders = new Map<string, string>();

  /** What is wrong with adding `name`, or undefined when it was added. */
  add(name: string): HoldfastError | undefined {
    const folded = foldName(name);
    const twin = this.#files.get(folded);
    if (twin === name) return fail('ARCHIVE_NAME_DUPLICATE', `duplicate package path: '${printable(name)}'.`);
    if (twin !== undefined) return collision(name, twin);
    if (this.#folders.has(folded)) return folderClash(name);
    this.#files.set(folded, name);
    return this.#addFolders(name);
  }

  #addFolders(name: string): HoldfastError | undefined {
    for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
      const folder = name.slice(0, at);
      const folded = foldName(folder);
      if (this.#files.has(folded)) return folderClash(folder);
      const twin = this.#folders.get(folded);
      if (twin !== undefined && twin !== folder) return collision(folder, twin);
      this.#folders.set(folded, folder);
    }
    return undefined;
  }
}

function collision(name: string, twin: string): HoldfastError {
  const text = `unsafe package path: '${printable(name)}' and '${printable(twin)}' are one name on some file systems.`;
  return fail('ARCHIVE_NAME_COLLISION', text);
}

function folderClash(name: string): HoldfastError {
  return fail('ARCHIVE_NAME_FOLDER', `unsafe package path: '${printable(name)}' is both a file and a folder.`);
}
