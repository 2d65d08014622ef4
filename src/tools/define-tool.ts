import { comparableName } from '../core/index.ts';
import { compileSchema } from './compile-schema.ts';
import { checkDefinition } from './check-definition.ts';
import type { Tool, ToolDefinition, ToolRevisions, ToolSchema } from './model.ts';
import { DEFAULT_TIMEOUT_MS, retryOf } from './retry.ts';

const DEFAULT_SETTLES_WITHIN_MS = 60_000;
const DEFAULT_OUTPUT_BYTES = 65_536;
const DEFAULT_OUTPUT_DEPTH = 16;

/**
 * Makes a tool out of its definition: checked, complete, frozen; later changes to the object that was given do not
 * reach it. Throws `TOOL_INVALID` or `TOOL_SCHEMA_INVALID`, naming the field.
 */
export function tool<I extends ToolSchema, O extends ToolSchema = ToolSchema>(definition: ToolDefinition<I, O>): Tool {
  // The handlers are only ever given what the schema let through, which is what their parameter types say.
  const d = definition as unknown as ToolDefinition<Record<string, unknown>, Record<string, unknown>>;
  checkDefinition(d);
  const input = compileSchema(d.inputSchema, 'input', d.jsonSchema);
  const handlers = handlersOf(d);
  return Object.freeze({
    name: d.name,
    description: d.description,
    input,
    output: d.outputSchema === undefined ? null : compileSchema(d.outputSchema, 'output'),
    effect: d.effect,
    ...handlers,
    editable: Object.freeze([...(d.editable ?? [])]),
    timeoutMs: d.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    settlesWithinMs: d.settlesWithinMs ?? DEFAULT_SETTLES_WITHIN_MS,
    secretFields: Object.freeze((d.secretFields ?? []).map(comparableName)),
    outputLimits: Object.freeze({
      maxBytes: d.outputLimits?.maxBytes ?? DEFAULT_OUTPUT_BYTES,
      maxDepth: d.outputLimits?.maxDepth ?? DEFAULT_OUTPUT_DEPTH,
    }),
    onError: d.onError ?? 'unknown',
    retry: retryOf(d.retry),
    parallel: d.parallel ?? d.effect === 'read',
    groups: Object.freeze([...(d.groups ?? [])]),
    urlPatterns: Object.freeze([...(d.urlPatterns ?? [])]),
    producer: d.producer ?? d.name,
    revisions: Object.freeze(revisionsOf(d)),
  });
}

type Given = ToolDefinition<Record<string, unknown>, Record<string, unknown>>;
type Input = Record<string, unknown>;

function handlersOf(
  d: Given,
): Pick<
  Tool,
  | 'needsApproval'
  | 'execute'
  | 'status'
  | 'authorize'
  | 'precondition'
  | 'receipt'
  | 'resources'
  | 'postconditions'
  | 'observe'
  | 'checkOutput'
> {
  const given: Given = { ...d };
  return {
    needsApproval: approvalQuestion(given.needsApproval),
    execute: async (input, call) => given.execute(input as Input, call),
    status: given.status === undefined ? null : async (input, call) => given.status?.(input as Input, call),
    observe:
      given.observe === undefined ? null : async (input, call) => (await given.observe?.(input as Input, call)) ?? [],
    authorize: erased(given.authorize),
    precondition: erased(given.precondition),
    receipt: erased(given.receipt),
    resources: erased(given.resources),
    postconditions: erased(given.postconditions),
    checkOutput: erased(given.checkOutput),
  };
}

function erased<A, R extends unknown[], T>(
  handler: ((first: A, ...rest: R) => T) | undefined,
): ((first: unknown, ...rest: { [K in keyof R]: R[K] extends Input ? unknown : R[K] }) => T) | null {
  if (handler === undefined) return null;
  return handler as unknown as (first: unknown, ...rest: { [K in keyof R]: R[K] extends Input ? unknown : R[K] }) => T;
}

function approvalQuestion(given: Given['needsApproval']): Tool['needsApproval'] {
  if (given === undefined) return null;
  if (typeof given === 'boolean') return async () => given;
  return async (input, principal) => {
    try {
      return (await given(input as Input, principal)) !== false;
    } catch {
      return true;
    }
  };
}

function revisionsOf(d: Given): ToolRevisions {
  const initial = `${d.name}-v1`;
  return {
    inputSchema: d.revisions?.inputSchema ?? initial,
    outputSchema: d.revisions?.outputSchema ?? initial,
    effect: d.revisions?.effect ?? initial,
    handler: d.revisions?.handler ?? initial,
    producer: d.revisions?.producer ?? initial,
    policy: d.revisions?.policy ?? initial,
  };
}
