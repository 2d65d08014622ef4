import type { ErrorCodeEntry } from './entry.ts';

/** Codes of the store. */
export const storeErrorCodes = {
  STORE_BUSY: {
    family: 'storage',
    http: 503,
    exit: 2,
    retryable: true,
    resolve: 'Try again; if it stays busy, find the process that holds the data folder with `holdfast doctor`.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
