export { readStatusAnswer, receiptOf } from './answers.ts';
export {
  acceptArguments,
  type AcceptedArguments,
  inputOf,
  inputOfRead,
  issuesText,
  readArguments,
  type RefusedArguments,
} from './arguments.ts';
export { acceptOutput, type AcceptedOutput, type RefusedOutput, storedOutputProblems } from './output.ts';
export { type CallScope, scopeOf } from './scope.ts';
export {
  admitCall,
  type Admission,
  type AdmissionRequest,
  type AllowedTools,
  modelToolSchemas,
  type ModelToolSchema,
  selectTools,
  type ToolSelection,
} from './allow-list.ts';
export { compileSchema } from './compile-schema.ts';
export { tool } from './define-tool.ts';
export {
  ANY_OBJECT,
  GUARD_KEPT_DEPTH,
  GUARD_OUTPUT_LIMITS,
  GUARD_REVISION,
  guardedToolOf,
  settledGuardTool,
} from './guarded-tool.ts';
export { longestCallMs } from './retry.ts';
export {
  type CompiledSchema,
  type JsonSchemaObject,
  type PreconditionAnswer,
  type SchemaIssue,
  type SchemaValue,
  type SchemaVerdict,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  type ToolDenial,
  type ToolEffect,
  type ToolOutputLimits,
  type ToolPrincipal,
  type ToolProgress,
  type ToolReceipt,
  type ToolRevisions,
  type ToolSchema,
  type ToolStatus,
  TOOL_EFFECTS,
} from './model.ts';
export { NotDone } from './not-done.ts';
export type {
  ExternalTarget,
  FilesystemTarget,
  OwnedTarget,
  ResourceScope,
  ResourceTarget,
  ToolObservation,
  ToolPostcondition,
} from './resource.ts';
export { isMadeTool, sameRevisions, ToolRegistry } from './registry.ts';
export { urlAllowed } from './url-policy.ts';
