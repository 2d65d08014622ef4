import { join } from 'node:path';
import { fail, type FileSystem, type Ids, KernelLock, makeFolder, wrapFileError } from '../core/index.ts';
import { factsAt, removeFolder, unlinkIfThere } from './import/files.ts';

/** A name in the staging folder for one package, a file or a folder, this process's own until it is closed. */
export interface StagingPlace {
  readonly path: string;
  /** Removes what was put there. Never fails: what cannot be removed now goes with the next sweep. */
  close(): void;
}

interface Staging {
  readonly files: FileSystem;
  readonly ids: Ids;
  readonly stagingFolder: string;
}

const LOCK = '.lock';
/** A place as its lock names it; SQLite puts a journal beside a lock that is held. */
const LOCKED = /^([0-9a-f]{32})\.lock(?:-journal)?$/;

/**
 * Takes a name that nobody uses. Beside it stands a lock that the kernel holds for this process: it ends with the
 * process, however that one dies, and only then may others sweep what lies under the name. FILE_DISK_FULL and its kin.
 */
export async function takeStagingPlace({ files, ids, stagingFolder }: Staging): Promise<StagingPlace> {
  try {
    makeFolder(files, stagingFolder);
    for (;;) {
      const path = join(stagingFolder, ids.next());
      const lock = await lockNew(files, `${path}${LOCK}`);
      if (lock) return { path, close: () => quietly(() => remove(files, path, lock)) };
    }
  } catch (error) {
    throw wrapFileError(error, 'the staging folder');
  }
}

/** The new lock, held; undefined where a sweep that saw it before it was held took it away again. */
async function lockNew(files: FileSystem, path: string): Promise<KernelLock | undefined> {
  const fd = files.open(path, 'wx', 0o600);
  const { identity } = files.factsOf(fd);
  files.close(fd);
  const lock = lockAt(files, path);
  try {
    if ((await lock.acquire(0)) && factsAt(files, path)?.identity === identity) return lock;
  } catch (error) {
    lock.close();
    // SQLite refuses a file that was taken away under it: another name, as where the sweep came a moment later.
    if (factsAt(files, path)?.identity !== identity) return undefined;
    unlinkIfThere(files, path);
    throw lockFault(error);
  }
  lock.close();
  return undefined;
}

const FULL = 13;

/** What SQLite, whose lock it is, says of the disk, as the codes of files say it. */
function lockFault(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error)) return error;
  const code = ((error.errcode as number) & 0xff) === FULL ? 'FILE_DISK_FULL' : 'FILE_IO';
  return fail(code, 'The operating system refused the lock of a package.', { cause: error });
}

/**
 * Removes what processes that are gone have left, and nothing else: a name of ours whose lock is a plain file that
 * nobody holds. What a living process uses, however long it has been silent, stays; so does what is not of the form
 * that `takeStagingPlace` makes. No link is followed. What cannot be removed now is met again by the next sweep.
 */
export async function sweepStaging({ files, stagingFolder }: Omit<Staging, 'ids'>): Promise<void> {
  const ids = namesIn(files, stagingFolder).flatMap((name) => LOCKED.exec(name)?.[1] ?? []);
  for (const id of new Set(ids)) {
    try {
      await sweepOne(files, join(stagingFolder, id));
    } catch {
      // Another process may be sweeping too; and nothing fails for what a dead one left.
    }
  }
}

function quietly(step: () => void): void {
  try {
    step();
  } catch {
    // What the work came to is told all the same.
  }
}

function namesIn(files: FileSystem, folder: string): string[] {
  try {
    return files.lstat(folder).kind === 'folder' ? files.readdir(folder) : [];
  } catch {
    return [];
  }
}

async function sweepOne(files: FileSystem, path: string): Promise<void> {
  if (factsAt(files, path)?.kind === 'symlink') return;
  const lock = lockAt(files, `${path}${LOCK}`);
  let isOurs = false;
  try {
    isOurs = await lock.acquire(0);
    if (isOurs) remove(files, path, lock);
  } finally {
    if (!isOurs) lock.close();
  }
}

const lockAt = (files: FileSystem, path: string): KernelLock => {
  const refused = () => fail('DATA_FOLDER_UNSAFE', 'A lock of the staging folder is not one private regular file.');
  return new KernelLock({ files, path, busy: refused, unsafe: refused });
};

/** The lock goes last, and stays where something could not be removed: the next sweep finds it by its lock. */
function remove(files: FileSystem, path: string, lock: KernelLock): void {
  try {
    removeFolder(files, path);
    unlinkIfThere(files, `${path}${LOCK}`);
  } finally {
    lock.close();
  }
}
