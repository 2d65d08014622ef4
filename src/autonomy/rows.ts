import { canonicalJson, JSON_PROFILES, type JsonValue, readCanonicalJson } from '../core/index.ts';
import type { Row, SqlValue } from '../store/index.ts';
import { unproved } from './errors.ts';

/** Columns whose text stays a text although its name says JSON: a digest is taken over it as it is. */
const TEXTS: ReadonlySet<string> = new Set(['assessment_envelope_json']);
const holdsJson = (column: string): boolean => column.endsWith('_json') && !TEXTS.has(column);
const memberOf = (column: string): string => (holdsJson(column) ? column.slice(0, -'_json'.length) : column);

/** A table by its columns: the text that inserts, and how its rows become documents and back. */
export interface TableCodec<T> {
  readonly insert: string;
  /** `UPDATE … SET` of every column, for a WHERE that names the state it leaves. */
  readonly update: string;
  /** The columns, for a SELECT, with a prefix such as `r.`. */
  readonly columns: (prefix?: string) => string;
  readonly params: (document: T) => SqlValue[];
  /** A document of a row. A JSON text that is not canonical was not written by us: AUTO_PROOF_FAILED. */
  readonly read: (row: Row) => T;
}

export function tableCodec<T extends object>(table: string, columns: readonly string[]): TableCodec<T> {
  const marks = columns.map(() => '?').join(', ');
  return {
    insert: `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`,
    update: `UPDATE ${table} SET ${columns.map((column) => `${column} = ?`).join(', ')}`,
    columns: (prefix = '') => columns.map((column) => prefix + column).join(', '),
    params: (document) =>
      columns.map((column) => stored(column, (document as Record<string, JsonValue>)[memberOf(column)])),
    read: (row) => Object.fromEntries(columns.map((column) => [memberOf(column), valueOf(column, row[column])])) as T,
  };
}

function stored(column: string, value: JsonValue | undefined): SqlValue {
  if (value == null) return null;
  return holdsJson(column) ? canonicalJson(value) : (value as SqlValue);
}

function valueOf(column: string, value: SqlValue | undefined): JsonValue {
  if (value == null) return null;
  if (holdsJson(column)) return storedJson(String(value));
  return typeof value === 'bigint' ? numberOf(value) : (value as JsonValue);
}

/** A number of a row that was read exactly, so that one beyond 2^53 is the end of this row alone. */
function numberOf(value: bigint): number {
  if (Number.isSafeInteger(Number(value))) return Number(value);
  throw unproved('run', 'a stored number is beyond 2^53');
}

export function storedJson(text: string): JsonValue {
  try {
    return readCanonicalJson(text, JSON_PROFILES.packages);
  } catch (cause) {
    throw unproved('run', 'a stored value is not canonical JSON', cause);
  }
}
