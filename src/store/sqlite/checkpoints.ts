import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isBusy } from './driver-errors.ts';

/**
 * Frames of the WAL after which it is copied back: 32 MB of them. A page that was written several times since is copied
 * once, and of a large database the pages of an index over digests come up again only after thousands of writes. A
 * longer file would make the first round dear (a sync of a file that grows costs about twice that of one that is
 * written over) and a start after a crash slow.
 */
const FRAMES = 8_000;
/** Text and blobs that were bound since the last checkpoint: one large value makes many frames. */
const BOUND_UNITS = 8 * 1024 * 1024;
const FEWEST = 8;
const MOST = 50_000;

function scaled(count: number, frames: number): number {
  return Math.min(MOST, Math.max(FEWEST, Math.round((count * FRAMES) / Math.max(1, frames))));
}

/**
 * Decides when the WAL is copied back into the database, and does it. SQLite would do it inside a commit and would hide
 * an error of its sync. How many frames the WAL has is not told between checkpoints, so each one measures how many
 * groups and statements made how many frames, and the next comes after as many as should make FRAMES.
 */
export class Checkpoints {
  readonly #statement: StatementSync;
  /** Groups since the last checkpoint. */
  #groups = 0;
  #dueGroups = FRAMES / 8;
  #dueStatements = FRAMES / 4;

  constructor(database: DatabaseSync) {
    this.#statement = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** Called after each group, with what was written and bound since the last checkpoint. */
  isDue(statements: number, units: number): boolean {
    this.#groups += 1;
    return this.#groups >= this.#dueGroups || statements >= this.#dueStatements || units >= BOUND_UNITS;
  }

  /** Copies what no reader needs any more. The frames that the WAL had, or undefined where another process is at it. */
  run(statements: number): number | undefined {
    const groups = this.#groups;
    this.#groups = 0;
    const frames = this.#copy();
    if (frames === undefined || frames <= 0) return undefined;
    this.#dueGroups = scaled(groups, frames);
    this.#dueStatements = scaled(statements, frames);
    return frames;
  }

  #copy(): number | undefined {
    try {
      const row = this.#statement.get();
      return row?.['busy'] === 0 ? Number(row['log']) : undefined;
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw error;
    }
  }
}
