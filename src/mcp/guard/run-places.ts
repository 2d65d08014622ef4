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
  /** Nothing is under way in this run any more. */
  end(place: CallPlace): Promise<void>;
}

/** Whether somebody asked a run to stop, as this transaction sees it. */
export type IsStopped = (tx: ReadTx, place: CallPlace) => Promise<boolean>;

/** Nothing more of a run is begun once it was asked to stop. Throws CALL_SKIPPED. */
export async function refuseStopped(tx: ReadTx, isStopped: IsStopped, place: CallPlace): Promise<void> {
  if (!(await isStopped(tx, place))) return;
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

/** The run under which the calls of a guard are made: after many calls another one. */
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
