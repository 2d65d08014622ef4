import { fail, requireWithin } from '../core/index.ts';
import { type EffectHistory, historyOf, isSettled } from './history.ts';
import type { EffectClaim, EffectOutcome, EffectRecord } from './model.ts';

/** The records of one log with the rules between them: unique positions and ids, outcomes in order, none after the end. */
export class LogState {
  readonly #byPosition = new Map<number, EffectRecord>();
  readonly #claims = new Map<string, EffectClaim>();
  readonly #latest = new Map<string, EffectOutcome[]>();
  readonly #observationIds = new Set<string>();
  #view: EffectHistory | undefined;

  /** The next position: the highest known one plus 1; the first is 1. */
  get next(): number {
    return this.#highest + 1;
  }

  #highest = 0;

  get size(): number {
    return this.#byPosition.size;
  }

  claim(effectId: string): EffectClaim | undefined {
    return this.#claims.get(effectId);
  }

  latestOutcome(effectId: string): EffectOutcome | undefined {
    return this.#latest.get(effectId)?.at(-1);
  }

  hasObservation(observationId: string): boolean {
    return this.#observationIds.has(observationId);
  }

  /** Whether the effect is claimed and not settled; false once settled. Throws `EFFECT_NOT_FOUND` without a claim. */
  admitsOutcome(effectId: string): boolean {
    if (!this.#claims.has(effectId)) throw fail('EFFECT_NOT_FOUND', 'The run has no claim with this effect id.');
    return !isSettled(this.latestOutcome(effectId));
  }

  has(position: number): boolean {
    return this.#byPosition.has(position);
  }

  /** Takes a record in, or throws `EFFECT_CONFLICT`, `EFFECT_NOT_FOUND` or `LIMIT_REACHED` and stays as it was. */
  add(entry: EffectRecord): void {
    this.#admit(entry);
    this.#byPosition.set(entry.record.sequence, entry);
    this.#highest = Math.max(this.#highest, entry.record.sequence);
    this.#view = undefined;
    if (entry.type === 'claim') this.#claims.set(entry.record.effectId, entry.record);
    else if (entry.type === 'observation') this.#observationIds.add(entry.record.observationId);
    else this.#latest.set(entry.record.effectId, [...(this.#latest.get(entry.record.effectId) ?? []), entry.record]);
  }

  /** Forgets the records that were taken in last, newest first: they did not become durable. */
  undo(entries: readonly EffectRecord[]): void {
    for (const entry of entries.toReversed()) this.#remove(entry);
    this.#highest = [...this.#byPosition.keys()].reduce((most, position) => Math.max(most, position), 0);
    this.#view = undefined;
  }

  entries(): readonly EffectRecord[] {
    return [...this.#byPosition.values()];
  }

  history(): EffectHistory {
    this.#view ??= historyOf(this.entries());
    return this.#view;
  }

  #admit(entry: EffectRecord): void {
    if (!isEnding(entry)) requireWithin('effectRecordsPerRun', this.#byPosition.size + 1);
    if (this.#byPosition.has(entry.record.sequence)) throw conflict('Two records have the same position.');
    if (entry.type === 'claim') this.#admitClaim(entry.record);
    else if (entry.type === 'outcome') this.#admitOutcome(entry.record);
    else if (this.#observationIds.has(entry.record.observationId))
      throw conflict('The run already has an observation with this id.');
  }

  #admitClaim(claim: EffectClaim): void {
    if (this.#claims.has(claim.effectId)) throw conflict('The run already has a claim with this effect id.');
  }

  #admitOutcome(outcome: EffectOutcome): void {
    if (!this.admitsOutcome(outcome.effectId)) throw conflict('The effect is settled and takes no further outcome.');
    const claimed = this.#claims.get(outcome.effectId)?.sequence ?? 0;
    if (outcome.sequence <= Math.max(claimed, this.latestOutcome(outcome.effectId)?.sequence ?? 0))
      throw conflict('An outcome comes after its claim and after the outcome before it.');
  }

  #remove(entry: EffectRecord): void {
    this.#byPosition.delete(entry.record.sequence);
    if (entry.type === 'claim') this.#claims.delete(entry.record.effectId);
    else if (entry.type === 'observation') this.#observationIds.delete(entry.record.observationId);
    else this.#latest.get(entry.record.effectId)?.pop();
  }
}

/** An effect that was claimed within the bound can always be settled. */
function isEnding(entry: EffectRecord): boolean {
  return entry.type === 'outcome' && isSettled(entry.record);
}

function conflict(message: string): Error {
  return fail('EFFECT_CONFLICT', message);
}
