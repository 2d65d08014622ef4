import type { StatementSync } from 'node:sqlite';
import type { Row, SqlValue } from '../port.ts';

/** A star stands for whatever columns there are when SQLite prepares the text again; `count(*)` is none of those. */
const STAR = /(?<!\(\s*)\*/;

/**
 * Makes the rows of one statement from lists of their values. The driver would give each row as a table of names and
 * values of its own, which takes twice the time and twice the memory.
 */
export class RowShape {
  readonly #names: readonly string[];
  readonly #blank: Record<string, SqlValue>;

  private constructor(names: readonly string[]) {
    this.#names = names;
    this.#blank = blankOf(names);
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
    for (let i = 0; i < names.length; i += 1) row[names[i] as string] = values[i] as SqlValue;
    return row;
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
