import type { Limit } from './limit.ts';

const KIB = 1024;

/** Bounds on what an MCP server may send, and on how long it is waited for. */
export const mcpLimits = {
  mcpUnreadMessages: {
    max: 4096,
    unit: 'items',
    why: 'Sent to a server over stdio and not read by it; more than the calls of a process, so it is what it asked for.',
  },
  mcpMessageBytes: {
    max: 4 * 1024 * KIB,
    unit: 'bytes',
    why: 'One line over stdio, one body or event over HTTP; the same as any wire document.',
  },
  mcpStderrBytes: { max: 64 * KIB, unit: 'bytes', why: 'The end of a log is what explains a failure.' },
  mcpListPages: { max: 64, unit: 'items', why: 'A list whose pages never end would be read for ever.' },
  mcpToolsOfServer: { max: 1_000, unit: 'items', why: 'Each tool has a schema to be checked and shown to a model.' },
  mcpErrorCodePoints: { max: 2_000, unit: 'code points', why: 'What a server says about an error is read by a model.' },
  mcpConnectMs: { max: 60_000, unit: 'ms', why: 'A server that is fetched before it starts may take this long.' },
  mcpCloseMs: { max: 1_000, unit: 'ms', why: 'Each step of an ending: end of input, SIGTERM, SIGKILL.' },
  mcpSpawnArguments: { max: 256, unit: 'items', why: 'A command line is written by a person.' },
} as const satisfies Record<string, Limit>;
