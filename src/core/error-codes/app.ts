import type { ErrorCodeEntry } from './entry.ts';

/** Codes of the composition root and the command: configuration, the data folder, the command line. */
export const appErrorCodes = {
  TELEMETRY_MISSING: {
    family: 'state',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: 'Install it beside holdfast: `npm install @opentelemetry/api`.',
  },
  USAGE: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'See `holdfast help` for the commands, and `holdfast help <command>` for what one of them takes.',
  },
  DATA_FOLDER_MISSING: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'Name an existing data folder with `--data-dir`, or make one with `holdfast migrate`.',
  },
  DATA_FOLDER_UNSAFE: {
    family: 'storage',
    http: 500,
    exit: 2,
    retryable: false,
    resolve:
      'Make the data folder your own and yours alone (`chown`, `chmod 700`), after looking who changed what in it.',
  },
  DATABASE_BEHIND: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Run `holdfast migrate`; for a copy from before it, stop every process and copy the data folder first.',
  },
  UNEXPECTED: {
    family: 'state',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: 'Look with `holdfast doctor`; if it finds nothing, this is a fault of Holdfast: report what you did.',
  },
  RUN_PROCESS_ENDED: {
    family: 'outcome_unknown',
    http: 500,
    exit: 1,
    retryable: false,
    resolve:
      'See what is known of the run: holdfast runs show RUN. Let a tool reject its promise where it throws in a timer or an event.',
  },
  SERVING_ENDED: {
    family: 'outcome_unknown',
    http: 500,
    exit: 1,
    retryable: false,
    resolve:
      'See which calls may be unknown: holdfast operations list --open. Then start the process again: it takes up what waits.',
  },
  CONFIG_MISSING: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Name an existing file with --config, or write one: holdfast init',
  },
  CONFIG_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Correct the configuration file; `holdfast init` in an empty folder writes one to look at.',
  },
  CONFIG_EXISTS: {
    family: 'conflict',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Edit the configuration that is there, or begin in an empty folder.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
