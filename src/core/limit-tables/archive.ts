import type { Limit } from './limit.ts';

const MIB = 1024 * 1024;

/** Bounds of reading an archive. Each is checked before memory or time is spent on what it bounds. */
export const archiveLimits = {
  archiveBytes: {
    max: 128 * MIB,
    unit: 'bytes',
    why: 'The package contract for a whole file: what a request may carry.',
  },
  archiveTotalBytes: {
    max: 256 * MIB,
    unit: 'bytes',
    why: 'The package contract: what an importer may have to store.',
  },
  archiveMemberBytes: { max: 64 * MIB, unit: 'bytes', why: 'The package contract for one member, as declared.' },
  archiveMembers: {
    max: 4096,
    unit: 'members',
    why: 'The package contract: each costs a read, a name check and a row of the manifest.',
  },
  archiveDirectoryBytes: { max: 8 * MIB, unit: 'bytes', why: 'The central directory is in memory while it is parsed.' },
  archiveRatio: { max: 200, unit: 'times', why: 'The package contract: what declares to grow more is a bomb.' },
  archiveNameBytes: { max: 1024, unit: 'bytes', why: 'Longer paths cannot be written on every file system.' },
  archiveNamePartBytes: { max: 255, unit: 'bytes', why: 'The longest file name that common file systems take.' },
  archiveReadMs: { max: 120_000, unit: 'ms', why: 'One reading from opening to verdict; slow streams end here.' },
  archiveProblems: { max: 1000, unit: 'items', why: 'A report is for reading; it says how many more there are.' },
  manifestBytes: { max: 8 * MIB, unit: 'bytes', why: 'Room for 4,096 rows with the longest names, read whole.' },
  keyFileBytes: { max: 256 * 1024, unit: 'bytes', why: 'Keys, signatures and lists of trusted keys are read whole.' },
} as const satisfies Record<string, Limit>;
