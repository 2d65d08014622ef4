import type { Limit } from './limit.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Bounds of the ground floor. The rows of other rooms lie beside this file, one file a room. */
export const coreLimits = {
  jsonNestingDepth: {
    max: 256,
    unit: 'levels',
    why: 'No profile may ask for more: reading and writing recurse once a level, and the stack must not run out.',
  },
  jsonIntegerDigits: {
    max: 4300,
    unit: 'digits',
    why: 'Converting digits to an integer costs the square of their number; other readers stop here too.',
  },
  operationsJsonBytes: { max: 64 * KIB, unit: 'bytes', why: 'Operations store no JSON text above 64 KiB.' },
  operationsJsonDepth: {
    max: 32,
    unit: 'levels',
    why: 'The operations contract: depth 32, counted from 0 at the root.',
  },
  operationsStringCodePoints: { max: 65_536, unit: 'code points', why: 'The operations contract for one string.' },
  operationsContainerItems: { max: 1024, unit: 'items', why: 'The operations contract for one array or object.' },
  operationsJsonValues: {
    max: 65_536,
    unit: 'values',
    why: '64 KiB of text cannot hold more; a value given in memory is held to the same.',
  },
  packagesJsonBytes: { max: 64 * MIB, unit: 'bytes', why: 'The largest member of a session package.' },
  packagesJsonDepth: { max: 64, unit: 'levels', why: 'The package contract: deeper documents are refused.' },
  packagesStringCodePoints: { max: 16 * MIB, unit: 'code points', why: 'A message or notebook output, generously.' },
  packagesContainerItems: {
    max: 250_000,
    unit: 'items',
    why: 'Above every list the package contract allows (100,000 records), so that its own limit answers first.',
  },
  packagesJsonValues: {
    max: 4_000_000,
    unit: 'values',
    why: 'Keeps what a full document builds under half a gigabyte.',
  },
  transcriptJsonBytes: { max: 16 * MIB, unit: 'bytes', why: 'One model turn or one stored record of a run.' },
  transcriptJsonValues: { max: 1_000_000, unit: 'values', why: 'What 16 MiB of ordinary records hold.' },
  wireJsonBytes: {
    max: 4 * MIB,
    unit: 'bytes',
    why: 'One request or protocol message; larger bodies have their own routes.',
  },
  wireJsonValues: { max: 250_000, unit: 'values', why: 'What 4 MiB of ordinary messages hold.' },
  journalJsonBytes: { max: MIB, unit: 'bytes', why: 'One line of a journal; a line is read whole.' },
  journalJsonValues: { max: 65_536, unit: 'values', why: 'What one line of a journal holds.' },
  configJsonBytes: { max: 256 * KIB, unit: 'bytes', why: 'Configuration is written by people.' },
  configJsonDepth: { max: 32, unit: 'levels', why: 'Configuration is written by people.' },
  configJsonValues: { max: 16_384, unit: 'values', why: 'Configuration is written by people.' },
  policyJsonBytes: { max: 256 * KIB, unit: 'bytes', why: 'A policy must stay small enough to be read by a person.' },
  policyJsonDepth: { max: 16, unit: 'levels', why: 'A policy must stay small enough to be read by a person.' },
  policyJsonValues: { max: 16_384, unit: 'values', why: 'A policy must stay small enough to be read by a person.' },
  portableUnixSeconds: {
    max: 253_402_300_799,
    unit: 'seconds',
    why: '9999-12-31T23:59:59Z: the last second that four-digit years can write.',
  },
  clockBackwardMs: {
    max: 2000,
    unit: 'ms',
    why: 'A time service steps a clock back by less than this in ordinary service; more is a fault that a person looks at.',
  },
  timerMs: { max: 2_147_483_647, unit: 'ms', why: 'What a timer of Node.js can count: a longer one ends at once.' },
  identifierCodePoints: { max: 255, unit: 'code points', why: 'The operations contract for identifiers.' },
  redactionDepth: {
    max: 48,
    unit: 'levels',
    why: 'The package contract: what lies deeper is replaced, not looked into.',
  },
  logEventCodePoints: { max: 200, unit: 'code points', why: 'An event is a name; the rest belongs in fields.' },
  logLineBytes: { max: 16 * KIB, unit: 'bytes', why: 'A log line is for reading; a longer one is cut and says so.' },
} as const satisfies Record<string, Limit>;
