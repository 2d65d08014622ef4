import fs from 'node:fs';

/** What a folder entry or a file is, as `lstat` tells it. */
export interface FileFacts {
  readonly kind: 'file' | 'folder' | 'symlink' | 'other';
  readonly size: number;
  /** The permission bits: 0o600 and the like. */
  readonly mode: number;
  readonly uid: number;
  readonly modifiedMs: number;
  /** When content, name or rights last changed, as the kernel alone sets it. */
  readonly changedMs: number;
  /** Names that this file has: more than one where it was hard-linked. */
  readonly links: number;
  /** Device and inode, in decimal with a colon between, to tell whether two names are one file. Both may pass 2^53. */
  readonly identity: string;
}

/**
 * The operating system's file calls, as a port: ledgers and stores take one, so that a fault can be put in the place of
 * any call (`{ ...nodeFileSystem, fsync() { throw … } }`). Calls throw the operating system's errors as they are;
 * `wrapFileError` turns one into ours. All are synchronous: a durable step is one that has returned.
 */
export interface FileSystem {
  open(path: string, flags: string | number, mode?: number): number;
  close(fd: number): void;
  /** May write less than it was given: `writeAll` goes on until all is written. Without a position, at the file's own. */
  write(fd: number, bytes: Uint8Array, position?: number | null): number;
  read(fd: number, into: Uint8Array, position: number | null): number;
  fsync(fd: number): void;
  fdatasync(fd: number): void;
  truncate(fd: number, size: number): void;
  factsOf(fd: number): FileFacts;
  lstat(path: string): FileFacts;
  /** Where a symbolic link points, as it is written there. */
  readlink(path: string): string;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  rmdir(path: string): void;
  mkdir(path: string, mode?: number): void;
  chmod(path: string, mode: number): void;
  /** Names only, sorted by code unit, so that nothing depends on the order of the disk. */
  readdir(path: string): string[];
}

const KINDS: Readonly<Record<number, FileFacts['kind']>> = {
  [fs.constants.S_IFREG]: 'file',
  [fs.constants.S_IFDIR]: 'folder',
  [fs.constants.S_IFLNK]: 'symlink',
};

function factsOf(stats: fs.BigIntStats): FileFacts {
  const mode = Number(stats.mode);
  return {
    kind: KINDS[mode & fs.constants.S_IFMT] ?? 'other',
    size: Number(stats.size),
    mode: mode & 0o7777,
    uid: Number(stats.uid),
    modifiedMs: Number(stats.mtimeNs) / 1e6,
    changedMs: Number(stats.ctimeNs) / 1e6,
    links: Number(stats.nlink),
    identity: `${stats.dev}:${stats.ino}`,
  };
}

/** The real thing. */
export const nodeFileSystem: FileSystem = {
  open: (path, flags, mode = 0o600) => fs.openSync(path, flags, mode),
  close: (fd) => fs.closeSync(fd),
  write: (fd, bytes, position = null) => fs.writeSync(fd, bytes, 0, bytes.byteLength, position),
  read: (fd, into, position) => fs.readSync(fd, into, 0, into.byteLength, position),
  fsync: (fd) => fs.fsyncSync(fd),
  fdatasync: (fd) => fs.fdatasyncSync(fd),
  truncate: (fd, size) => fs.ftruncateSync(fd, size),
  factsOf: (fd) => factsOf(fs.fstatSync(fd, { bigint: true })),
  lstat: (path) => factsOf(fs.lstatSync(path, { bigint: true })),
  readlink: (path) => fs.readlinkSync(path),
  rename: (from, to) => fs.renameSync(from, to),
  unlink: (path) => fs.unlinkSync(path),
  rmdir: (path) => fs.rmdirSync(path),
  mkdir: (path, mode = 0o700) => {
    fs.mkdirSync(path, { mode });
  },
  chmod: (path, mode) => fs.chmodSync(path, mode),
  readdir: (path) => fs.readdirSync(path).sort(),
};
