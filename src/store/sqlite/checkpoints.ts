import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Copied, CheckpointThread } from './checkpoint-thread.ts';
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
/** So many checkpoints before there is a thread. */
const ALONE = 4;
const FEWEST = 8;
const MOST = 50_000;

function scaled(count: number, frames: number): number {
  return Math.min(MOST, Math.max(FEWEST, Math.round((count * FRAMES) / Math.max(1, frames))));
}

/** What was written and bound to all statements since a checkpoint; reset here. */
export interface SinceCheckpoint {
  written: number;
  units: number;
}

export interface CheckpointsOptions {
  readonly database: DatabaseSync;
  readonly file: string;
  /** The settings of a connection, for that of the thread. */
  readonly settings: string;
  /** So many frames were in the WAL when it was copied back. */
  readonly copied: (frames: number) => void;
  /** The driver's error; frames that were not copied stay in the WAL. */
  readonly failed: (error: unknown) => void;
  /** The thread's connection came or went. */
  readonly threadOpened: () => void;
  readonly threadClosed: () => void;
}

/**
 * Decides when the WAL is copied back into the database, and has it done. SQLite would do it inside a commit and would
 * hide an error of its sync. How many frames the WAL has is not told between checkpoints, so each one measures how many
 * groups and statements made how many frames, and the next comes after as many as should make FRAMES.
 *
 * The first four are made between two groups. A process that comes to a fifth writes a lot, and can afford the memory
 * of a thread: from then on that copies while the writer goes on, and what was written meanwhile, which is little, is
 * copied between two groups; only then is all of the WAL copied, and the next commit begins it anew.
 */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  readonly #statement: StatementSync;
  #thread: CheckpointThread | 'none_yet' | 'never' = 'none_yet';
  #state: 'idle' | 'copying' | 'rest_is_due' = 'idle';
  #made = 0;
  /** Groups since the last checkpoint. */
  #groups = 0;
  #dueGroups = FRAMES / 8;
  #dueStatements = FRAMES / 4;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    this.#statement = options.database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** Called after each group, when everybody is told. */
  afterGroup(since: SinceCheckpoint): void {
    this.#groups += 1;
    if (this.#state === 'copying') return;
    if (this.#state === 'rest_is_due') return this.#copyHere(since, false);
    if (!this.#isDue(since)) return;
    const thread = this.#made < ALONE ? undefined : this.#startedThread();
    this.#made += 1;
    if (thread === undefined) this.#copyHere(since, true);
    else this.#copyThere(thread, since);
  }

  /** Ends the thread, after the copy that is under way. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = 'never';
    if (typeof thread === 'string') return;
    await thread.close();
    this.#options.threadClosed();
  }

  #isDue({ written, units }: SinceCheckpoint): boolean {
    return this.#groups >= this.#dueGroups || written >= this.#dueStatements || units >= BOUND_UNITS;
  }

  #startedThread(): CheckpointThread | undefined {
    if (this.#thread === 'never') return undefined;
    if (this.#thread !== 'none_yet') return this.#thread;
    try {
      this.#thread = new CheckpointThread(this.#options.file, this.#options.settings);
      this.#options.threadOpened();
      return this.#thread;
    } catch {
      this.#thread = 'never';
      return undefined;
    }
  }

  #copyThere(thread: CheckpointThread, since: SinceCheckpoint): void {
    const made = this.#begin(since);
    this.#state = 'copying';
    thread.copy((copied) => this.#copiedThere(copied, made));
  }

  #copiedThere(copied: Copied, made: Made): void {
    this.#state = copied.kind === 'busy' ? 'idle' : 'rest_is_due';
    if (copied.kind === 'no_thread') this.#lost();
    if (copied.kind === 'failed') this.#options.failed(copied.error);
    if (copied.kind === 'copied') this.#measured(copied.frames, made);
  }

  /** The thread is gone; its connection went with it, unless that is being closed and told by whoever closes it. */
  #lost(): void {
    if (this.#thread !== 'never') this.#options.threadClosed();
    this.#thread = 'never';
  }

  #copyHere(since: SinceCheckpoint, whole: boolean): void {
    const made = this.#begin(since);
    this.#state = 'idle';
    try {
      const row = this.#statement.get();
      if (row?.['busy'] !== 0) return;
      if (whole) this.#measured(Number(row['log']), made);
      else this.#options.copied(Number(row['log']));
    } catch (error) {
      if (!isBusy(error)) this.#options.failed(error);
    }
  }

  #measured(frames: number, made: Made): void {
    if (frames <= 0) return;
    this.#dueGroups = scaled(made.groups, frames);
    this.#dueStatements = scaled(made.statements, frames);
    this.#options.copied(frames);
  }

  #begin(since: SinceCheckpoint): Made {
    const made = { groups: this.#groups, statements: since.written };
    this.#groups = 0;
    since.written = 0;
    since.units = 0;
    return made;
  }
}

/** What made the frames that are copied. */
interface Made {
  readonly groups: number;
  readonly statements: number;
}
