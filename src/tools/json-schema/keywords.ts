/** What the value of a keyword must look like, and so how it is copied and what it leads to. */
export type KeywordShape =
  | 'schema'
  | 'schema-list'
  | 'schema-or-list'
  | 'schema-map'
  | 'pattern-map'
  | 'dependency-map'
  | 'text-list-map'
  | 'text-list'
  | 'type'
  | 'pattern'
  | 'text'
  | 'number'
  | 'number-or-boolean'
  | 'positive'
  | 'count'
  | 'boolean'
  | 'list'
  | 'any';

/** Every keyword that constrains a value. Others are annotations to us, and are not carried into the checked copy. */
export const KEYWORDS: ReadonlyMap<string, KeywordShape> = new Map<string, KeywordShape>([
  ['$defs', 'schema-map'],
  ['definitions', 'schema-map'],
  ['type', 'type'],
  ['const', 'any'],
  ['enum', 'list'],
  ['required', 'text-list'],
  ['not', 'schema'],
  ['anyOf', 'schema-list'],
  ['allOf', 'schema-list'],
  ['oneOf', 'schema-list'],
  ['if', 'schema'],
  ['then', 'schema'],
  ['else', 'schema'],
  ['format', 'text'],
  ['properties', 'schema-map'],
  ['patternProperties', 'pattern-map'],
  ['additionalProperties', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['minProperties', 'count'],
  ['maxProperties', 'count'],
  ['propertyNames', 'schema'],
  ['dependentRequired', 'text-list-map'],
  ['dependentSchemas', 'schema-map'],
  ['dependencies', 'dependency-map'],
  ['prefixItems', 'schema-list'],
  ['items', 'schema-or-list'],
  ['additionalItems', 'schema'],
  ['unevaluatedItems', 'schema'],
  ['contains', 'schema'],
  ['minContains', 'count'],
  ['maxContains', 'count'],
  ['minItems', 'count'],
  ['maxItems', 'count'],
  ['uniqueItems', 'boolean'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['exclusiveMinimum', 'number-or-boolean'],
  ['exclusiveMaximum', 'number-or-boolean'],
  ['multipleOf', 'positive'],
  ['minLength', 'count'],
  ['maxLength', 'count'],
  ['pattern', 'pattern'],
]);

/** Keywords that aim at a schema by a name found while checking. They would need a second way to follow references. */
export const REFUSED_KEYWORDS: readonly string[] = ['$dynamicRef', '$recursiveRef'];

/** Keywords whose cost is not bounded by counting steps: they are checked in the worker, under a deadline. */
export const HARD_KEYWORDS: ReadonlySet<string> = new Set([
  'pattern',
  'patternProperties',
  'uniqueItems',
  'format',
  'unevaluatedProperties',
  'unevaluatedItems',
]);

/** Keywords whose subschemas look at the same value as the schema they stand in. */
export const IN_PLACE_KEYWORDS: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
]);

export const TYPE_NAMES: ReadonlySet<unknown> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);

/** The dialects that `$schema` may name. */
export function dialectOf(schemaUri: unknown): '4' | '7' | '2019-09' | '2020-12' | null {
  if (schemaUri === undefined) return '2020-12';
  if (typeof schemaUri !== 'string') return null;
  const known = /^https?:\/\/json-schema\.org\/(?:draft\/(2020-12|2019-09)|draft-0?([467]))\/schema#?$/.exec(schemaUri);
  if (!known) return null;
  if (known[1] === '2020-12' || known[1] === '2019-09') return known[1];
  return known[2] === '4' ? '4' : '7';
}
