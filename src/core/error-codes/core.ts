import type { ErrorCodeEntry } from './entry.ts';

/** Codes of the ground floor: values, JSON, clocks, files, limits. */
export const coreErrorCodes = {
  INVALID_VALUE: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Correct the value that the message names and send the request again.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
