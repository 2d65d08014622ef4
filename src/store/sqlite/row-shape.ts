import type { StatementSync } from 'node:sqlite';
import type { Row, SqlValue } from '../port.ts';

/** A star stands for whatever columns there are when SQLite prepares the text again; `count(*)` is none of those. */
const STAR = /(?<!\(\s*)\*/;

/** What is kept of a column is as long as a digest at most, and kept no more after so many rows that all differed. */
const SHORT = 64;
const DIFFERENT = 64;

/**
 * Makes the rows of one statement from lists of their values. The driver would give each row as a table of names and
 * values of its own, which takes twice the time and twice the memory.
 */
export class RowShape {
  readonly #names: readonly string[];
  readonly #blank: Record<string, SqlValue>;
  /** The short text that a column gave last; undefined once so many in a row differed that it seems to hold ids. */
  readonly #last: (string | undefined)[];
  readonly #differed: number[];

  private constructor(names: readonly string[]) {
    this.#names = names;
    this.#blank = blankOf(names);
    this.#last = names.map(() => '');
    this.#differed = names.map(() => 0);
  }

  /**
   * Has the statement give lists, and answers how they are read; undefined where its rows come as the driver makes
   * them: it has none, its text does not name its columns, or Node.js is too old for lists.
   */
  static of(statement: StatementSync, text: string): RowShape | undefined {
    if (STAR.test(text) || typeof statement.setReturnArrays !== 'function') return undefined;
    const names = statement.columns().map(({ name }) => name);
    if (names.length === 0) return undefined;
    statement.setReturnArrays(true);
    return new RowShape(names);
  }

  row(values: readonly SqlValue[]): Row {
    const row = { ...this.#blank };
    const names = this.#names;
    for (let i = 0; i < names.length; i += 1) row[names[i] as string] = this.#shared(values[i] as SqlValue, i);
    return row;
  }

  /** The driver makes a text anew for each row, and many columns hold a few words: rows that are kept share them. */
  #shared(value: SqlValue, column: number): SqlValue {
    const last = this.#last[column];
    if (last === undefined || typeof value !== 'string' || value.length > SHORT) return value;
    if (value === last) {
      this.#differed[column] = 0;
      return last;
    }
    const differed = ((this.#differed[column] as number) += 1);
    this.#last[column] = differed < DIFFERENT ? value : undefined;
    return value;
  }
}

/**
 * The row that all rows are copies of. Only an object that was read from JSON has room for so many columns in itself,
 * and every column has held every kind of value, so that none of them makes V8 lay the rows out anew.
 */
function blankOf(names: readonly string[]): Record<string, SqlValue> {
  const blank = JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, null])))) as Record<
    string,
    SqlValue
  >;
  for (const value of [1, 0.5, '', null]) for (const name of names) blank[name] = value;
  return blank;
}
