import { fail, type HoldfastError, JSON_PROFILES, type JsonValue, LIMITS, readStrictJson } from '../core/index.ts';

const WIRE = { ...JSON_PROFILES.wire, bytes: LIMITS.mcpMessageBytes };

/** What a server wrote, read in the one way in which it can be read. Throws what is wrong with it. */
export function readServerJson(bytes: Uint8Array): JsonValue {
  return readStrictJson(bytes, WIRE);
}

export function protocolBroken(what: string): HoldfastError {
  return fail('MCP_PROTOCOL_BROKEN', `The MCP server ${what}.`);
}
