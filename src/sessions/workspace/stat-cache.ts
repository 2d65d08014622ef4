import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { errnoOf, type FileFacts, type FileSystem, readFileWithin, sha256Hex, writeAll } from '../../core/index.ts';
import { areRows, type FileTable, rowIs, rowsOf, tableOf } from './file-table.ts';
import type { SeenFile, SkippedName } from './model.ts';

/** Times are kept to this: a change within it of the moment of looking would not be seen. */
const GRAIN_MS = 2000;
const MAX_BYTES = 128 * 1024 * 1024;
/** Raised when the notes, or how a tree is made of them, change: notes of another version are none. */
const VERSION = 1;

/** What is noted of a folder. */
interface Notes {
  readonly version: typeof VERSION;
  readonly table: FileTable;
  /** What was left out, as the walk told it. */
  readonly skipped: readonly SkippedName[];
  /** The tree that was captured. Its contents are those of the table, and more where files were too young to be noted. */
  readonly treeId: string;
  /** Whether the tree has no file that is not in the table. */
  readonly isWhole: boolean;
}

const NOTHING: Notes = { version: VERSION, table: tableOf([]), skipped: [], treeId: '', isWhole: false };

/**
 * What was captured from a folder, by path, size, times, rights and identity, so that unchanged files need not be read
 * again. Only a help: one that is missing, or does not fit its digest, is as good as empty. A file that was changed
 * within two seconds of being looked at is not trusted, since its next change might carry the same time.
 */
export class StatCache {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #notes: Notes;
  readonly #nowMs: number;
  /** The row after the one that was found last: a walk goes the way the last one went. */
  #next = 0;
  #rows: Map<string, number> | undefined;

  constructor(files: FileSystem, cacheFolder: string, directory: string, nowMs: number) {
    this.#files = files;
    this.#path = join(cacheFolder, `${sha256Hex(directory)}.seen`);
    this.#nowMs = nowMs;
    this.#notes = this.#load();
  }

  get table(): FileTable {
    return this.#notes.table;
  }

  /** The tree whose contents the table names; empty where there is none. */
  get treeId(): string {
    return this.#notes.treeId;
  }

  /** The row of an unchanged file. */
  rowOf(path: string, facts: FileFacts): number | undefined {
    const row = this.#find(path);
    if (row === undefined || facts.kind !== 'file' || !rowIs(this.table, row, facts)) return undefined;
    return this.#isSettled(facts) ? row : undefined;
  }

  #find(path: string): number | undefined {
    const { paths } = this.table;
    if (paths[this.#next] !== path) {
      this.#rows ??= new Map(paths.map((one, row) => [one, row]));
      const row = this.#rows.get(path);
      if (row === undefined) return undefined;
      this.#next = row;
    }
    this.#next += 1;
    return this.#next - 1;
  }

  #isSettled(facts: SeenFile): boolean {
    return this.#nowMs - Math.max(facts.modifiedMs, facts.changedMs) > GRAIN_MS;
  }

  /**
   * The tree of a walk that found this. It is the noted one when the walk found all files of the table as they were, in
   * their order, and no other, and left out the same names for the same reasons: the tree's document is made of nothing
   * else, so it would be the same to the byte.
   */
  treeOf(table: FileTable, skipped: readonly SkippedName[]): string | undefined {
    const { isWhole, treeId } = this.#notes;
    return isWhole && table === this.table && sameNames(skipped, this.#notes.skipped) ? treeId : undefined;
  }

  /**
   * Notes what was captured where that helps more than what is noted. Not synced: it may be lost, never half. Where the
   * disk takes no notes there are none: the next capture reads more.
   */
  save(table: FileTable, skipped: readonly SkippedName[], treeId: string, temporaryName: string): void {
    if (this.treeOf(table, skipped) === treeId) return;
    // Files that were changed too recently are not noted.
    const all = rowsOf(table);
    const settled = all.filter((row) => this.#isSettled(row));
    const isWhole = settled.length === all.length;
    if (!isWhole && !this.#notes.isWhole && areRows(this.table, settled)) return;
    const notes: Notes = { version: VERSION, table: tableOf(settled), skipped, treeId, isWhole };
    const body = serialize(notes);
    const temporary = `${this.#path}.${temporaryName}`;
    try {
      this.#write(temporary, Buffer.concat([Buffer.from(sha256Hex(body)), body]));
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      removeQuietly(this.#files, temporary);
    }
  }

  #write(temporary: string, bytes: Uint8Array): void {
    const fd = this.#files.open(temporary, 'wx', 0o600);
    try {
      writeAll(this.#files, fd, bytes);
    } finally {
      this.#files.close(fd);
    }
    this.#files.rename(temporary, this.#path);
  }

  #load(): Notes {
    return readNotes(this.#files, this.#path);
  }
}

function readNotes(files: FileSystem, path: string): Notes {
  try {
    const bytes = Buffer.from(readFileWithin(files, path, MAX_BYTES) ?? []);
    const body = bytes.subarray(64);
    if (bytes.toString('latin1', 0, 64) !== sha256Hex(body)) return NOTHING;
    const notes = deserialize(body) as Notes;
    return notes.version === VERSION ? notes : NOTHING;
  } catch {
    return NOTHING;
  }
}

/** The tree that the notes in a file are of; empty where nothing can be read there. */
export const notedTree = (files: FileSystem, path: string): string => readNotes(files, path).treeId;

/** Whether a name in the folder of notes is of some that were never finished. */
export const isHalfNote = (name: string): boolean => /\.seen\./.test(name);

function removeQuietly(files: FileSystem, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // It is not there, or goes with a collection.
  }
}

function sameNames(some: readonly SkippedName[], others: readonly SkippedName[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ path, reason }, i) => path === others[i]?.path && reason === others[i].reason)
  );
}

export function sameFile(seen: SeenFile, facts: FileFacts): boolean {
  return (
    facts.kind === 'file' &&
    seen.size === facts.size &&
    seen.modifiedMs === facts.modifiedMs &&
    seen.changedMs === facts.changedMs &&
    seen.identity === facts.identity
  );
}
