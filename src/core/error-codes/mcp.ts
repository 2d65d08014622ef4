import type { ErrorCodeEntry } from './entry.ts';

/** Codes of MCP servers. None of a call's is retryable: whether a call happened is for its outcome to say. */
export const mcpErrorCodes = {
  MCP_CONFIG_INVALID: {
    family: 'validation',
    http: 400,
    exit: 2,
    retryable: false,
    resolve: 'Correct the option of the MCP server that the message names.',
  },
  MCP_CONNECT_FAILED: {
    family: 'state',
    http: 502,
    exit: 2,
    retryable: true,
    resolve: 'Start the server by hand with the same command, or open its address, and look at what it says.',
  },
  MCP_SERVER_GONE: {
    family: 'state',
    http: 502,
    exit: 1,
    retryable: false,
    resolve: 'Connect to the server again; a call that was under way is unknown until it is settled.',
  },
  MCP_PROTOCOL_BROKEN: {
    family: 'state',
    http: 502,
    exit: 1,
    retryable: false,
    resolve: 'Have the server write logs to standard error, and keep its messages within 4 MiB.',
  },
  MCP_TIMEOUT: {
    family: 'state',
    http: 504,
    exit: 1,
    retryable: false,
    resolve: 'Give the tool a longer `timeoutMs`; a writing call is unknown until it is settled.',
  },
  MCP_CALL_FAILED: {
    family: 'state',
    http: 502,
    exit: 1,
    retryable: false,
    resolve: 'The server refused or broke the call; its own words are in the details.',
  },
  MCP_TOOL_ERROR: {
    family: 'state',
    http: 502,
    exit: 1,
    retryable: false,
    resolve: 'The tool reported an error; if such an error proves that nothing was done, say so in its policy.',
  },
  MCP_INPUT_REQUIRED: {
    family: 'state',
    http: 502,
    exit: 1,
    retryable: false,
    resolve: 'The server asks for input that nobody can give here; call the tool with complete arguments.',
  },
  MCP_TOOLS_INVALID: {
    family: 'validation',
    http: 502,
    exit: 2,
    retryable: false,
    resolve: "Correct the server's list of tools as the message says.",
  },
} as const satisfies Record<string, ErrorCodeEntry>;
