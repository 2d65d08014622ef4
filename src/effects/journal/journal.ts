import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  fail,
  type FaultPoints,
  type FileSystem,
  HoldfastError,
  LIMITS,
  makeFolder,
  nodeFileSystem,
  noFaults,
  requireWithin,
} from '../../core/index.ts';
import { assessAll } from '../assess.ts';
import { type EffectHistory, isSettled } from '../history.ts';
import { LogState } from '../log-state.ts';
import type {
  Assessment,
  ClaimInput,
  EffectClaim,
  EffectObservation,
  EffectOutcome,
  EffectRecord,
  ObservationInput,
  OutcomeInput,
} from '../model.ts';
import type { EffectLog } from '../port.ts';
import { interruption, makeClaim, makeObservation, makeOutcome } from '../records.ts';
import { Unwritten } from '../unwritten.ts';
import { checkRunId } from '../validity.ts';
import { inspectFolder, JournalFile } from './journal-file.ts';
import { lineOf } from './line.ts';
import { JournalLock } from './lock.ts';

export interface JournalOptions {
  /** The folder of the journals, such as `effectsDir(dataDir)`. It is made, 0700, with the first claim. */
  readonly directory: string;
  /** False keeps everything in memory: for runs about which nothing must survive. True unless told. */
  readonly durable?: boolean;
  readonly files?: FileSystem;
  readonly faults?: FaultPoints;
  /** How long a write waits for another process that holds the journal. */
  readonly lockWaitMs?: number;
}

/** Outcomes that recovery lets wait for one write: a run may have left more open, and others need room beside them. */
const RECOVERED_AT_ONCE = LIMITS.effectRecordsWaiting / 4;

/** One record that waits for the next shared write. */
interface Waiting {
  readonly type: EffectRecord['type'];
  /** Makes the record at its position; null when it no longer fits. Throws when it never can. */
  readonly make: (state: LogState) => EffectRecord | null;
  readonly resolve: (record: EffectRecord | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The file home of one run's log: JSON Lines, one file a run, append-only. Records that arrive together share one write
 * and one forcing to disk; none is answered before its own line is durable. Nothing is made on disk before the first
 * claim. Several objects, and several processes, may have one journal open.
 */
export class Journal implements EffectLog {
  readonly runId: string;
  /** `<directory>/<run id>.jsonl`; null when not durable. */
  readonly path: string | null;
  readonly #files: FileSystem;
  readonly #file: JournalFile | null;
  readonly #lock: JournalLock | null;
  readonly #unwritten = new Unwritten();
  readonly #durable = new LogState();
  #degraded = false;
  #folderMade = false;
  #queue: Waiting[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(runId: string, options: JournalOptions) {
    this.runId = checkRunId(runId);
    this.#files = options.files ?? nodeFileSystem;
    const stem = `${options.directory}/${this.runId}`;
    this.path = options.durable === false ? null : `${stem}.jsonl`;
    this.#file = this.path === null ? null : new JournalFile(this.path, this.#files, options.faults ?? noFaults);
    this.#lock = this.path === null ? null : new JournalLock(this.#files, `${stem}.lock`, options.lockWaitMs);
  }

  get degraded(): boolean {
    return this.#degraded;
  }

  async claim(input: ClaimInput): Promise<EffectClaim> {
    makeClaim(input, this.runId, 0);
    const made = await this.#wait<EffectClaim>('claim', (state) => ({
      type: 'claim',
      record: makeClaim(input, this.runId, state.next),
    }));
    return made as EffectClaim;
  }

  async outcome(input: OutcomeInput): Promise<EffectOutcome | null> {
    makeOutcome(input, 0);
    return this.#wait<EffectOutcome>('outcome', (state) =>
      state.admitsOutcome(input.effectId) ? { type: 'outcome', record: makeOutcome(input, state.next) } : null,
    );
  }

  async observe(input: ObservationInput): Promise<EffectObservation | null> {
    makeObservation(input, 0);
    return this.#wait<EffectObservation>('observation', (state) =>
      state.hasObservation(input.observationId)
        ? null
        : { type: 'observation', record: makeObservation(input, state.next) },
    );
  }

  async history(): Promise<EffectHistory> {
    await this.#inTurn(() => this.#refreshQuietly());
    return this.#unwritten.over(this.#durable).history();
  }

  async assessments(): Promise<readonly Assessment[]> {
    return assessAll(await this.history());
  }

  async recoverInterrupted(): Promise<readonly EffectOutcome[]> {
    const { claims, outcomes } = await this.history();
    const told = new Set(outcomes.map(({ effectId }) => effectId));
    const open = claims.filter(({ effectId }) => !told.has(effectId));
    const written: (EffectOutcome | null)[] = [];
    for (let i = 0; i < open.length; i += RECOVERED_AT_ONCE) {
      const some = open.slice(i, i + RECOVERED_AT_ONCE);
      written.push(...(await Promise.all(some.map(({ effectId }) => this.#interrupt(effectId)))));
    }
    return written.filter((outcome) => outcome !== null);
  }

  /** Reads what is there now. Throws where `history` would only set `degraded`. */
  async load(): Promise<void> {
    await this.#inTurn(() => this.#file?.refresh(this.#durable));
  }

  async close(): Promise<void> {
    await this.#inTurn(() => this.#lock?.close());
  }

  /** Asked again under the lock: an effect that has an outcome by then, progress included, is left alone. */
  async #interrupt(effectId: string): Promise<EffectOutcome | null> {
    return this.#wait<EffectOutcome>('outcome', (state) =>
      state.latestOutcome(effectId) === undefined
        ? { type: 'outcome', record: makeOutcome(interruption(effectId), state.next) }
        : null,
    );
  }

  #wait<R extends EffectRecord['record']>(
    type: EffectRecord['type'],
    make: (state: LogState) => (EffectRecord & { readonly record: R }) | null,
  ): Promise<R | null> {
    requireWithin('effectRecordsWaiting', this.#queue.length + 1);
    return new Promise<R | null>((resolve, reject) => {
      const tell = (entry: EffectRecord | null): void => resolve((entry?.record ?? null) as R | null);
      this.#queue.push({ type, make, resolve: tell, reject });
      if (this.#queue.length === 1) void this.#flushLater();
    });
  }

  /** Whatever arrives in the same turn of the event loop, or while the lock is waited for, shares the write. */
  async #flushLater(): Promise<void> {
    await nextTurn();
    await this.#inTurn(() => this.#flush());
  }

  /** Looks at the file and writes to it happen one after another. */
  #inTurn(step: () => void | Promise<void>): Promise<void> {
    const done = this.#turn.then(step);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #flush(): Promise<void> {
    if (this.#queue.length === 0) return;
    try {
      if (!this.#needsFile()) return this.#keepAll(this.#queue.splice(0));
      this.#prepareFolder(dirname(this.path ?? ''));
      await this.#lock?.hold(() => this.#write(this.#queue.splice(0)));
    } catch (error) {
      this.#refuseAll(this.#queue.splice(0), error);
    }
  }

  #prepareFolder(folder: string): void {
    if (!this.#folderMade) makeFolder(this.#files, folder);
    this.#folderMade = true;
    inspectFolder(this.#files, folder);
  }

  /** A run that only observes, and knows of no claim and no file, writes none (READ-only runs). */
  #needsFile(): boolean {
    if (this.#file === null) return false;
    if (this.#queue.some((one) => one.type === 'claim') || this.#durable.size > 0) return true;
    return this.#file.exists();
  }

  #keepAll(batch: readonly Waiting[]): void {
    for (const one of batch) this.#keep(one);
  }

  #write(batch: readonly Waiting[]): void {
    const made: { readonly one: Waiting; readonly entry: EffectRecord }[] = [];
    try {
      this.#file?.append(this.#durable, () => {
        const lines: Uint8Array[] = [];
        for (const one of batch)
          this.#place(one, (entry) => {
            lines.push(this.#fit(entry, lines));
            made.push({ one, entry });
          });
        return lines;
      });
    } catch (error) {
      this.#durable.undo(made.map(({ entry }) => entry));
      return this.#refuseAll(made.length > 0 ? made.map(({ one }) => one) : batch, error);
    }
    for (const { one, entry } of made) one.resolve(entry);
  }

  /** Gives a record its position among the durable ones; what does not fit is told at once. */
  #place(one: Waiting, take: (entry: EffectRecord) => void): void {
    try {
      const entry = one.make(this.#unwritten.over(this.#durable));
      if (entry === null) return one.resolve(null);
      this.#durable.add(entry);
      try {
        take(entry);
      } catch (error) {
        this.#durable.undo([entry]);
        throw error;
      }
    } catch (error) {
      one.reject(error);
    }
  }

  /** The line of a record, where the journal has room for it: an ending always has. */
  #fit(entry: EffectRecord, before: readonly Uint8Array[]): Uint8Array {
    const line = lineOf(entry);
    const end = before.reduce((sum, bytes) => sum + bytes.byteLength, this.#file?.end ?? 0) + line.byteLength;
    if (entry.type !== 'outcome' || !isSettled(entry.record)) requireWithin('effectJournalBytes', end);
    return line;
  }

  #refuseAll(batch: readonly Waiting[], error: unknown): void {
    for (const one of batch) this.#refuse(one, error);
  }

  /** A claim that is not durable is thrown; anything else stays known to this process, which is then degraded. */
  #refuse(one: Waiting, error: unknown): void {
    if (one.type === 'claim') return one.reject(notDurable(error));
    this.#degraded = true;
    this.#keep(one);
  }

  #keep(one: Waiting): void {
    try {
      const state = this.#unwritten.over(this.#durable);
      const entry = one.make(state);
      if (entry !== null) this.#unwritten.keep(entry);
      one.resolve(entry);
    } catch (error) {
      one.reject(error);
    }
  }

  #refreshQuietly(): void {
    try {
      this.#file?.refresh(this.#durable);
    } catch {
      this.#degraded = true;
    }
  }
}

/** Opens a run's log; nothing is read or made yet. Throws `EFFECT_RUN_ID_INVALID`. */
export function openJournal(runId: string, options: JournalOptions): Journal {
  return new Journal(runId, options);
}

/**
 * Loads a run's log from its file; a missing file gives an empty one, a torn last line is left out. It changes nothing
 * on disk. Throws `EFFECT_JOURNAL_DAMAGED`, `EFFECT_JOURNAL_UNSAFE` or `EFFECT_NOT_DURABLE` (it cannot be read).
 */
export async function loadJournal(runId: string, options: JournalOptions): Promise<Journal> {
  const journal = new Journal(runId, options);
  try {
    await journal.load();
  } catch (error) {
    throw error instanceof HoldfastError ? error : unreadable(error);
  }
  return journal;
}

function notDurable(cause: unknown): unknown {
  if (cause instanceof HoldfastError) return cause;
  return fail('EFFECT_NOT_DURABLE', 'The claim could not be made durable, so the tool must not run.', { cause });
}

function unreadable(cause: unknown): unknown {
  return fail('EFFECT_NOT_DURABLE', 'The journal cannot be read.', { cause });
}
