import type { ErrorCodeEntry } from './entry.ts';

/** Codes of tools: their definitions, schemas, registry, and what a call must satisfy before it is written down. */
export const toolsErrorCodes = {
  TOOL_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Correct the field that the message names in the tool definition.',
  },
  TOOL_SCHEMA_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Simplify the JSON Schema as the message says, or describe the tool with a schema library.',
  },
  TOOL_EXISTS: {
    family: 'conflict',
    http: 409,
    exit: 2,
    retryable: false,
    resolve: 'Give one of the two tools another name, or register the older one as retired under its own revisions.',
  },
  TOOL_UNKNOWN: {
    family: 'not_found',
    http: 404,
    exit: 1,
    retryable: false,
    resolve: 'Register the tool, or correct its name.',
  },
  TOOL_NOT_ALLOWED: {
    family: 'denied',
    http: 403,
    exit: 1,
    retryable: false,
    resolve: "Add the tool to the run's allow-list if the run may use it.",
  },
  URL_POLICY_DENIED: {
    family: 'denied',
    http: 403,
    exit: 1,
    retryable: false,
    resolve: 'Open a page that the tool is allowed to act on, or extend its `urlPatterns`.',
  },
  TOOL_ARGUMENTS_INVALID: {
    family: 'validation',
    http: 422,
    exit: 1,
    retryable: false,
    resolve: 'Propose the call again with arguments that fit the input schema; the issues say what does not.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
