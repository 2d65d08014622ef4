import { fail, HoldfastError } from '../core/index.ts';
import type { Tool } from '../tools/index.ts';
import type { ListedTool, McpConnection } from './connection.ts';
import { toolOfServer } from './tool-of-server.ts';
import type { McpPolicies, McpToolPolicy } from './policy.ts';
import { isObject } from './server-options.ts';

/** A tool of the server that cannot be offered, and why. */
export interface SkippedTool {
  readonly name: string;
  readonly code: HoldfastError['code'];
  readonly reason: string;
}

export interface McpTools {
  readonly tools: readonly Tool[];
  readonly skipped: readonly SkippedTool[];
}

/**
 * The tools of a connected server, ready to be registered. What a tool may do comes from your policies alone: a tool
 * without one is `once` and asks a person each time, whatever its hints say. A policy for a tool that the server does
 * not have throws `MCP_TOOLS_INVALID`. A tool whose entry is malformed, whose schema cannot be used, or whose name another
 * one has too, is skipped with the reason, and the others are offered.
 */
export async function mcpTools(connection: McpConnection, policies: McpPolicies = {}): Promise<McpTools> {
  if (typeof policies !== 'function' && !isObject(policies))
    throw fail('MCP_CONFIG_INVALID', 'The `policies` of an MCP server must be an object or a function.');
  const { tools: listed, unusable } = await connection.toolList();
  checkNames(connection.name, [...listed, ...unusable], policies);
  const tools: Tool[] = [];
  const skipped: SkippedTool[] = unusable.map((one) => ({ ...one, code: 'MCP_TOOLS_INVALID' }));
  for (const each of listed) {
    const policy = policyFor(each, policies);
    try {
      tools.push(toolOfServer(connection, each, policy));
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      skipped.push({ name: each.name.slice(0, 128), code: error.code, reason: error.message });
    }
  }
  return { tools, skipped };
}

function policyFor(tool: ListedTool, policies: McpPolicies): McpToolPolicy | undefined {
  const ofRecord = (): unknown => (Object.hasOwn(policies, tool.name) ? Reflect.get(policies, tool.name) : undefined);
  const policy: unknown = typeof policies === 'function' ? policies(tool) : ofRecord();
  if (policy !== undefined && !isObject(policy))
    throw fail('MCP_CONFIG_INVALID', `The policy for ${tool.name.slice(0, 128)} must be an object.`);
  return policy as McpToolPolicy | undefined;
}

function checkNames(server: string, listed: readonly { readonly name: string }[], policies: McpPolicies): void {
  const names = new Set(listed.map((tool) => tool.name));
  if (typeof policies === 'function') return;
  for (const name of Object.keys(policies))
    if (!names.has(name))
      throw fail('MCP_TOOLS_INVALID', `There is a policy for ${name.slice(0, 128)}, and ${server} has no such tool.`);
}
