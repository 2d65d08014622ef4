import { LogState } from './log-state.ts';
import type { EffectRecord } from './model.ts';

/** Outcomes and observations that this process knows but could not make durable, or had no reason to. */
export class Unwritten {
  readonly #entries: EffectRecord[] = [];

  get size(): number {
    return this.#entries.length;
  }

  keep(entry: EffectRecord): void {
    this.#entries.push(entry);
  }

  /**
   * The durable records with these laid over them. What is durable wins: a kept record is hidden when its position was
   * taken, or when it no longer fits (its effect was settled meanwhile).
   */
  over(durable: LogState): LogState {
    if (this.#entries.length === 0) return durable;
    const merged = new LogState();
    for (const entry of durable.entries()) merged.add(entry);
    for (const entry of this.#entries) if (!merged.has(entry.record.sequence)) addIfItFits(merged, entry);
    return merged;
  }
}

function addIfItFits(state: LogState, entry: EffectRecord): void {
  try {
    state.add(entry);
  } catch {
    // Hidden: a durable record has decided otherwise.
  }
}
