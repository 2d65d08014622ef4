import type { McpConnection, SkippedTool } from '../mcp/index.ts';
import { checkOptions, displayText, fail } from '../core/index.ts';
import type { Tool } from '../tools/index.ts';
import type { AgentHandle } from './agent.ts';
import type { HoldfastConfig, McpServerConfig } from './config-file.ts';
import { Holdfast } from './holdfast.ts';
import { CONFIGURED_OPTIONS } from './option-shapes.ts';

/** A tool of a configured MCP server that no agent is offered, and why. */
export interface NotOffered extends SkippedTool {
  readonly server: string;
}

/** One of them, in a line for people. */
export function notOfferedLine({ server, name, code, reason }: NotOffered): string {
  return displayText(`the tool ${name} of the MCP server ${server} is not offered: ${reason} (${code})`);
}

/** A runtime as its configuration describes it: its agents by name, and its servers running. */
export interface Configured {
  readonly holdfast: Holdfast;
  readonly agents: ReadonlyMap<string, AgentHandle>;
  /** Tools of its servers that cannot be used, such as one whose schema is too large. */
  readonly notOffered: readonly NotOffered[];
  close(): Promise<void>;
}

/**
 * Opens a runtime under a configuration: MCP servers are started first, since the tools of interrupted calls must be
 * known before those are looked at. What was started is ended again when a later step fails. INVALID_VALUE names an option
 * of a wrong shape before anything is started.
 */
export async function openConfigured(config: HoldfastConfig, dataDir: string): Promise<Configured> {
  checkOptions('the configuration', config, CONFIGURED_OPTIONS);
  const connections: McpConnection[] = [];
  const notOffered: NotOffered[] = [];
  try {
    const servers = await startServers(config.mcpServers ?? {}, connections, notOffered);
    const { agents: wanted, mcpServers: _servers, ...options } = config;
    const tools = [...(options.tools ?? []), ...[...servers.values()].flat(), ...wanted.flatMap((a) => a.tools ?? [])];
    const holdfast = await Holdfast.open({ ...options, dataDir, tools: [...new Set(tools)] });
    const agents = new Map(
      wanted.map((agent) => {
        const { mcpServers = [], ...rest } = agent;
        const own = [...(agent.tools ?? []), ...mcpServers.flatMap((name) => toolsOf(servers, name))];
        return [agent.name ?? 'agent', holdfast.agent({ ...rest, tools: own })] as const;
      }),
    );
    return { holdfast, agents, notOffered, close: () => closeAll(holdfast, connections) };
  } catch (error) {
    await Promise.allSettled(connections.map((connection) => connection.close()));
    throw error;
  }
}

async function startServers(
  servers: Readonly<Record<string, McpServerConfig>>,
  connections: McpConnection[],
  notOffered: NotOffered[],
): Promise<ReadonlyMap<string, readonly Tool[]>> {
  const tools = new Map<string, readonly Tool[]>();
  if (Object.keys(servers).length === 0) return tools;
  const { connectMcp, mcpTools } = await import('../mcp/index.ts');
  for (const [name, { server, policies }] of Object.entries(servers)) {
    const connection = await connectMcp({ name, server });
    connections.push(connection);
    const offered = await mcpTools(connection, policies);
    tools.set(name, offered.tools);
    notOffered.push(...offered.skipped.map((one) => ({ server: name, ...one })));
  }
  return tools;
}

function toolsOf(servers: ReadonlyMap<string, readonly Tool[]>, name: string): readonly Tool[] {
  const tools = servers.get(name);
  if (!tools)
    throw fail('CONFIG_INVALID', `An agent names the MCP server ${name.slice(0, 32)}, which is not configured.`);
  return tools;
}

async function closeAll(holdfast: Holdfast, connections: readonly McpConnection[]): Promise<void> {
  try {
    await holdfast.close();
  } finally {
    await Promise.allSettled(connections.map((connection) => connection.close()));
  }
}
