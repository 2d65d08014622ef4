import { LIMITS } from './limits.ts';

/** The bounds of one kind of JSON. Depth counts from 0 at the root: with `depth` 1, `[1]` passes and `[[1]]` does not. */
export interface JsonProfile {
  readonly name: string;
  /** UTF-8 bytes of the whole text. */
  readonly bytes: number;
  readonly depth: number;
  /** Code points of one string or key, after unescaping. */
  readonly stringCodePoints: number;
  readonly members: number;
  readonly items: number;
  /** Values in all: members, items and the root. */
  readonly values: number;
  /** `safe`: to 2^53 - 1 in absolute value; `any`: as many digits as `LIMITS.jsonIntegerDigits` allows. */
  readonly integers: 'safe' | 'any';
}

const packages: JsonProfile = {
  name: 'packages',
  bytes: LIMITS.packagesJsonBytes,
  depth: LIMITS.packagesJsonDepth,
  stringCodePoints: LIMITS.packagesStringCodePoints,
  members: LIMITS.packagesContainerItems,
  items: LIMITS.packagesContainerItems,
  values: LIMITS.packagesJsonValues,
  integers: 'any',
};

const config: JsonProfile = {
  ...packages,
  name: 'config',
  bytes: LIMITS.configJsonBytes,
  depth: LIMITS.configJsonDepth,
  values: LIMITS.configJsonValues,
  integers: 'safe',
};

/**
 * The named profiles. `operations`: arguments, results and every stored text of operations. `packages`: documents of a
 * session package. `transcript`: what a model said and records of a run. `wire`: HTTP bodies and protocol messages.
 * `journal`: one line of a journal. `config` and `policy`: files that people write. A narrower one is made by spreading:
 * `{ ...JSON_PROFILES.packages, name: 'auto mode', depth: 32 }`.
 */
export const JSON_PROFILES = {
  operations: {
    name: 'operations',
    bytes: LIMITS.operationsJsonBytes,
    depth: LIMITS.operationsJsonDepth,
    stringCodePoints: LIMITS.operationsStringCodePoints,
    members: LIMITS.operationsContainerItems,
    items: LIMITS.operationsContainerItems,
    values: LIMITS.operationsJsonValues,
    integers: 'safe',
  },
  packages,
  transcript: {
    ...packages,
    name: 'transcript',
    bytes: LIMITS.transcriptJsonBytes,
    values: LIMITS.transcriptJsonValues,
  },
  wire: { ...packages, name: 'wire', bytes: LIMITS.wireJsonBytes, values: LIMITS.wireJsonValues },
  journal: { ...packages, name: 'journal', bytes: LIMITS.journalJsonBytes, values: LIMITS.journalJsonValues },
  config,
  policy: {
    ...config,
    name: 'policy',
    bytes: LIMITS.policyJsonBytes,
    depth: LIMITS.policyJsonDepth,
    values: LIMITS.policyJsonValues,
  },
} as const satisfies Record<string, JsonProfile>;
