import { specTypeSchemas, type Tool } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { ListedTool } from './connection.ts';
import { localToolName } from './tool-names.ts';

/** A tool of a list that cannot be offered whatever a policy says: its entry, as far as it can be named, and why. */
export interface UnusableTool {
  readonly name: string;
  readonly reason: string;
}

/** What a server lists: the tools whose entries are whole and whose names are their own, and the others with the reason. */
export interface ToolList {
  readonly tools: readonly ListedTool[];
  readonly unusable: readonly UnusableTool[];
}

/** A page of the list whose entries are read one by one: one that is no tool says nothing about its neighbours. */
export const TOOL_PAGE = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** The eras of the protocol differ in what the output may be; that it is a schema is looked at where it is compiled. */
const ENTRY = z.looseObject({ name: z.string().optional(), outputSchema: z.looseObject({}).optional() });

/**
 * Reads the entries of a whole list. One that is malformed is refused alone, and nothing of it is guessed. A name that
 * two entries have, or would be offered under, stands for neither: a call goes by its name alone.
 */
export function readToolList(server: string, entries: readonly unknown[]): ToolList {
  const read = entries.map((entry, index) => readEntry(server, entry, index));
  const uses = new Map<string, number>();
  for (const { local } of read) if (local !== null) uses.set(local, (uses.get(local) ?? 0) + 1);
  const tools: ListedTool[] = [];
  const unusable: UnusableTool[] = [];
  for (const { name, local, result } of read) {
    if (local !== null && (uses.get(local) ?? 0) > 1)
      unusable.push({ name, reason: 'The server lists two tools of this name.' });
    else if (typeof result === 'string') unusable.push({ name, reason: result });
    else tools.push(result);
  }
  return { tools, unusable };
}

interface ReadEntry {
  readonly name: string;
  /** The name it would be offered under; null where it has none. */
  readonly local: string | null;
  readonly result: ListedTool | string;
}

function readEntry(server: string, entry: unknown, index: number): ReadEntry {
  const given = nameOf(entry);
  const named = {
    name: given?.slice(0, 128) ?? `(number ${index + 1})`,
    local: given === null ? null : localToolName(server, given),
  };
  const outer = ENTRY.safeParse(entry);
  if (!outer.success) return { ...named, result: reasonOf(outer.error.issues) };
  const { outputSchema, ...rest } = outer.data;
  const inner = specTypeSchemas.Tool['~standard'].validate(rest);
  if (inner.issues) return { ...named, result: reasonOf(inner.issues) };
  return { ...named, result: outputSchema ? ({ ...inner.value, outputSchema } as Tool) : inner.value };
}

function nameOf(entry: unknown): string | null {
  const name: unknown = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : null;
  return typeof name === 'string' ? name : null;
}

type Issue = { readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined };

/** The place alone, and of that the first two steps: what stands there is the server's, and said nowhere. */
function reasonOf([first]: readonly Issue[]): string {
  const steps = (first?.path ?? []).slice(0, 2).map((step) => String(typeof step === 'object' ? step.key : step));
  if (steps.length === 0) return 'Its entry in the list is no object.';
  return `Its \`${steps.join('.').slice(0, 100)}\` is missing or not what the protocol has there.`;
}
