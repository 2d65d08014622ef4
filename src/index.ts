/**
 * Holdfast: a durable, fail-closed runtime for AI agents that act. The library's public face: what is not exported here
 * or under another entry of package.json is not public.
 */
export type { PolicySet, Policy, ShownRequest } from './approvals/index.ts';
export {
  type AgentConfig,
  AgentHandle,
  type AgentOptions,
  defineConfig,
  Holdfast,
  type HoldfastConfig,
  type HoldfastOptions,
  type McpServerConfig,
  Run,
  type RunOptions,
  type RunSummary,
  type RunView,
} from './app/index.ts';
export { type CallOutcome, outcomeForModel, outcomeLine } from './calls/index.ts';
export type { RunListener } from './runs/index.ts';
export {
  ConflictError,
  CorruptionError,
  DeniedError,
  ERROR_TABLE,
  type ErrorBody,
  type ErrorCode,
  type ErrorCodeEntry,
  type ErrorDetails,
  type ErrorFamily,
  HoldfastError,
  LimitError,
  NotFoundError,
  OutcomeUnknownError,
  PackageError,
  QuarantinedError,
  RateError,
  StateError,
  StorageError,
  StorageIntegrityError,
  ValidationError,
} from './core/index.ts';
export {
  aiSdkModel,
  type AiSdkLanguageModel,
  type FunctionCall,
  functionModel,
  type FunctionReply,
  type Model,
  type ModelEvent,
  type ModelFunction,
  type ModelLike,
  type ModelMessage,
  type ModelReply,
  type ModelRequest,
  type ModelSettings,
  readTurn,
  recordedModel,
  recordedModelFromFile,
} from './models/index.ts';
export {
  NotDone,
  type PreconditionAnswer,
  type ResourceScope,
  type ResourceTarget,
  type Tool,
  tool,
  type ToolCallContext,
  type ToolDefinition,
  type ToolEffect,
  type ToolObservation,
  type ToolPostcondition,
  type ToolPrincipal,
  type ToolReceipt,
  type ToolRevisions,
  type ToolStatus,
} from './tools/index.ts';
