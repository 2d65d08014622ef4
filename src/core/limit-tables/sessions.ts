import type { Limit } from './limit.ts';

const MIB = 1024 * 1024;

/** Bounds of sessions and of their ledger. */
export const sessionLimits = {
  sessionIdCodePoints: { max: 512, unit: 'code points', why: 'The autonomy and package contracts for identifiers.' },
  sessionWordCodePoints: { max: 64, unit: 'code points', why: 'A kind or a type is one word that a person reads.' },
  sessionNameCodePoints: { max: 1024, unit: 'code points', why: 'A name or a reason is shown on one line of a list.' },
  sessionTextUnits: { max: 16 * MIB, unit: 'code points', why: 'The longest string that a package may carry.' },
  sessionJsonCodePoints: { max: 32 * MIB, unit: 'code points', why: 'The autonomy contract for one stored value.' },
  sessionResourceKeys: { max: 10_000, unit: 'items', why: 'The autonomy contract for one list.' },
  sessionGroupRows: { max: 100_000, unit: 'items', why: 'The autonomy contract: a sealed group is read whole.' },
  sessionPageRows: { max: 500, unit: 'items', why: 'A page is held in memory and shown whole.' },
  sessionBranches: { max: 512, unit: 'items', why: 'The package contract: a session with more cannot travel.' },
  sessionCheckpoints: { max: 25_000, unit: 'items', why: 'The package contract: a session with more cannot travel.' },
  sessionRecords: {
    max: 200_000,
    unit: 'items',
    why: 'One kind of record in one session: above what a package may carry of any kind, so that an export can say so.',
  },
  sessionDeliveryVersions: { max: 10_000, unit: 'items', why: 'The package contract for the artifacts of a session.' },
  artifactVersionBytes: {
    max: 64 * MIB,
    unit: 'bytes',
    why: 'The package contract for one member: a version that is larger could not travel.',
  },
  sessionTicketsQueued: {
    max: 1000,
    unit: 'items',
    why: 'More writers than this waiting for one session is a fault of the host, and each wakes to look.',
  },
  sessionTicketLeaseMs: { max: 300_000, unit: 'ms', why: 'A dead holder keeps everyone waiting no longer than this.' },
  workspaceFiles: { max: 100_000, unit: 'items', why: 'The package contract for workspace entries.' },
  workspaceFileBytes: { max: 64 * MIB, unit: 'bytes', why: 'The package contract: larger files are left out.' },
  workspaceBytes: { max: 16_384 * MIB, unit: 'bytes', why: 'What one capture may take of the disk.' },
  workspaceDepth: { max: 128, unit: 'levels', why: 'The walk holds the names of one folder a level.' },
} as const satisfies Record<string, Limit>;
