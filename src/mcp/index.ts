export {
  connectMcp,
  type ListedTool,
  type McpCallRequest,
  type McpCallResult,
  type McpConnection,
} from './connection.ts';
export { type McpTools, mcpTools, type SkippedTool } from './mcp-tools.ts';
export type { McpPolicies, McpToolPolicy } from './policy.ts';
export type { HttpServer, McpConnectOptions, StdioServer } from './server-options.ts';
export { IDEMPOTENCY_META_KEY } from './tool-of-server.ts';
