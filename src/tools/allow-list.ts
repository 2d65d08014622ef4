import { fail } from '../core/index.ts';
import type { JsonSchemaObject, Tool, ToolDenial } from './model.ts';
import type { ToolRegistry } from './registry.ts';
import { urlAllowed } from './url-policy.ts';

/** What a run is configured with. A list of tools, where it is not empty, switches groups off. */
export interface ToolSelection {
  readonly tools: readonly string[];
  readonly toolGroups: readonly string[];
  readonly excludeTools: readonly string[];
}

/** The exact names that a run may call; everything else is refused at the call, whatever the model was shown. */
export type AllowedTools = ReadonlySet<string>;

/**
 * The names that a selection comes to. An explicit list must name registered tools (`TOOL_UNKNOWN`), and stands for
 * nothing but itself; without one the groups count; with neither nothing is allowed.
 */
export function selectTools(registry: ToolRegistry, selection: ToolSelection): AllowedTools {
  const excluded = new Set(selection.excludeTools);
  const chosen = selection.tools.length > 0 ? explicitTools(registry, selection.tools) : grouped(registry, selection);
  return new Set(chosen.filter((name) => !excluded.has(name)));
}

function explicitTools(registry: ToolRegistry, names: readonly string[]): readonly string[] {
  for (const name of names)
    if (registry.current(name) === undefined)
      throw fail('TOOL_UNKNOWN', `No tool named ${name.slice(0, 64)} is registered.`);
  return names;
}

function grouped(registry: ToolRegistry, selection: ToolSelection): readonly string[] {
  const groups = new Set(selection.toolGroups);
  return registry
    .all()
    .filter((tool) => tool.groups.some((group) => groups.has(group)))
    .map((tool) => tool.name);
}

/** A tool as a model is told of it, in the shape of the chat formats. */
export interface ModelToolSchema {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonSchemaObject };
}

/** What a model is shown: the allowed tools that are registered, in order of registration. */
export function modelToolSchemas(registry: ToolRegistry, allowed: AllowedTools): readonly ModelToolSchema[] {
  return registry
    .all()
    .filter((tool) => allowed.has(tool.name))
    .map((tool) => ({
      type: 'function',
      function: { name: tool.name, description: tool.description, parameters: tool.input.jsonSchema },
    }));
}

export interface AdmissionRequest {
  readonly name: string;
  readonly allowed: AllowedTools;
  /** The page that the run is on, as the host knows it. */
  readonly pageUrl?: string | undefined;
}

export type Admission = { readonly denied: false; readonly tool: Tool } | ToolDenial;

/**
 * The first gate of a call: is the tool known, allowed for this run, and allowed on this page? A tool with URL
 * patterns is denied without an address. Denials are values; their text goes to the model.
 */
export function admitCall(registry: ToolRegistry, request: AdmissionRequest): Admission {
  const shown = request.name.slice(0, 64);
  const tool = registry.current(request.name);
  if (!request.allowed.has(request.name)) {
    const code = tool === undefined ? 'TOOL_UNKNOWN' : 'TOOL_NOT_ALLOWED';
    return denial(code, `The tool ${shown} is not allowed in this run.`);
  }
  if (tool === undefined) return denial('TOOL_UNKNOWN', `There is no tool named ${shown}.`);
  if (tool.urlPatterns.length > 0 && !urlAllowed(tool.urlPatterns, request.pageUrl))
    return denial('URL_POLICY_DENIED', `URL policy denied: ${shown} may not act on this page.`);
  return { denied: false, tool };
}

function denial(code: ToolDenial['code'], text: string): ToolDenial {
  return { denied: true, code, text };
}
