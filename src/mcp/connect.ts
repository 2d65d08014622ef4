import { checkConnectOptions, type McpConnectOptions } from './server-options.ts';
import type { McpConnection } from './connection.ts';

/**
 * Starts or reaches a server and greets it. Throws `MCP_CONFIG_INVALID` or `MCP_CONNECT_FAILED`; nothing it started is
 * left behind. No capability is offered: the server cannot ask for input, samples or roots. The protocol's client is
 * loaded with the first connection: whoever reaches no server does not wait for it.
 */
export async function connectMcp(options: McpConnectOptions): Promise<McpConnection> {
  checkConnectOptions(options);
  const { openConnection } = await import('./connection.ts');
  return openConnection(options);
}
