export { connectMcp } from './connect.ts';
export type { ListedTool, McpCallRequest, McpCallResult, McpConnection } from './connection.ts';
export { type McpTools, mcpTools, type SkippedTool } from './mcp-tools.ts';
export type { McpPolicies, McpToolPolicy } from './policy.ts';
export type { HttpServer, McpConnectOptions, StdioServer } from './server-options.ts';
export type { ToolList, UnusableTool } from './tool-list.ts';
export { IDEMPOTENCY_META_KEY } from './wire/message.ts';
export type { SealedPolicy } from './guard/policy-conditions.ts';
export { judgeCall, type PolicyVerdict, type RuleNote, sealPolicy } from './guard/policy-decision.ts';
export { explainCall, explanationDocument, type ProposedCall, readProposedCall } from './guard/policy-explanation.ts';
export { readPolicy } from './guard/policy-file.ts';
export type {
  Approvers,
  Policy,
  PolicyCondition,
  PolicyDecision,
  PolicyEffect,
  PolicyPostcondition,
  PolicyRoot,
  PolicyRule,
  PolicyStatus,
  PolicyTarget,
  PolicyTool,
} from './guard/policy-model.ts';
export { POLICY_PRESETS, startingPolicy, type ToolHints } from './guard/policy-start.ts';
export { guardedToolOf, settledGuardTool } from '../tools/index.ts';
export { type GuardedServer, guardStdio, type HostStreams, type StdioGuard } from './guard/stdio-guard.ts';
export { guardHttp, type HttpGuardListener } from './guard-http/listen.ts';
export type { GuardOptions } from './guard/call-desk.ts';
