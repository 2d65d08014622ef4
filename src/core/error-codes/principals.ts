import type { ErrorCodeEntry } from './entry.ts';

/** Codes of tokens and roles. */
export const principalsErrorCodes = {
  TOKEN_REQUIRED: {
    family: 'denied',
    http: 401,
    exit: 2,
    retryable: false,
    resolve: 'Send a token: the header Authorization with Bearer and the token.',
  },
  TOKEN_INVALID: {
    family: 'denied',
    http: 401,
    exit: 2,
    retryable: false,
    resolve: 'Use a token that is neither revoked nor over: holdfast tokens list',
  },
  TOKEN_NOT_FOUND: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'List the tokens of the tenant: holdfast tokens list',
  },
  TOKEN_REVOKED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Make a new token: holdfast tokens new',
  },
  ROLE_NOT_ALLOWED: {
    family: 'denied',
    http: 403,
    exit: 1,
    retryable: false,
    resolve: 'Use a token that has one of the roles that details.roles names.',
  },
  REPLY_CORRUPT: {
    family: 'corruption',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: 'Restore the database from a backup; the kept reply was changed outside Holdfast.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
