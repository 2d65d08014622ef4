import {
  canonicalJson,
  HoldfastError,
  isBlank,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  plainJson,
  readStrictJson,
} from '../core/index.ts';
import type { SchemaIssue, Tool } from './model.ts';

/** Arguments as they are stored, shown, digested and executed: one canonical text. */
export interface AcceptedArguments {
  readonly ok: true;
  readonly text: string;
  readonly value: JsonObject;
}

export interface RefusedArguments {
  readonly ok: false;
  readonly code: 'TOOL_ARGUMENTS_INVALID';
  readonly issues: readonly SchemaIssue[];
}

/**
 * Reads what a model proposed for a tool. What is accepted is the proposal itself in canonical form: defaults and
 * transforms of a schema do not change it; they are applied each time the tool is given its input (`inputOf`). Blank
 * text is `{}`, as some models write a call without arguments. At most 64 KiB and 32 levels, refused before anything
 * is built.
 */
export async function acceptArguments(tool: Tool, raw: string): Promise<AcceptedArguments | RefusedArguments> {
  const read = readArguments(raw);
  if (!read.ok) return read;
  const verdict = await tool.input.check(plainJson(read.value));
  if (!verdict.ok) return refused(verdict.issues);
  return read;
}

/** A proposal read without a tool: a JSON object within the bounds, in canonical form. */
export function readArguments(raw: string): AcceptedArguments | RefusedArguments {
  if (raw.length < 64 && isBlank(raw)) return { ok: true, text: '{}', value: {} };
  try {
    const value = readStrictJson(raw, JSON_PROFILES.operations);
    if (!isJsonObject(value)) return refused([{ path: '', message: 'the arguments must be a JSON object' }]);
    return { ok: true, text: canonicalJson(value), value };
  } catch (error) {
    if (error instanceof HoldfastError) return refused([{ path: '', message: error.message }]);
    throw error;
  }
}

function refused(issues: readonly SchemaIssue[]): RefusedArguments {
  return { ok: false, code: 'TOOL_ARGUMENTS_INVALID', issues };
}

/** What a tool is given: the stored text, read again and let through its schema (with defaults and transforms). */
export async function inputOf(
  tool: Tool,
  text: string,
): Promise<{ readonly ok: true; readonly input: unknown } | RefusedArguments> {
  const read = readArguments(text);
  return read.ok ? inputOfRead(tool, read.value) : read;
}

/** The same for arguments that were read from their text already; the tool is given a copy. */
export async function inputOfRead(
  tool: Tool,
  value: JsonObject,
): Promise<{ readonly ok: true; readonly input: unknown } | RefusedArguments> {
  const verdict = await tool.input.check(plainJson(value));
  return verdict.ok ? { ok: true, input: verdict.value } : refused(verdict.issues);
}

/** The issues as one text for a model or a person, places first. */
export function issuesText(issues: readonly SchemaIssue[]): string {
  return issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`)).join('; ');
}
