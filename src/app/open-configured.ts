import type { McpConnection } from '../mcp/index.ts';
import { checkOptions, fail } from '../core/index.ts';
import type { Tool } from '../tools/index.ts';
import type { AgentHandle } from './agent.ts';
import type { HoldfastConfig, McpServerConfig } from './config-file.ts';
import { Holdfast } from './holdfast.ts';
import { CONFIGURED_OPTIONS } from './option-shapes.ts';

/** A runtime as its configuration describes it: its agents by name, and its servers running. */
export interface Configured {
  readonly holdfast: Holdfast;
  readonly agents: ReadonlyMap<string, AgentHandle>;
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
  try {
    const servers = await startServers(config.mcpServers ?? {}, connections);
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
    return { holdfast, agents, close: () => closeAll(holdfast, connections) };
  } catch (error) {
    await Promise.allSettled(connections.map((connection) => connection.close()));
    throw error;
  }
}

async function startServers(
  servers: Readonly<Record<string, McpServerConfig>>,
  connections: McpConnection[],
): Promise<ReadonlyMap<string, readonly Tool[]>> {
  const tools = new Map<string, readonly Tool[]>();
  if (Object.keys(servers).length === 0) return tools;
  const { connectMcp, mcpTools } = await import('../mcp/index.ts');
  for (const [name, { server, policies }] of Object.entries(servers)) {
    const connection = await connectMcp({ name, server });
    connections.push(connection);
    tools.set(name, (await mcpTools(connection, policies)).tools);
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
  await holdfast.close();
  await Promise.allSettled(connections.map((connection) => connection.close()));
}
