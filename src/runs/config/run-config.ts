import { codePointsWithin, isJsonObject, type JsonObject, LIMITS } from '../../core/index.ts';
import { checkTraceId } from '../trace/ids.ts';
import { ownJson, readFields, writeFields, wrongField } from './fields.ts';
import type { FrozenRunConfig, RunConfig } from './model.ts';

export const FROZEN_DEFAULTS: FrozenRunConfig = Object.freeze({
  model: 'default',
  temperature: null,
  maxIterations: 50,
  tools: [],
  toolGroups: [],
  excludeTools: [],
  autoExecuteTools: true,
  agentType: 'default',
  uid: null,
  parallelToolExecution: false,
  childExecutionMode: 'sequential',
  maxParallelChildren: 1,
  sideBranchMaxTurns: 5,
  enablePromptCaching: true,
  extraLlmParams: {},
  skills: [],
  enableMemory: false,
  memory: null,
  knowledge: {},
  goalCompression: 'none',
  enableResearchFlow: false,
  applicationRef: null,
  budgets: { maxTokens: null, maxCostMicros: null, maxWallMs: null },
});

/**
 * A complete, checked, frozen configuration of a run; what is not given has its default. The JSON values given are
 * copied. Throws `RUN_CONFIG_INVALID`, naming the field, and `TRACE_ID_INVALID`.
 */
export function runConfig(fields: Partial<RunConfig> = {}): RunConfig {
  const { traceId = null, systemPrompt = null, context = {}, ...frozen } = fields;
  const document = ownJson(writeFields({ ...FROZEN_DEFAULTS, ...frozen }, 2), 'the frozen part') as JsonObject;
  if (traceId !== null) checkTraceId(traceId);
  if (systemPrompt !== null && !isPrompt(systemPrompt)) throw wrongField('system_prompt', 'must be text');
  const ownContext = ownJson(context, 'context');
  if (!isJsonObject(ownContext)) throw wrongField('context', 'must be an object');
  return Object.freeze({
    ...readFields(document, 2, FROZEN_DEFAULTS),
    traceId,
    systemPrompt,
    context: ownContext,
  });
}

function isPrompt(value: unknown): value is string {
  return typeof value === 'string' && codePointsWithin(value, LIMITS.runPromptCodePoints) && value.isWellFormed();
}
