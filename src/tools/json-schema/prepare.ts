import { fail, type HoldfastError, LIMITS } from '../../core/index.ts';
import { checkBranching } from './branching.ts';
import {
  dialectOf,
  HARD_KEYWORDS,
  IN_PLACE_KEYWORDS,
  type KeywordShape,
  KEYWORDS,
  REFUSED_KEYWORDS,
} from './keywords.ts';
import { measureJson } from './measure.ts';
import { copyPlainKeyword, isRecord } from './shapes.ts';
import { spendSteps } from './steps.ts';

/** A subschema of the checked copy: only known keywords, in known shapes, no prototype. */
export interface SchemaNode {
  [keyword: string]: unknown;
}
export type Subschema = SchemaNode | boolean;

/** A stranger's schema after every bound was checked. `hard` ones are checked in the worker only. */
export interface PreparedSchema {
  readonly root: Subschema;
  /** Targets of references, by the names that the copy's references carry. */
  readonly lookup: Record<string, Subschema>;
  readonly dialect: '4' | '7' | '2019-09' | '2020-12';
  readonly hard: boolean;
}

export function schemaRefused(reason: string, pointer = ''): HoldfastError {
  const at = pointer === '' ? '' : ` at ${pointer.slice(0, 200)}`;
  return fail('TOOL_SCHEMA_INVALID', `This JSON Schema cannot be used: ${reason}${at}.`);
}

/**
 * Reads a JSON Schema document of unknown origin into a copy that is safe to interpret: bounded in size, depth,
 * nodes and branching, without reference cycles that consume nothing, every keyword in its shape. Throws
 * `TOOL_SCHEMA_INVALID`. References stay inside the document and point at schemas.
 */
export function prepareSchema(document: unknown): PreparedSchema {
  const measured = measureJson(document, { nodes: LIMITS.schemaValues, depth: LIMITS.schemaDepth });
  if (measured === 'nodes') throw schemaRefused(`it has more than ${LIMITS.schemaValues} values`);
  if (measured === 'depth') throw schemaRefused(`it is deeper than ${LIMITS.schemaDepth} levels`);
  if (measured === 'not_json') throw schemaRefused('it is not plain JSON');
  if (Buffer.byteLength(JSON.stringify(document)) > LIMITS.schemaBytes)
    throw schemaRefused(`it is larger than ${LIMITS.schemaBytes} bytes`);
  const dialect = dialectOf(isRecord(document) ? document['$schema'] : undefined);
  if (dialect === null) throw schemaRefused('its `$schema` names a dialect that is not known here');
  const copy = new SchemaCopy();
  const root = copy.schema(document, '', true);
  const lookup = copy.resolveReferences();
  checkBranching(copy.inPlace, LIMITS.schemaBranching);
  return { root, lookup, dialect, hard: copy.hard };
}

class SchemaCopy {
  readonly inPlace = new Map<SchemaNode, SchemaNode[]>();
  hard = false;
  readonly #places = new Map<string, Subschema>();
  readonly #references: { readonly node: SchemaNode; readonly target: string; readonly pointer: string }[] = [];

  schema(value: unknown, pointer: string, isRoot = false): Subschema {
    if (typeof value === 'boolean') {
      this.#places.set(pointer, value);
      return value;
    }
    if (!isRecord(value)) throw schemaRefused('a schema must be an object or a boolean', pointer);
    for (const keyword of REFUSED_KEYWORDS)
      if (Object.hasOwn(value, keyword)) throw schemaRefused(`\`${keyword}\` is not supported`, pointer);
    if (!isRoot && typeof value['$id'] === 'string') throw schemaRefused('a nested `$id` is not supported', pointer);
    const node = Object.create(null) as SchemaNode;
    this.#places.set(pointer, node);
    this.inPlace.set(node, []);
    for (const [keyword, given] of Object.entries(value)) this.#keyword(node, keyword, given, pointer);
    countSteps(node);
    return node;
  }

  #keyword(node: SchemaNode, keyword: string, value: unknown, pointer: string): void {
    if (keyword === '$ref') {
      this.#reference(node, value, pointer);
      return;
    }
    const shape = KEYWORDS.get(keyword);
    if (shape === undefined) return;
    if (HARD_KEYWORDS.has(keyword)) this.hard = true;
    const at = `${pointer}/${escapePointer(keyword)}`;
    const sub: SubschemaCopy = (given, path) => {
      const copied = this.schema(given, path);
      if (IN_PLACE_KEYWORDS.has(keyword) && typeof copied !== 'boolean') this.inPlace.get(node)?.push(copied);
      return copied;
    };
    node[keyword] = copyKeyword(shape, value, at, sub);
  }

  #reference(node: SchemaNode, value: unknown, pointer: string): void {
    if (typeof value !== 'string' || !value.startsWith('#'))
      throw schemaRefused('a `$ref` must point inside the document', pointer);
    let target: string;
    try {
      target = decodeURIComponent(value.slice(1));
    } catch (cause) {
      throw fail('TOOL_SCHEMA_INVALID', 'This JSON Schema cannot be used: a `$ref` is not a valid address.', { cause });
    }
    this.#references.push({ node, target, pointer });
  }

  /** Names each target and ties references to it, so that nothing is looked up by address while checking. */
  resolveReferences(): Record<string, Subschema> {
    const lookup = Object.create(null) as Record<string, Subschema>;
    for (const { node, target, pointer } of this.#references) {
      const found = this.#places.get(target);
      if (found === undefined) throw schemaRefused('a `$ref` points at no schema of this document', pointer);
      const name = `#${target}`;
      lookup[name] = found;
      node['$ref'] = name;
      if (typeof found !== 'boolean') this.inPlace.get(node)?.push(found);
    }
    return lookup;
  }
}

type SubschemaCopy = (given: unknown, path: string) => Subschema;

function copyKeyword(shape: KeywordShape, value: unknown, at: string, sub: SubschemaCopy): unknown {
  if (shape === 'schema') return sub(value, at);
  if (shape === 'schema-or-list') return Array.isArray(value) ? copyList(value, at, sub) : sub(value, at);
  if (shape === 'schema-list') {
    if (!Array.isArray(value)) throw schemaRefused('a list of schemas is needed', at);
    return copyList(value, at, sub);
  }
  if (shape === 'schema-map') return copyMap(value, at, sub);
  if (shape === 'pattern-map')
    return copyMap(value, at, (given, path, key) => {
      copyPlainKeyword('pattern', key, path);
      return sub(given, path);
    });
  if (shape === 'dependency-map')
    return copyMap(value, at, (given, path) =>
      Array.isArray(given) ? copyPlainKeyword('text-list', given, path) : sub(given, path),
    );
  return copyPlainKeyword(shape, value, at);
}

function copyList(list: readonly unknown[], at: string, sub: SubschemaCopy): unknown {
  return list.map((item, i) => sub(item, `${at}/${i}`));
}

function copyMap(value: unknown, at: string, copy: (given: unknown, path: string, key: string) => unknown): unknown {
  if (!isRecord(value)) throw schemaRefused('an object is needed', at);
  const map = Object.create(null) as Record<string, unknown>;
  for (const [key, given] of Object.entries(value)) map[key] = copy(given, `${at}/${escapePointer(key)}`, key);
  return map;
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * The interpreter reads `$recursiveAnchor` each time it enters a subschema. Ours has none, so the read is where steps
 * are counted: wide nodes cost more.
 */
function countSteps(node: SchemaNode): void {
  const cost = 1 + Object.values(node).reduce<number>((sum, value) => sum + widthOf(value), 0);
  Object.defineProperty(node, '$recursiveAnchor', {
    enumerable: false,
    get: () => {
      spendSteps(cost);
      return undefined;
    },
  });
}

function widthOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}
