import type { ErrorCodeEntry } from './entry.ts';

/** Codes of the gateway: what is wrong with a request before anything is asked of the runtime. */
export const gatewayErrorCodes = {
  ROUTE_NOT_FOUND: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'See the routes in the description at /openapi.json.',
  },
  METHOD_NOT_ALLOWED: {
    family: 'validation',
    http: 405,
    exit: 2,
    retryable: false,
    resolve: 'Use one of the methods that the Allow header names.',
  },
  REQUEST_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Correct what details.where names; the description at /openapi.json says what is accepted.',
  },
  CONTENT_TYPE_UNSUPPORTED: {
    family: 'validation',
    http: 415,
    exit: 2,
    retryable: false,
    resolve: 'Send the body with Content-Type: application/json.',
  },
  REQUEST_CUT: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Send the request again, whole.',
  },
  PACKAGE_TOO_SLOW: {
    family: 'validation',
    http: 408,
    exit: 1,
    retryable: true,
    resolve: 'Send the package again over a connection that keeps up.',
  },
  TOO_MANY_REQUESTS: {
    family: 'rate',
    http: 429,
    exit: 1,
    retryable: true,
    resolve: 'Wait as long as the Retry-After header says, then send the request again.',
  },
  TOO_MANY_STREAMS: {
    family: 'rate',
    http: 429,
    exit: 1,
    retryable: true,
    resolve: 'Close event streams that nobody reads, then open this one again.',
  },
  KERNEL_MISSING: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Let an agent do it with a tool; code of sessions is not run here.',
  },
  GATEWAY_STOPPING: {
    family: 'state',
    http: 503,
    exit: 1,
    retryable: true,
    resolve: 'Send the request again when the gateway is back.',
  },
  GATEWAY_ADDRESS_TAKEN: {
    family: 'state',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: 'Choose another port with --port, or stop what listens there.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
