/**
 * The check that a column holds one of some words. `IN` would say the same, but SQLite builds a table of more than two
 * words anew at each write of a row, which costs more than a small row itself.
 */
export function checkOneOf(column: string, ...words: readonly string[]): string {
  return `CHECK (${words.map((word) => `${column} = '${word}'`).join(' OR ')})`;
}
