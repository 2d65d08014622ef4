import { dirname, join, resolve } from 'node:path';
import { type FileFacts, type FileSystem, fail, nodeFileSystem, syncFolder, wrapFileError } from '../core/index.ts';

/** Rights of the data folder and of the files in it: its owner's and nobody else's. */
export const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;
const OTHERS_WRITE = 0o022;
const OTHERS_ANY = 0o077;

/** What lies where in the data folder; `docs/data-folder.md` is the same list for people. */
export const DATA_FILES = {
  database: 'holdfast.db',
  workspaces: 'workspace-cas',
  imports: 'session-imports',
  staging: 'package-staging',
} as const;

/** SQLite puts these beside its database while it is open, or after a crash. */
export const DATABASE_COMPANIONS = ['-wal', '-shm'] as const;

/** How a folder or file stands to what it must be; `missing` is one that is not there yet. */
export type Standing = 'good' | 'missing' | 'wrong_kind' | 'other_owner' | 'others_may_write' | 'others_may_read';

export interface DataFolder {
  /** The absolute path. Never shown to anybody but the user who named it. */
  readonly path: string;
  readonly database: string;
}

export function locateDataFolder(dataDir: string): DataFolder {
  const path = resolve(dataDir);
  return { path, database: join(path, DATA_FILES.database) };
}

/** Looks at an entry without changing it. A link is never followed: it may lead to what is not ours. */
export function standingOf(files: FileSystem, path: string, kind: FileFacts['kind']): Standing {
  const facts = factsAt(files, path);
  if (facts === undefined) return 'missing';
  if (facts.kind !== kind) return 'wrong_kind';
  // For root too: what it made here, the folder's owner could not open.
  const user = process.getuid?.() ?? facts.uid;
  if (facts.uid !== user) return 'other_owner';
  if ((facts.mode & OTHERS_WRITE) !== 0) return 'others_may_write';
  return (facts.mode & OTHERS_ANY) === 0 ? 'good' : 'others_may_read';
}

function factsAt(files: FileSystem, path: string): FileFacts | undefined {
  try {
    return files.lstat(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw wrapFileError(error, 'the data folder');
  }
}

const REFUSALS = {
  wrong_kind: 'is not what it must be: a plain folder, with plain files in it',
  other_owner: 'belongs to another user',
  others_may_write: 'can be written by other users',
} as const;

const ANOTHER_FOLDER = 'Look what lies at that name, or name another data folder with `--data-dir`.';

/** Refuses an entry that others could have written (`DATA_FOLDER_UNSAFE`); narrows one that others can only read. */
function secure(files: FileSystem, path: string, kind: FileFacts['kind']): Standing {
  const standing = standingOf(files, path, kind);
  const what = kind === 'folder' ? 'The data folder' : 'A file of the data folder';
  switch (standing) {
    case 'good':
    case 'missing':
      return standing;
    case 'others_may_read':
      files.chmod(path, kind === 'folder' ? FOLDER_MODE : FILE_MODE);
      return 'good';
    case 'wrong_kind':
    case 'other_owner':
    case 'others_may_write':
      throw fail('DATA_FOLDER_UNSAFE', `${what} ${REFUSALS[standing]}.`, {
        details: { reason: standing },
        ...(standing === 'wrong_kind' && kind === 'folder' ? { resolve: ANOTHER_FOLDER } : {}),
      });
  }
}

function makeFolder(files: FileSystem, path: string): void {
  try {
    files.mkdir(path, FOLDER_MODE);
    syncFolder(files, dirname(path));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw fail('DATA_FOLDER_MISSING', 'The folder that the data folder should be made in does not exist.', {
        cause: error,
        resolve: 'Make that folder first, or name another data folder with `--data-dir`.',
      });
    throw wrapFileError(error, 'the data folder');
  }
}

/** An empty database file with the rights it must have: SQLite gives its companions the same. */
function makeDatabaseFile(files: FileSystem, folder: DataFolder): void {
  try {
    files.close(files.open(folder.database, 'wx', FILE_MODE));
    syncFolder(files, folder.path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    throw wrapFileError(error, 'the database file');
  }
}

export interface PrepareOptions {
  readonly dataDir: string;
  /** Make what is missing (the last folder of the path, the database file); else missing is `DATA_FOLDER_MISSING`. */
  readonly create: boolean;
  readonly files?: FileSystem;
}

/**
 * Makes sure of the folder itself: of this user, for nobody else (0700), not reached by a link. Its database is not
 * looked at. `DATA_FOLDER_UNSAFE` when others could have changed what lies there; `DATA_FOLDER_MISSING`.
 */
export function prepareFolder({ dataDir, create, files = nodeFileSystem }: PrepareOptions): DataFolder {
  const folder = locateDataFolder(dataDir);
  if (create && standingOf(files, folder.path, 'folder') === 'missing') makeFolder(files, folder.path);
  if (secure(files, folder.path, 'folder') === 'missing')
    throw fail('DATA_FOLDER_MISSING', 'The data folder does not exist.');
  return folder;
}

/**
 * Makes sure of the data folder before anything in it is opened: the folder as `prepareFolder` does, the database and
 * what SQLite puts beside it alike (0600). `DATA_FOLDER_MISSING` also when the database is not there and may not be made.
 */
export function prepareDataFolder(options: PrepareOptions): DataFolder {
  const { create, files = nodeFileSystem } = options;
  const folder = prepareFolder(options);
  if (create) makeDatabaseFile(files, folder);
  for (const suffix of ['', ...DATABASE_COMPANIONS]) {
    const standing = secure(files, `${folder.database}${suffix}`, 'file');
    if (suffix === '' && standing === 'missing')
      throw fail('DATA_FOLDER_MISSING', 'The data folder holds no database.');
  }
  return folder;
}
