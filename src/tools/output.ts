import {
  asJsonValue,
  canonicalJson,
  comparableName,
  HoldfastError,
  isJsonObject,
  JSON_PROFILES,
  type JsonProfile,
  type JsonValue,
  keptJson,
  LIMITS,
  plainJson,
  readCanonicalJson,
} from '../core/index.ts';
import { issuesText } from './arguments.ts';
import type { Tool } from './model.ts';

/** A result as it is stored and shown: one canonical text. */
export interface AcceptedOutput {
  readonly ok: true;
  readonly text: string;
  readonly value: JsonValue;
}

export interface RefusedOutput {
  readonly ok: false;
  readonly problems: readonly string[];
}

const OUTPUT_PROFILE: JsonProfile = {
  ...JSON_PROFILES.operations,
  name: 'tool output',
  bytes: LIMITS.toolOutputBytes,
  depth: LIMITS.toolOutputDepth,
  stringCodePoints: LIMITS.toolOutputBytes,
  members: LIMITS.operationsJsonValues,
  items: LIMITS.operationsJsonValues,
};

/**
 * Judges what a tool returned: JSON within the tool's limits, no secret field, what the output schema lets through
 * (that is what is kept, so that a schema can leave fields out), and no violation of `checkOutput`. A tool that
 * returns nothing returns null. Bounds are checked before text is made. Never throws.
 */
export async function acceptOutput(
  tool: Tool,
  returned: unknown,
  input: unknown,
): Promise<AcceptedOutput | RefusedOutput> {
  const raw = withinLimits(tool, returned === undefined ? null : returned);
  if (!raw.ok) return raw;
  const shaped = await throughSchema(tool, raw);
  if (!shaped.ok) return shaped;
  const violations = ruleViolations(tool, shaped.value, input);
  return violations.length === 0 ? shaped : refused(violations);
}

/** Judges a stored result again, as an audit does: the text must be canonical and still be exactly what is accepted. */
export async function storedOutputProblems(tool: Tool, text: string, input: unknown): Promise<readonly string[]> {
  try {
    const verdict = await acceptOutput(tool, readCanonicalJson(text, OUTPUT_PROFILE), input);
    if (!verdict.ok) return verdict.problems;
    return verdict.text === text ? [] : ['the output schema lets another value through than the one that is stored'];
  } catch (error) {
    if (error instanceof HoldfastError) return [error.message];
    throw error;
  }
}

function refused(problems: readonly string[]): RefusedOutput {
  return { ok: false, problems: problems.slice(0, LIMITS.toolOutputProblems) };
}

function withinLimits(tool: Tool, returned: unknown): AcceptedOutput | RefusedOutput {
  const { maxBytes, maxDepth } = tool.outputLimits;
  try {
    // The tool may go on changing what it returned: what is judged, stored and told is one value.
    const value = keptJson(asJsonValue(returned, OUTPUT_PROFILE));
    const shape = measureOutput(value, new Set(tool.secretFields), maxBytes);
    const problems = shape.secrets.map((name) => `the output has the secret field '${name.slice(0, 64)}'`);
    const text = shape.atLeastBytes > maxBytes ? null : canonicalJson(value);
    if (text === null || Buffer.byteLength(text) > maxBytes)
      problems.push(`the output is larger than ${maxBytes} bytes`);
    if (shape.depth > maxDepth) problems.push(`the output is deeper than ${maxDepth} levels`);
    return text === null || problems.length > 0 ? refused(problems) : { ok: true, text, value };
  } catch (error) {
    if (error instanceof HoldfastError) return refused([error.message]);
    return refused(['the output could not be read']);
  }
}

interface OutputShape {
  readonly secrets: readonly string[];
  readonly depth: number;
  /** A lower bound of the size of the text, so that a large one is never made. */
  readonly atLeastBytes: number;
}

function measureOutput(value: JsonValue, secretNames: ReadonlySet<string>, maxBytes: number): OutputShape {
  const secrets = new Set<string>();
  let depth = 0;
  let bytes = 0;
  const visit = (item: JsonValue, level: number): void => {
    bytes += typeof item === 'string' ? item.length + 2 : 1;
    if (bytes > maxBytes) return;
    if (Array.isArray(item)) {
      depth = Math.max(depth, level + 1);
      for (const child of item) visit(child, level + 1);
    } else if (isJsonObject(item)) {
      depth = Math.max(depth, level + 1);
      for (const [key, child] of Object.entries(item)) {
        bytes += key.length + 3;
        if (secretNames.has(comparableName(key))) secrets.add(key);
        visit(child, level + 1);
      }
    }
  };
  visit(value, 0);
  return { secrets: [...secrets], depth, atLeastBytes: bytes };
}

async function throughSchema(tool: Tool, raw: AcceptedOutput): Promise<AcceptedOutput | RefusedOutput> {
  if (tool.output === null) return raw;
  const first = await tool.output.check(plainJson(raw.value));
  if (!first.ok) return refused([issuesText(first.issues)]);
  const shaped = withinLimits(tool, first.value === undefined ? null : first.value);
  if (!shaped.ok || shaped.text === raw.text) return shaped;
  // What is stored is judged again later, so a schema must let its own output through unchanged.
  const second = await tool.output.check(plainJson(shaped.value));
  if (!second.ok) return refused(['the output schema refuses what it made itself']);
  const settled = withinLimits(tool, second.value === undefined ? null : second.value);
  if (!settled.ok) return settled;
  return settled.text === shaped.text ? shaped : refused(['the output schema changes what it made itself']);
}

function ruleViolations(tool: Tool, output: JsonValue, input: unknown): readonly string[] {
  if (tool.checkOutput === null) return [];
  try {
    return tool
      .checkOutput(plainJson(output), input)
      .map((text) => String(text).slice(0, LIMITS.schemaIssueCodePoints));
  } catch {
    return ['the rules of the output could not be checked'];
  }
}
