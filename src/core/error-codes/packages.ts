import type { ErrorCodeEntry } from './entry.ts';

/** Codes of exporting, importing and trusting sessions. What a package itself does wrong has its codes with the archive. */
export const packagesErrorCodes = {
  SESSION_NOT_EXPORTABLE: {
    family: 'package',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Change what the message names, then export again.',
  },
  EXPORT_SOURCE_CHANGED: {
    family: 'package',
    http: 409,
    exit: 1,
    retryable: true,
    resolve: 'Export again when nothing writes to the session.',
  },
  PACKAGE_AUTO_MODE: {
    family: 'package',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Ask the sender for a new package; do not repair this one.',
  },
  IMPORT_BUSY: {
    family: 'package',
    http: 409,
    exit: 1,
    retryable: true,
    resolve: 'Wait until the other import has ended, then try again.',
  },
  IMPORT_NOT_TAKEN_BACK: {
    family: 'package',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: 'Remove the quarantined placeholder, then look at the cause: holdfast sessions delete SESSION --yes',
  },
  IMPORT_FILES_LEFT: {
    family: 'storage',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: "Make the session's folder in `session-imports` writable for its owner: the next start removes it.",
  },
  IMPORT_UNFINISHED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Remove this placeholder, then import the package again: holdfast sessions delete SESSION --yes',
  },
  NOT_IMPORTED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Use the id of a session that came as a package.',
  },
  NOT_QUARANTINED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Nothing is to be done: the session is not locked.',
  },
  RECOVERY_REFUSED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Look at the session, then confirm a fresh restart of it: holdfast sessions trust SESSION --yes',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
