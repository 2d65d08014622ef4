/**
 * What SQL takes and gives. Booleans are stored as 0 and 1 by the caller; dates as integers or text. A `number` is
 * bound as a real, which a STRICT INTEGER column takes exactly; in an expression or a TEXT column give text or `bigint`.
 */
export type SqlValue = string | number | bigint | null | Uint8Array;
export type SqlParams = readonly SqlValue[];
/** A row: an object keyed by column name. It may have no prototype: spread it before it is compared. */
export type Row = Readonly<Record<string, SqlValue>>;

/** SQL text, or SQL text whose integer columns may pass 2^53 and are therefore read as `bigint`. */
export type Sql = string | { readonly text: string; readonly integers: 'bigint' };

/** A view of committed data. Only valid inside the body it was given to. */
export interface ReadTx {
  /** The first row, or undefined. Parameters are positional (`?`). */
  get<R extends Row = Row>(sql: Sql, params?: SqlParams): Promise<R | undefined>;
  all<R extends Row = Row>(sql: Sql, params?: SqlParams): Promise<R[]>;
}

export interface RunResult {
  /** Rows that the statement changed itself: 0 is an answer, not an error. */
  readonly changes: number;
  readonly lastInsertRowid: number;
}

/** A write transaction: also reads what it has itself written. A body may await nothing but its own `tx`. */
export interface Tx extends ReadTx {
  run(sql: Sql, params?: SqlParams): Promise<RunResult>;
}

/**
 * A durable store. `write` settles once its body is durable or rolled back, never before; `read` sees committed data
 * only. Bodies may be run again (a neighbour's failure can undo their group), so they must not have effects of their
 * own beyond `tx`. `name` is for the observer and for messages: `operations.reserve`.
 */
export interface Store {
  write<T>(name: string, body: (tx: Tx) => Promise<T>): Promise<T>;
  read<T>(name: string, body: (tx: ReadTx) => Promise<T>): Promise<T>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
