import type { Limit } from './limit.ts';

/** Bounds of the gateway. */
export const gatewayLimits = {
  httpBodyBytes: { max: 1024 * 1024, unit: 'bytes', why: 'A body is read whole before it is parsed.' },
  httpPageEntries: { max: 200, unit: 'items', why: 'A page is rendered whole before it is sent.' },
  httpIdUnits: { max: 512, unit: 'code units', why: 'The contracts of sessions for identifiers, in the path.' },
  httpRatesKept: {
    max: 10_000,
    unit: 'items',
    why: 'Callers whose rate is remembered; idle ones are forgotten first.',
  },
  packageTransfers: {
    max: 4,
    unit: 'items',
    why: 'Packages of one tenant on their way in or out; each lies on the disk.',
  },
  packageIdleMs: {
    max: 30_000,
    unit: 'ms',
    why: 'A package on its way holds a place and a file: who sends or takes nothing for so long is gone.',
  },
  packageTransferMs: {
    max: 1_800_000,
    unit: 'ms',
    why: 'The largest package at 75 kB a second; who is slower holds a place for ever.',
  },
  eventStreamsPerTenant: {
    max: 1000,
    unit: 'items',
    why: 'Each open stream holds a connection and wakes for each event.',
  },
  eventStreams: { max: 4000, unit: 'items', why: 'What one process can wake for each event.' },
  eventsPerFrame: {
    max: 100,
    unit: 'items',
    why: 'A slow reader is given so much at a time; the rest stays in the feed.',
  },
  eventTailEntries: { max: 500, unit: 'items', why: 'The newest entries of a tenant are shared by its streams.' },
  eventPlacesKept: { max: 10_000, unit: 'items', why: 'Which session an entry belongs to is looked up once.' },
} as const satisfies Record<string, Limit>;
