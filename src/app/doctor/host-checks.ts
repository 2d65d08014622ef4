import { statfsSync } from 'node:fs';
import { failed, type HealthCheck, ok, warn } from './check.ts';

/** The oldest Node.js whose SQLite and type stripping Holdfast relies on. */
const OLDEST_NODE = [22, 18] as const;
const MEBIBYTE = 1_048_576;
/** Below this the next commit, checkpoint or backup may already fail. */
const SPACE_TO_FAIL = 64 * MEBIBYTE;
/** Below this a busy day's write-ahead log and backup may not fit. */
const SPACE_TO_WARN = 1024 * MEBIBYTE;

type Fitness = 'fit' | 'forgets' | 'doubtful' | 'remote';

/** File systems by the number that Linux gives them (`statfs`), and what they are good for. */
const FILE_SYSTEMS: ReadonlyMap<bigint, readonly [name: string, fitness: Fitness]> = new Map([
  [0xef53n, ['ext4', 'fit']],
  [0x58465342n, ['xfs', 'fit']],
  [0x9123683en, ['btrfs', 'fit']],
  [0x2fc12fc1n, ['zfs', 'fit']],
  [0xf2f52010n, ['f2fs', 'fit']],
  [0xca451a4en, ['bcachefs', 'fit']],
  [0x794c7630n, ['overlayfs', 'fit']],
  [0x01021994n, ['tmpfs', 'forgets']],
  [0x858458f6n, ['ramfs', 'forgets']],
  [0x6969n, ['nfs', 'remote']],
  [0x517bn, ['smb', 'remote']],
  [0xff534d42n, ['cifs', 'remote']],
  [0xfe534d42n, ['smb2', 'remote']],
  [0x01021997n, ['9p', 'doubtful']],
  [0x65735546n, ['fuse', 'doubtful']],
]);

export function checkNode(version: string): HealthCheck {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldMajor, oldMinor] = OLDEST_NODE;
  const enough = major > oldMajor || (major === oldMajor && minor >= oldMinor);
  return enough
    ? ok('node', `Node.js ${version}`)
    : failed('node', `Node.js ${version}`, `Use Node.js ${oldMajor}.${oldMinor} or newer.`);
}

/** SQLite's write-ahead log needs memory shared between processes and honest locks: network file systems have neither. */
export function judgeFileSystem(type: bigint): HealthCheck {
  const known = FILE_SYSTEMS.get(BigInt.asUintN(32, type));
  const name = known?.[0] ?? `not known here (0x${BigInt.asUintN(32, type).toString(16)})`;
  switch (known?.[1]) {
    case undefined:
    case 'fit':
      return ok('file_system', name);
    case 'forgets':
      return warn('file_system', `${name}, which forgets everything when the machine stops`, 'Use a folder on a disk.');
    case 'doubtful':
      return warn(
        'file_system',
        `${name}, which passes on what is asked of it and may not keep it`,
        'Use a local disk, or make sure that this one honours fsync and locks.',
      );
    case 'remote':
      return failed(
        'file_system',
        `${name}, where locks and shared memory cannot be relied on`,
        'Move the data folder to a local disk.',
      );
  }
}

export function judgeFreeSpace(bytes: bigint): HealthCheck {
  const found = `${bytes / BigInt(MEBIBYTE)} MiB free`;
  const resolve = 'Free space on the disk of the data folder.';
  if (bytes < BigInt(SPACE_TO_FAIL)) return failed('free_space', found, resolve);
  return bytes < BigInt(SPACE_TO_WARN) ? warn('free_space', found, resolve) : ok('free_space', found);
}

/** The disk under a folder that exists. */
export function checkDisk(folder: string): HealthCheck[] {
  try {
    const disk = statfsSync(folder, { bigint: true });
    return [judgeFileSystem(disk.type), judgeFreeSpace(disk.bavail * disk.bsize)];
  } catch (error) {
    const errno = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return [failed('file_system', `the disk did not answer (${errno})`, 'Check the disk and its mount.')];
  }
}
