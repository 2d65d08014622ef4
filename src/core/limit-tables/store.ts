import type { Limit } from './limit.ts';

/** Bounds of the store. */
export const storeLimits = {
  storeGroupBodies: {
    max: 128,
    unit: 'items',
    why: 'Bounds how long one commit holds the write lock, and how much is run again when a group is undone.',
  },
  storeWaitingBodies: {
    max: 10_000,
    unit: 'items',
    why: 'When callers outrun the disk, later ones are refused instead of filling memory.',
  },
  feedPageEntries: { max: 500, unit: 'items', why: 'One page of the feed; the reader asks for the next.' },
  projectPageEntries: { max: 500, unit: 'items', why: 'One page of projects.' },
  deadInstanceEntries: {
    max: 500,
    unit: 'items',
    why: 'A sweep takes so many at a time; the next sweep takes more.',
  },
  deadInstancesKept: {
    max: 1_000,
    unit: 'items',
    why: 'Every command is a process with a row; the newest are kept for whoever looks at what happened lately.',
  },
  instanceLeaseMs: {
    max: 600_000,
    unit: 'ms',
    why: 'What a dead process held stays untouched for so long; nobody should wait longer than ten minutes.',
  },
} as const satisfies Record<string, Limit>;
