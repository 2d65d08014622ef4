import { fail, isBlank, LIMITS } from '../core/index.ts';
import type { Tool } from './model.ts';
import type { ResourceScope, ToolPostcondition } from './resource.ts';

/** What a call is declared to touch and to leave behind. Reads touch nothing. */
export interface CallScope {
  readonly resources: ResourceScope;
  readonly postconditions: readonly ToolPostcondition[];
}

/**
 * Asks a tool what a call with this input may change. A writing tool that declares nothing touches one resource named
 * after itself, so that its calls are seen to touch the same thing. Throws `TOOL_INVALID` when the declaration fails,
 * is too long, names a role twice, or sets a postcondition on no declared role: such a call must not start.
 */
export function scopeOf(tool: Tool, input: unknown): CallScope {
  if (tool.effect === 'read') return { resources: [], postconditions: [] };
  const resources =
    tool.resources === null ? ownResource(tool) : asked(tool, 'resources', () => tool.resources?.(input));
  const postconditions = asked(tool, 'postconditions', () => tool.postconditions?.(input) ?? []);
  if (resources === 'anything') {
    if (postconditions.length > 0) throw wrong(tool, 'postconditions', 'need a declared resource each');
    return { resources, postconditions };
  }
  checkList(tool, 'resources', resources);
  checkList(tool, 'postconditions', postconditions);
  const roles = resources.map((target) => target.role);
  if (roles.some((role) => typeof role !== 'string' || isBlank(role)) || new Set(roles).size !== roles.length)
    throw wrong(tool, 'resources', 'need a role each, none twice');
  if (!postconditions.every((condition) => roles.includes(condition.role)))
    throw wrong(tool, 'postconditions', 'name a role that no resource has');
  return { resources, postconditions };
}

function ownResource(tool: Tool): ResourceScope {
  const serverId = tool.producer;
  return [{ kind: 'external', role: 'target', namespace: 'tool', endpointId: serverId, serverId, toolId: tool.name }];
}

function asked<T>(tool: Tool, field: string, question: () => T | undefined): T {
  let answer: T | undefined;
  try {
    answer = question();
  } catch (cause) {
    throw fail('TOOL_INVALID', `The \`${field}\` of ${tool.name} failed.`, { cause, details: { field } });
  }
  if (answer === undefined) throw wrong(tool, field, 'gave nothing');
  return answer;
}

function checkList(tool: Tool, field: string, list: readonly unknown[]): void {
  if (!Array.isArray(list) || list.length > LIMITS.toolListItems)
    throw wrong(tool, field, `must be a list of at most ${LIMITS.toolListItems}`);
  if (!list.every((item) => typeof item === 'object' && item !== null)) throw wrong(tool, field, 'must be objects');
}

function wrong(tool: Tool, field: string, rule: string): Error {
  return fail('TOOL_INVALID', `The \`${field}\` of ${tool.name} ${rule}.`, { details: { field } });
}
