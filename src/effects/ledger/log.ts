import { fail, HoldfastError } from '../../core/index.ts';
import type { Store } from '../../store/index.ts';
import { assessAll } from '../assess.ts';
import type { EffectHistory } from '../history.ts';
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
import { makeObservation, makeOutcome } from '../records.ts';
import { Unwritten } from '../unwritten.ts';
import { checkRunId } from '../validity.ts';
import { claim, readLog, recordObservation, recordOutcome, recoverInterrupted, type LedgerRun } from './ledger.ts';

/** The ledger's home of one run's log, for whoever uses effects alone: each record is a commit of its own. */
export function openLedgerLog(store: Store, run: LedgerRun): EffectLog {
  return new LedgerLog(store, { tenantId: run.tenantId, runId: checkRunId(run.runId) });
}

class LedgerLog implements EffectLog {
  readonly #store: Store;
  readonly #run: LedgerRun;
  readonly #unwritten = new Unwritten();
  #known = new LogState();
  #degraded = false;

  constructor(store: Store, run: LedgerRun) {
    this.#store = store;
    this.#run = run;
  }

  get runId(): string {
    return this.#run.runId;
  }

  get degraded(): boolean {
    return this.#degraded;
  }

  async claim(input: ClaimInput): Promise<EffectClaim> {
    try {
      return await this.#store.write('effects.claim', (tx) => claim(tx, this.#run, input));
    } catch (cause) {
      if (!isFailureOfStorage(cause)) throw cause;
      throw fail('EFFECT_NOT_DURABLE', 'The claim could not be made durable, so the tool must not run.', { cause });
    }
  }

  async outcome(input: OutcomeInput): Promise<EffectOutcome | null> {
    makeOutcome(input, 0);
    if (this.#unwritten.size > 0 && !(await this.#refreshed()).admitsOutcome(input.effectId)) return null;
    return this.#keepOnFailure<EffectOutcome>(
      () => this.#store.write('effects.outcome', (tx) => recordOutcome(tx, this.#run, input)),
      (state) => {
        if (!state.admitsOutcome(input.effectId)) return null;
        return { type: 'outcome', record: makeOutcome(input, state.next) };
      },
    );
  }

  async observe(input: ObservationInput): Promise<EffectObservation | null> {
    makeObservation(input, 0);
    if (this.#unwritten.size > 0 && (await this.#refreshed()).hasObservation(input.observationId)) return null;
    return this.#keepOnFailure<EffectObservation>(
      () => this.#store.write('effects.observe', (tx) => recordObservation(tx, this.#run, input)),
      (state) => {
        if (state.hasObservation(input.observationId)) return null;
        return { type: 'observation', record: makeObservation(input, state.next) };
      },
    );
  }

  async history(): Promise<EffectHistory> {
    return (await this.#refreshed()).history();
  }

  async assessments(): Promise<readonly Assessment[]> {
    return assessAll(await this.history());
  }

  recoverInterrupted(): Promise<readonly EffectOutcome[]> {
    return this.#store.write('effects.recover', (tx) => recoverInterrupted(tx, this.#run));
  }

  /** The store belongs to whoever opened it. */
  async close(): Promise<void> {}

  /** What is known now; if the database cannot be read, what was known before, and `degraded` says so. */
  async #refreshed(): Promise<LogState> {
    try {
      this.#known = await this.#store.read('effects.history', (tx) => readLog(tx, this.#run));
    } catch {
      this.#degraded = true;
    }
    return this.#unwritten.over(this.#known);
  }

  /** A record that the database would not take is kept in memory only, and the log says that it is degraded. */
  async #keepOnFailure<R extends EffectOutcome | EffectObservation>(
    write: () => Promise<R | null>,
    make: (state: LogState) => (EffectRecord & { readonly record: R }) | null,
  ): Promise<R | null> {
    try {
      return await write();
    } catch (error) {
      if (!isFailureOfStorage(error)) throw error;
      const kept = make(await this.#refreshed());
      if (!kept) return null;
      this.#degraded = true;
      this.#unwritten.keep(kept);
      return kept.record;
    }
  }
}

/** What the disk or the database did, as against a request that is wrong in itself. */
function isFailureOfStorage(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return true;
  return error.family === 'storage' || error.family === 'storage_integrity' || error.family === 'corruption';
}
