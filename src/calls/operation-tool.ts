import { canonicalJson, plainJson } from '../core/index.ts';
import type { ContractRevisions, OperationTool, OperationTools } from '../operations/index.ts';
import { inputOf, issuesText, storedOutputProblems, type Tool, type ToolRegistry } from '../tools/index.ts';

/** A tool as operations need it: its contract and its checks. Nothing here invokes it. */
export function operationTool(tool: Tool): OperationTool {
  return {
    contract: { name: tool.name, ...tool.revisions },
    effect: tool.effect,
    producerLabel: tool.producer,
    outputLimits: tool.outputLimits,
    forbiddenOutputNames: tool.secretFields,
    settlesWithinSeconds: Math.ceil(tool.settlesWithinMs / 1000),
    checkArguments: async (value) => {
      const read = await inputOf(tool, canonicalJson(value));
      return read.ok ? [] : [issuesText(read.issues)];
    },
    checkOutput: async (output, value) => {
      const read = await inputOf(tool, canonicalJson(value));
      return read.ok ? storedOutputProblems(tool, canonicalJson(output), read.input) : [issuesText(read.issues)];
    },
    authorize: async (principal, value) =>
      tool.authorize === null || (await tool.authorize(plainJson(value), principal)),
    precondition: async (principal, value) =>
      tool.precondition === null || (await tool.precondition(plainJson(value), principal)) === true,
  };
}

/** A registry as operations need it; each tool is turned once. */
export function operationTools(registry: ToolRegistry): OperationTools {
  const made = new WeakMap<Tool, OperationTool>();
  const of = (tool: Tool | undefined): OperationTool | undefined => {
    if (tool === undefined) return undefined;
    const known = made.get(tool) ?? operationTool(tool);
    made.set(tool, known);
    return known;
  };
  return {
    current: (name) => of(registry.current(name)),
    retired: (name: string, revisions: ContractRevisions) => of(registry.revision(name, revisions)),
  };
}
