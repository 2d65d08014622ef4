import type { EffectHistory } from './history.ts';
import type {
  Assessment,
  ClaimInput,
  EffectClaim,
  EffectObservation,
  EffectOutcome,
  ObservationInput,
  OutcomeInput,
} from './model.ts';

/**
 * The record of what one root run's tools may have changed. It has two homes behind this one interface: a journal (a
 * file) and the ledger (SQL). Nothing is ever rewritten; what happened is worked out from the records.
 */
export interface EffectLog {
  readonly runId: string;
  /** True once a record that is not a claim could not be made durable, or a refresh failed. Never cleared. */
  readonly degraded: boolean;
  /**
   * Settles once the claim is durable: only then may the tool run. Every failure throws one of
   * `EFFECT_PERSISTENCE_CODES`, or a validation or limit error, and leaves no trace.
   */
  claim(input: ClaimInput): Promise<EffectClaim>;
  /**
   * The outcome, or null when the effect was already settled. A failure of the disk does not throw: it sets `degraded`
   * and keeps the record in memory only. Throws `EFFECT_NOT_FOUND` for an effect without a claim.
   */
  outcome(input: OutcomeInput): Promise<EffectOutcome | null>;
  /** The observation, or null when its id is taken. Failures of the disk are treated as for outcomes. */
  observe(input: ObservationInput): Promise<EffectObservation | null>;
  /** What is known now, others' records included. It does not throw when the home cannot be read: see `degraded`. */
  history(): Promise<EffectHistory>;
  /** One answer per claim, in order of claim position. */
  assessments(): Promise<readonly Assessment[]>;
  /**
   * Writes `interrupted` for each claim that has no outcome at all and answers what it wrote. Work that is running in
   * the background, and claims attached to an operation, are left alone. Called again, it writes nothing.
   */
  recoverInterrupted(): Promise<readonly EffectOutcome[]>;
  close(): Promise<void>;
}
