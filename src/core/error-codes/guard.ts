import type { ErrorCodeEntry } from './entry.ts';

/** Codes of the guard: its policy, and messages that it will not let through. */
export const guardErrorCodes = {
  APPROVAL_PENDING: {
    family: 'state',
    http: 409,
    exit: 3,
    retryable: true,
    resolve: 'Decide with `holdfast approvals approve` or `reject`, then call the tool again with the same arguments.',
  },
  POLICY_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Correct the place in the policy file that `details.at` names; nothing runs under a policy that is wrong.',
  },
  MCP_MESSAGE_UNREADABLE: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Send one JSON-RPC message a line, without doubled keys and within the bounds.',
  },
  MCP_REQUEST_REFUSED: {
    family: 'denied',
    http: 403,
    exit: 1,
    retryable: false,
    resolve: 'Speak to the guard as `127.0.0.1` or `localhost`, at the path of its server, with POST, GET or DELETE.',
  },
  MCP_BATCH_REFUSED: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Send each `tools/call` as a message of its own.',
  },
  MCP_LINE_TOO_LONG: {
    family: 'limit',
    http: 413,
    exit: 2,
    retryable: false,
    resolve: 'Send less in one message; `details.max` is the bound in bytes.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
