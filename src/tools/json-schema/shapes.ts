import { fail, LIMITS } from '../../core/index.ts';
import { type KeywordShape, TYPE_NAMES } from './keywords.ts';

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

type PlainShape = Exclude<
  KeywordShape,
  'schema' | 'schema-list' | 'schema-or-list' | 'schema-map' | 'pattern-map' | 'dependency-map'
>;

const CHECKS: Record<PlainShape, (value: unknown) => boolean> = {
  any: () => true,
  boolean: (value) => typeof value === 'boolean',
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  'number-or-boolean': (value) => typeof value === 'number' || typeof value === 'boolean',
  positive: (value) => typeof value === 'number' && value > 0,
  count: (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
  list: (value) => Array.isArray(value) && value.length <= LIMITS.schemaEnumItems,
  'text-list': isTextList,
  'text-list-map': (value) => isRecord(value) && Object.values(value).every(isTextList),
  type: (value) => TYPE_NAMES.has(value) || (Array.isArray(value) && value.every((name) => TYPE_NAMES.has(name))),
  pattern: (value) => typeof value === 'string' && value.length <= LIMITS.schemaPatternCodePoints && compiles(value),
};

// Compiling reads the pattern once; only matching can take long, and that happens in the worker.
function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** A copy of a keyword's value that holds no schemas. Throws `TOOL_SCHEMA_INVALID` when it has another shape. */
export function copyPlainKeyword(shape: PlainShape, value: unknown, at: string): unknown {
  if (!CHECKS[shape](value))
    throw fail('TOOL_SCHEMA_INVALID', `This JSON Schema cannot be used: a wrong value at ${at.slice(0, 200)}.`);
  return structuredClone(value);
}
