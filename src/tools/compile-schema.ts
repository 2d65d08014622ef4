import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { fail, LIMITS } from '../core/index.ts';
import { compileJsonSchema, measureJson } from './json-schema/index.ts';
import type { CompiledSchema, JsonSchemaObject, SchemaIssue, SchemaVerdict, ToolSchema } from './model.ts';

/**
 * Makes a schema ready: a Standard Schema checks with its own library and is turned into JSON Schema where it offers
 * that; plain JSON Schema is interpreted, bounded. `shown` is the JSON Schema to show instead.
 */
export function compileSchema(
  schema: ToolSchema,
  direction: 'input' | 'output',
  shown?: JsonSchemaObject,
): CompiledSchema {
  if (!isStandardSchema(schema)) {
    const issuesOf = compileJsonSchema(schema);
    return Object.freeze({
      jsonSchema: frozenDocument(shown ?? schema),
      check: async (value: unknown): Promise<SchemaVerdict> => {
        const issues = await issuesOf(value);
        return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
      },
    });
  }
  return Object.freeze({
    jsonSchema: frozenDocument(shown ?? convert(schema, direction)),
    check: (value: unknown) => checkStandard(schema, value),
  });
}

/** ArkType's schemas are functions, all others objects. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const props: unknown = '~standard' in schema ? schema['~standard'] : undefined;
  return typeof props === 'object' && props !== null && 'validate' in props && typeof props.validate === 'function';
}

function convert(schema: StandardSchemaV1, direction: 'input' | 'output'): JsonSchemaObject {
  const props: Partial<StandardJSONSchemaV1.Props> = schema['~standard'];
  try {
    if (props.jsonSchema !== undefined) return props.jsonSchema[direction]({ target: 'draft-2020-12' });
  } catch (cause) {
    // An output's JSON Schema is a courtesy; without an input's, a model cannot know what to propose.
    if (direction === 'output') return {};
    throw fail('TOOL_SCHEMA_INVALID', 'The input schema has no JSON Schema form; give one as `jsonSchema`.', { cause });
  }
  if (direction === 'output') return {};
  throw fail(
    'TOOL_SCHEMA_INVALID',
    `The input schema's library (${schema['~standard'].vendor.slice(0, 40)}) offers no JSON Schema; give one as \`jsonSchema\`.`,
  );
}

async function checkStandard(schema: StandardSchemaV1, value: unknown): Promise<SchemaVerdict> {
  try {
    const result = await schema['~standard'].validate(value);
    if (result.issues === undefined) return { ok: true, value: result.value };
    return { ok: false, issues: result.issues.slice(0, LIMITS.schemaIssues).map(issueOf) };
  } catch {
    return { ok: false, issues: [{ path: '', message: 'the schema itself failed on this value' }] };
  }
}

function issueOf(issue: StandardSchemaV1.Issue): SchemaIssue {
  const keys = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
  const path = keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return {
    path: path.slice(0, LIMITS.schemaIssueCodePoints),
    message: issue.message.slice(0, LIMITS.schemaIssueCodePoints),
  };
}

function frozenDocument(document: JsonSchemaObject): JsonSchemaObject {
  const measured = measureJson(document, { nodes: LIMITS.schemaValues, depth: LIMITS.schemaDepth });
  const text = typeof measured === 'string' ? undefined : JSON.stringify(document);
  if (text === undefined || Buffer.byteLength(text) > LIMITS.schemaBytes)
    throw fail('TOOL_SCHEMA_INVALID', 'The JSON Schema to show is too large, too deep, or not plain JSON.');
  return deepFreeze(JSON.parse(text) as JsonSchemaObject);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
