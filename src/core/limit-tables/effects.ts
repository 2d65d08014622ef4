import type { Limit } from './limit.ts';

const MIB = 1024 * 1024;

/** Bounds of effects: records, journals, resources and paths. */
export const effectsLimits = {
  effectTextCodePoints: {
    max: 256,
    unit: 'code points',
    why: 'Ids and words of a record, made by hosts: index keys stay small.',
  },
  effectLocationPartCodePoints: {
    max: 4096,
    unit: 'code points',
    why: 'A part of a location is at most one path of the host, which Linux bounds at 4096 bytes.',
  },
  effectLocationParts: { max: 16, unit: 'items', why: 'The longest location of the contracts has eight parts.' },
  effectReferences: {
    max: 64,
    unit: 'items',
    why: 'References in one scope, dependencies or obligations; a wider action has unknown scope.',
  },
  effectJournalBytes: { max: 64 * MIB, unit: 'bytes', why: 'A journal is loaded whole.' },
  effectRecordsPerRun: {
    max: 10_000,
    unit: 'items',
    why: 'Claims, readings and progress of one run: an assessment looks at all of them. Endings always find room.',
  },
  effectRecordsWaiting: {
    max: 4096,
    unit: 'items',
    why: 'Records that wait for one shared write: a host that outruns its disk is told so.',
  },
  effectLockWaitMs: { max: 5000, unit: 'ms', why: 'How long a write waits for another process to leave the journal.' },
  effectPage: { max: 200, unit: 'items', why: 'One page of a list of effects.' },
  effectReadBackBytes: {
    max: 64 * MIB,
    unit: 'bytes',
    why: 'What is read of one file for its digest; a larger one is seen in part.',
  },
  effectPathParts: { max: 256, unit: 'items', why: 'Names in one path, links included: each costs system calls.' },
  effectPathLinks: { max: 40, unit: 'items', why: 'Symbolic links followed in one path, as the kernel bounds them.' },
} as const satisfies Record<string, Limit>;
