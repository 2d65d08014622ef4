import type { SeenFile } from './model.ts';

/** A file as a capture saw it. */
export interface FileRow extends SeenFile {
  readonly path: string;
  /** SHA-256 of the content. */
  readonly blob: string;
  /** Permission bits, 0 to 0o777. */
  readonly mode: number;
}

/**
 * Files in the order of a capture's walk, a list for each fact: ten thousand files as objects would take longer to make
 * than to look at.
 */
export interface FileTable {
  readonly paths: readonly string[];
  readonly identities: readonly string[];
  /** The digests of the contents, 64 digits each, one after another. */
  readonly blobs: string;
  readonly sizes: Float64Array;
  readonly modifiedMs: Float64Array;
  readonly changedMs: Float64Array;
  readonly modes: Uint16Array;
}

export function tableOf(rows: readonly FileRow[]): FileTable {
  return {
    paths: rows.map((row) => row.path),
    identities: rows.map((row) => row.identity),
    blobs: rows.map((row) => row.blob).join(''),
    sizes: Float64Array.from(rows, (row) => row.size),
    modifiedMs: Float64Array.from(rows, (row) => row.modifiedMs),
    changedMs: Float64Array.from(rows, (row) => row.changedMs),
    modes: Uint16Array.from(rows, (row) => row.mode),
  };
}

export const blobAt = (table: FileTable, row: number): string => table.blobs.slice(row * 64, (row + 1) * 64);

export function rowAt(table: FileTable, row: number): FileRow {
  return {
    path: table.paths[row] as string,
    identity: table.identities[row] as string,
    blob: blobAt(table, row),
    size: table.sizes[row] as number,
    modifiedMs: table.modifiedMs[row] as number,
    changedMs: table.changedMs[row] as number,
    mode: table.modes[row] as number,
  };
}

export function rowsOf(table: FileTable): FileRow[] {
  return table.paths.map((_, row) => rowAt(table, row));
}

/** Whether a table has these rows and no others. */
export function areRows(table: FileTable, rows: readonly FileRow[]): boolean {
  const isSame = (row: FileRow, at: number): boolean =>
    table.paths[at] === row.path && blobAt(table, at) === row.blob && rowIs(table, at, row);
  return table.paths.length === rows.length && rows.every(isSame);
}

/** Whether a row says of a file what there is of it now. */
export function rowIs(table: FileTable, row: number, facts: Omit<FileRow, 'path' | 'blob'>): boolean {
  return (
    table.sizes[row] === facts.size &&
    table.modifiedMs[row] === facts.modifiedMs &&
    table.changedMs[row] === facts.changedMs &&
    table.modes[row] === (facts.mode & 0o777) &&
    table.identities[row] === facts.identity
  );
}

/**
 * The table of a walk that is under way. While the walk finds, row for row, what `before` says, it only counts; one that
 * ends like that has `before` itself for its table.
 */
export class TableBuilder {
  readonly #before: FileTable;
  /** Null while the walk agrees with `before`. */
  #rows: FileRow[] | null = null;
  #agreed = 0;

  constructor(before: FileTable) {
    this.#before = before;
  }

  /** A file that is what a row of `before` says. */
  known(row: number): void {
    if (this.#rows === null && row === this.#agreed) this.#agreed += 1;
    else this.#own().push(rowAt(this.#before, row));
  }

  /** A file that was read. */
  read(row: FileRow): void {
    this.#own().push(row);
  }

  #own(): FileRow[] {
    return (this.#rows ??= Array.from({ length: this.#agreed }, (_, row) => rowAt(this.#before, row)));
  }

  finish(): FileTable {
    const agrees = this.#rows === null && this.#agreed === this.#before.paths.length;
    return agrees ? this.#before : tableOf(this.#own());
  }
}
