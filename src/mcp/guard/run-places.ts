import type { CallPlace, PreparedCall } from '../../calls/index.ts';
import { fail, LIMITS } from '../../core/index.ts';
import type { ReadTx } from '../../store/index.ts';

/**
 * A run's record of effects is bounded. Past half of it the next run begins, in the same session, which leaves the
 * other half to the calls that are under way or wait for a person.
 */
const MOST = LIMITS.effectRecordsPerRun / 2;

/** Begins and ends the runs of one guard. */
export interface RunKeeper {
  /** The run that goes on after this one. */
  next(after: CallPlace): Promise<CallPlace>;
  /**
   * The run in which calls go on after this one was taken from this process, which takes itself for a new one. Null
   * where they do not go on, since a person has asked to stop this one.
   */
  anew(after: CallPlace): Promise<CallPlace | null>;
  /** Nothing is under way in this run any more. */
  end(place: CallPlace): Promise<void>;
}

/** How a run stands, as this transaction sees it: asked to stop, or taken from this process as from a dead one. */
export type StandingOf = (tx: ReadTx, place: CallPlace) => Promise<'open' | 'stopped' | 'lost'>;

/** The run of a call was taken from this process: the call is begun in another, or not at all. */
export class LostRun extends Error {
  constructor() {
    super('the run was taken from this process');
  }
}

/**
 * Nothing more of a run is begun once it was asked to stop, or taken from this process. Asked in the transaction that
 * begins. Throws CALL_SKIPPED, LostRun.
 */
export async function requireOpen(tx: ReadTx, standingOf: StandingOf, place: CallPlace): Promise<void> {
  const standing = await standingOf(tx, place);
  if (standing === 'open') return;
  if (standing === 'lost') throw new LostRun();
  const resolve = 'Start the guard anew: its calls then stand in a run of their own.';
  throw fail('CALL_SKIPPED', 'The run of this guard was stopped; nothing more of it is begun.', { resolve });
}

export interface RunPlacesOptions {
  readonly place: CallPlace;
  readonly runs: RunKeeper;
  /** Whether a call of this run waits for a person. */
  readonly waitsIn: (place: CallPlace) => boolean;
  readonly tell: (line: string) => void;
}

/** The run under which the calls of a guard are made: another one after many calls, and where one was taken from it. */
export class RunPlaces {
  readonly #options: RunPlacesOptions;
  /** Calls under way by run, the newest run last. */
  readonly #under = new Map<CallPlace, number>();
  #now: CallPlace;
  #spent = 0;
  #turning: Promise<void> | null = null;

  constructor(options: RunPlacesOptions) {
    this.#options = options;
    this.#now = options.place;
    this.#under.set(this.#now, 0);
  }

  /** The run of a call that begins, or goes on in the run where it waited; `leave` it when the call has ended. */
  enter(place: CallPlace = this.#now): CallPlace {
    this.#under.set(place, (this.#under.get(place) ?? 0) + 1);
    return place;
  }

  leave(place: CallPlace): void {
    this.#under.set(place, (this.#under.get(place) ?? 1) - 1);
  }

  /** A call of this run begins to write: it leaves a claim, an outcome, and what is seen of each thing it names. */
  writes(place: CallPlace, { resourceKeys }: Pick<PreparedCall, 'resourceKeys'>): void {
    if (place !== this.#now) return;
    this.#spent += 2 + resourceKeys.length;
    if (this.#spent >= MOST) this.#turning ??= this.#turn();
  }

  /**
   * This run was taken from this process: from now on calls are made in another, which is begun once, whoever asks.
   * Throws what the store throws; then it is tried again with the next call.
   */
  async lost(place: CallPlace): Promise<void> {
    while (this.#turning) await this.#turning;
    if (place !== this.#now) return;
    const anew = this.#goOnAnew(place);
    const settled = (): void => void (this.#turning = null);
    this.#turning = anew.then(settled, settled);
    return anew;
  }

  async #goOnAnew(before: CallPlace): Promise<void> {
    const next = await this.#options.runs.anew(before);
    // A run that was stopped says so to the call, which is tried again in it.
    if (next === null) return;
    this.#now = next;
    this.#spent = 0;
    this.#under.set(this.#now, 0);
    this.#options.tell(
      `run ${before.runId} was taken for one of a dead process, as while a machine sleeps; calls go on in run ${this.#now.runId}`,
    );
  }

  /** Settles when no run is being begun or ended. */
  async settled(): Promise<void> {
    await this.#turning;
  }

  async #turn(): Promise<void> {
    const before = this.#now;
    try {
      this.#now = await this.#options.runs.next(before);
      this.#spent = 0;
      this.#under.set(this.#now, 0);
      // The run that was left just now may still be written to: it ends with the next turn, or with the guard.
      for (const place of this.#under.keys()) if (place !== before && this.#isOver(place)) await this.#end(place);
    } catch (error) {
      this.#tell(error);
    } finally {
      this.#turning = null;
    }
  }

  #tell(error: unknown): void {
    const why = error instanceof Error ? error.message : 'the ledger failed';
    this.#options.tell(`a run could not be begun or ended: ${why}`);
  }

  #isOver(place: CallPlace): boolean {
    return place !== this.#now && this.#under.get(place) === 0 && !this.#options.waitsIn(place);
  }

  /** One that cannot be ended, since it was taken from this process, keeps no other from its end. */
  async #end(place: CallPlace): Promise<void> {
    this.#under.delete(place);
    try {
      await this.#options.runs.end(place);
    } catch (error) {
      this.#tell(error);
    }
  }
}
