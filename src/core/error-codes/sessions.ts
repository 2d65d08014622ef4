import type { ErrorCodeEntry } from './entry.ts';

/** Codes of sessions and their ledger. */
export const sessionsErrorCodes = {
  SESSION_NOT_FOUND: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'List the sessions you may see with `holdfast sessions list` and use one of their ids.',
  },
  BRANCH_NOT_FOUND: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'Show the session with `holdfast sessions show` and use one of its branches.',
  },
  ACTION_GROUP_NOT_FOUND: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'Use the id of an action group of a session of yours.',
  },
  ACTION_GROUP_SEALED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Open a new action group; a sealed one never changes again.',
  },
  SESSION_EXISTS: {
    family: 'conflict',
    http: 409,
    exit: 2,
    retryable: false,
    resolve: 'Choose another id, or use the session that has it.',
  },
  SESSION_QUARANTINED: {
    family: 'quarantined',
    http: 423,
    exit: 1,
    retryable: false,
    resolve: 'Look at the imported session, then confirm a fresh restart of it.',
  },
  SESSION_REVERTING: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: true,
    resolve: 'Finish the interrupted revert of the session, then try again.',
  },
  SESSION_CORRUPT: {
    family: 'corruption',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: 'Restore the database from a backup; the row was changed outside Holdfast.',
  },
  TICKET_LOST: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: true,
    resolve: 'Take a new ticket for the session and start the step again.',
  },
  TICKET_TIMEOUT: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: true,
    resolve: 'Try again when the work that the message names has ended.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
