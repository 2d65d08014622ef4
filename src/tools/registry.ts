import { fail, LIMITS } from '../core/index.ts';
import type { Tool, ToolRevisions } from './model.ts';

const REVISION_NAMES = ['inputSchema', 'outputSchema', 'effect', 'handler', 'producer', 'policy'] as const;

/** Whether two contracts are the same in all six revisions. */
export function sameRevisions(a: ToolRevisions, b: ToolRevisions): boolean {
  return REVISION_NAMES.every((name) => a[name] === b[name]);
}

/**
 * The tools of one runtime by name. What is registered stays: a name is never bound to another tool, and retired
 * revisions are kept, so that what was done under them can still be judged.
 */
export class ToolRegistry {
  readonly #current = new Map<string, Tool>();
  readonly #retired = new Map<string, Tool[]>();
  readonly #remade: (name: string, revisions: ToolRevisions) => Tool | null;

  /**
   * `remade` gives a tool that is not registered and that its name and revisions alone can make anew, so that what was
   * done under it can be judged in any process; it is asked by `revision` only.
   */
  constructor(remade: (name: string, revisions: ToolRevisions) => Tool | null = () => null) {
    this.#remade = remade;
  }

  /** Registers a tool under its name. The same tool again is no change; another one throws `TOOL_EXISTS`. */
  register(tool: Tool): void {
    checkMade(tool);
    const existing = this.#current.get(tool.name);
    if (existing === tool) return;
    if (existing !== undefined || this.#registered(tool.name, tool.revisions) !== undefined)
      throw fail('TOOL_EXISTS', `A tool named ${tool.name} is registered already.`, { details: { tool: tool.name } });
    this.#admit();
    this.#current.set(tool.name, tool);
  }

  /** Keeps an older contract of a tool. Its revisions must differ from every other contract of the same name. */
  registerRetired(tool: Tool): void {
    checkMade(tool);
    const kept = this.#retired.get(tool.name) ?? [];
    if (kept.includes(tool)) return;
    if (this.#registered(tool.name, tool.revisions) !== undefined)
      throw fail('TOOL_EXISTS', `The tool ${tool.name} is registered with these revisions already.`, {
        details: { tool: tool.name },
      });
    this.#admit();
    this.#retired.set(tool.name, [...kept, tool]);
  }

  /** The tool that new calls of this name use. */
  current(name: string): Tool | undefined {
    return this.#current.get(name);
  }

  /** The tool of this name with exactly these revisions, current, retired or made anew. */
  revision(name: string, revisions: ToolRevisions): Tool | undefined {
    return this.#registered(name, revisions) ?? this.#remade(name, revisions) ?? undefined;
  }

  #registered(name: string, revisions: ToolRevisions): Tool | undefined {
    const current = this.#current.get(name);
    if (current !== undefined && sameRevisions(current.revisions, revisions)) return current;
    return this.#retired.get(name)?.find((tool) => sameRevisions(tool.revisions, revisions));
  }

  /** The secret fields of every registered tool of this name, retired ones included. */
  secretFieldsOf(name: string): readonly string[] {
    const current = this.#current.get(name);
    return [...(current ? [current] : []), ...(this.#retired.get(name) ?? [])].flatMap((tool) => tool.secretFields);
  }

  /** The names of registered tools that have secret fields, with those fields. */
  withSecretFields(): ReadonlyMap<string, readonly string[]> {
    const names = new Set([...this.#current.keys(), ...this.#retired.keys()]);
    const all = [...names].map((name) => [name, this.secretFieldsOf(name)] as const);
    return new Map(all.filter(([, fields]) => fields.length > 0));
  }

  /** Every current tool, in order of registration. */
  all(): readonly Tool[] {
    return [...this.#current.values()];
  }

  #admit(): void {
    const retired = [...this.#retired.values()].reduce((sum, list) => sum + list.length, 0);
    if (this.#current.size + retired >= LIMITS.toolsInRegistry)
      throw fail('TOOL_INVALID', `A registry holds at most ${LIMITS.toolsInRegistry} tools.`);
  }
}

// A frozen object with compiled schemas is what `tool()` makes; a bare definition would skip every check.
/** Whether the value is a tool as `tool` makes them. */
export function isMadeTool(value: unknown): value is Tool {
  if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return false;
  const input: unknown = Reflect.get(value, 'input');
  return typeof input === 'object' && input !== null && typeof Reflect.get(input, 'check') === 'function';
}

function checkMade(tool: Tool): void {
  if (!isMadeTool(tool)) throw fail('TOOL_INVALID', 'Only what `tool({...})` returned can be registered.');
}
