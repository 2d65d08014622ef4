import type { Limit } from './limit.ts';

const KIB = 1024;
const DAY_MS = 24 * 60 * 60_000;

/** Bounds on what a tool declares, and on what strangers' schemas may cost. */
export const toolsLimits = {
  toolNameCodePoints: { max: 64, unit: 'code points', why: 'Model providers refuse longer function names.' },
  toolDescriptionCodePoints: {
    max: 8 * KIB,
    unit: 'code points',
    why: 'A description is sent with every model request.',
  },
  toolsInRegistry: { max: 10_000, unit: 'items', why: 'A registry is searched and shown whole.' },
  toolLabelCodePoints: {
    max: 255,
    unit: 'code points',
    why: 'Revisions and labels are stored with every operation, in columns of this size.',
  },
  toolListItems: {
    max: 64,
    unit: 'items',
    why: 'Editable fields, groups and secret fields are searched for each call.',
  },
  toolUrlPatterns: { max: 64, unit: 'items', why: 'URL patterns are matched one by one.' },
  toolUrlPatternCodePoints: { max: 2 * KIB, unit: 'code points', why: 'No longer address is of use in a pattern.' },
  pageUrlCodePoints: { max: 8 * KIB, unit: 'code points', why: 'What browsers agree on; more is denied unread.' },
  toolTimeoutMs: { max: 10 * 60_000, unit: 'ms', why: 'Shorter than any lease that a worker may hold.' },
  toolRetries: { max: 10, unit: 'times', why: 'A tool that fails so often will not answer soon.' },
  toolRetryPauseMs: { max: 60_000, unit: 'ms', why: 'The first pause; later ones grow from it.' },
  toolCallMs: {
    max: 15 * 60_000,
    unit: 'ms',
    why: 'A call with all its repetitions: what a dead process began is left alone for so long.',
  },
  toolSettlesWithinMs: { max: 7 * DAY_MS, unit: 'ms', why: 'The longest that another side may take to settle.' },
  toolOutputBytes: { max: 1024 * KIB, unit: 'bytes', why: 'What a result may weigh in the database at most.' },
  toolOutputDepth: { max: 32, unit: 'levels', why: 'The operations contract for stored JSON.' },
  toolOutputProblems: { max: 20, unit: 'items', why: 'What a person or a model reads of a long list.' },
  schemaBytes: { max: 128 * KIB, unit: 'bytes', why: 'A schema is sent with every model request.' },
  schemaDepth: { max: 32, unit: 'levels', why: 'Reading a schema recurses once a level.' },
  schemaValues: { max: 5_000, unit: 'values', why: 'A schema is walked for every call.' },
  schemaBranching: {
    max: 1_000,
    unit: 'items',
    why: 'Subschemas that look at one value, references followed: `anyOf` of `anyOf` grows as a power.',
  },
  schemaPatternCodePoints: { max: 1_000, unit: 'code points', why: 'Compiled patterns cost memory.' },
  schemaEnumItems: { max: 1_000, unit: 'items', why: 'An `enum` is compared entry by entry.' },
  checkedValues: { max: 100_000, unit: 'values', why: 'What one check may walk through.' },
  checkedDepth: { max: 64, unit: 'levels', why: 'A check recurses several times a level.' },
  inlineCheckedValues: {
    max: 2_000,
    unit: 'values',
    why: 'With the steps below, some tens of milliseconds on the main thread at most; larger values go to the worker.',
  },
  inlineCheckSteps: { max: 20_000, unit: 'steps', why: 'See inlineCheckedValues.' },
  workerCheckSteps: { max: 2_000_000, unit: 'steps', why: 'Keeps stack and memory small; the deadline counts first.' },
  workerCheckMs: { max: 2_000, unit: 'ms', why: 'No honest check takes a second; a pattern can take for ever.' },
  workerStartMs: {
    max: 20_000,
    unit: 'ms',
    why: 'A thread starts in a tenth of a second; a busy machine may need more.',
  },
  workerQueueItems: { max: 256, unit: 'items', why: 'Waiting checks hold their values in memory.' },
  schemaIssues: { max: 20, unit: 'items', why: 'What a model reads and corrects in one go.' },
  schemaIssueCodePoints: { max: 300, unit: 'code points', why: 'Issues quote the schema, which may be long.' },
} as const satisfies Record<string, Limit>;
