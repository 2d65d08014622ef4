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
  packageMessages: { max: 50_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageGroups: { max: 50_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageAttempts: { max: 100_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageCells: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageCheckpoints: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageCheckpointStates: {
    max: 25_000,
    unit: 'items',
    why: 'The package contract; counted before any record is read.',
  },
  packageOperations: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageGenerations: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageAnnotations: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageReviewSteps: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageMemories: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packagePermissionRules: {
    max: 25_000,
    unit: 'items',
    why: 'The package contract; counted before any record is read.',
  },
  packageCapabilities: { max: 25_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageBranches: { max: 512, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageRecoveryEntries: {
    max: 100_000,
    unit: 'items',
    why: 'The package contract; counted before any record is read.',
  },
  packageArtifacts: { max: 10_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageArtifactVersions: {
    max: 50_000,
    unit: 'items',
    why: 'The package contract; counted before any record is read.',
  },
  packageDeliveries: { max: 50_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageDeliveryRelations: {
    max: 100_000,
    unit: 'items',
    why: 'The package contract; counted before any record is read.',
  },
  packageEnvironmentSnapshots: {
    max: 50_000,
    unit: 'items',
    why: 'The package contract; counted before any record is read.',
  },
  packageWorkspaceEntries: {
    max: 100_000,
    unit: 'items',
    why: 'The package contract; counted before any record is read.',
  },
  packageLineageEdges: { max: 100_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packagePlans: { max: 5000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  packageIdCodePoints: { max: 512, unit: 'code points', why: 'The package contract for one identity.' },
  packageFileNameBytes: { max: 255, unit: 'bytes', why: 'The package contract: what common file systems take.' },
  observations: { max: 100_000, unit: 'items', why: 'The package contract; counted before any record is read.' },
  observationBytes: { max: 16 * MIB, unit: 'bytes', why: 'The package contract; checked before the file is parsed.' },
  deliveryWorkBytes: {
    max: 512 * MIB,
    unit: 'bytes',
    why: 'The package contract: a delivery is read twice, when its manifest is built and when it is bound.',
  },
} as const satisfies Record<string, Limit>;
