import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { fail } from '../../core/index.ts';
import type { Row, RunResult, Sql, SqlParams, SqlValue } from '../port.ts';
import { RowShape } from './row-shape.ts';
import { plannedOnce, readStatementText, type StatementText } from './statement-text.ts';

export interface Prepared extends StatementText {
  readonly text: string;
  readonly statement: StatementSync;
  /** How its rows are made; undefined where the driver makes them. */
  readonly shape: RowShape | undefined;
}

/** Texts are constants; only lists of parameters (`IN (?, ?)`) vary. Beyond this the oldest is prepared anew. */
const MAX_PREPARED = 512;

function refuseValue(index: number, why: string): never {
  throw fail('STORE_VALUE_REFUSED', `Parameter ${index + 1} was refused: ${why}.`, {
    details: { parameter: index + 1 },
  });
}

/** The length of a value that can be stored as it is. */
function checkedLength(value: SqlValue | undefined, index: number): number {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) refuseValue(index, 'its text has a lone surrogate');
    if (value.includes('\0')) refuseValue(index, 'its text has a NUL character');
    return value.length;
  }
  if (typeof value === 'number') {
    if (value - value !== 0) refuseValue(index, 'it is not a finite number');
    return 0;
  }
  if (value === null || typeof value === 'bigint') return 0;
  if (value instanceof Uint8Array) return value.byteLength;
  return refuseValue(index, value === undefined ? 'it is missing' : 'SQL has no such type');
}

/** What the driver would bind as something else without a word is refused here. The length of what is bound. */
function checkParams(prepared: Prepared, params: SqlParams): number {
  if (params.length !== prepared.params)
    throw fail('STORE_SQL_REFUSED', `The statement takes ${prepared.params} parameters, not ${params.length}.`);
  let units = 0;
  for (let i = 0; i < params.length; i += 1) units += checkedLength(params[i], i);
  return units;
}

/** One connection's prepared statements: the only way in which the bodies' SQL reaches SQLite. */
export class Statements {
  readonly #database: DatabaseSync;
  readonly #plain = new Map<string, Prepared>();
  readonly #bigint = new Map<string, Prepared>();
  /** Writing statements since this was last set to 0, and the length of what was bound to all. */
  written = 0;
  units = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  prepare(sql: Sql): Prepared {
    if (typeof sql === 'string') return this.#plain.get(sql) ?? this.#add(this.#plain, sql, false);
    return this.#bigint.get(sql.text) ?? this.#add(this.#bigint, sql.text, true);
  }

  #add(cache: Map<string, Prepared>, text: string, bigints: boolean): Prepared {
    const read = readStatementText(text);
    const statement = this.#database.prepare(plannedOnce(text));
    if (bigints) statement.setReadBigInts(true);
    const [oldest] = cache.size >= MAX_PREPARED ? cache.keys() : [];
    if (oldest !== undefined) cache.delete(oldest);
    const prepared: Prepared = { ...read, text, statement, shape: RowShape.of(statement, text) };
    cache.set(text, prepared);
    return prepared;
  }

  run(prepared: Prepared, params: SqlParams): RunResult {
    this.#bind(prepared, params);
    const result = prepared.statement.run(...(params as SqlValue[]));
    return typeof result.changes === 'number'
      ? (result as RunResult)
      : { changes: Number(result.changes), lastInsertRowid: Number(result.lastInsertRowid) };
  }

  get(prepared: Prepared, params: SqlParams): Row | undefined {
    this.#bind(prepared, params);
    const found: unknown = prepared.statement.get(...(params as SqlValue[]));
    if (prepared.shape === undefined || found === undefined) return found as Row | undefined;
    return prepared.shape.row(found as SqlValue[]);
  }

  all(prepared: Prepared, params: SqlParams): Row[] {
    this.#bind(prepared, params);
    const found: unknown[] = prepared.statement.all(...(params as SqlValue[]));
    const { shape } = prepared;
    return shape === undefined ? (found as Row[]) : found.map((values) => shape.row(values as SqlValue[]));
  }

  #bind(prepared: Prepared, params: SqlParams): void {
    this.units += checkParams(prepared, params);
    if (prepared.writes) this.written += 1;
  }
}
