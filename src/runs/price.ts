import { fail } from '../core/index.ts';
import type { ModelUsage } from '../models/index.ts';

/** What a turn costs, in millionths of the host's currency. */
export type CostOf = (usage: ModelUsage) => number;

/**
 * A price function is the host's: one that fails, or gives no amount, leaves it unknown what the turn cost, and one that
 * gives less than none would give a budget back. RUN_CONFIG_INVALID.
 */
export function priceOf(costOf: CostOf, usage: ModelUsage): number {
  let micros: unknown;
  try {
    micros = costOf(usage);
  } catch (cause) {
    throw unknownPrice('failed', cause);
  }
  if (typeof micros !== 'number' || !Number.isFinite(micros)) throw unknownPrice('gave no amount');
  if (micros < 0) throw unknownPrice('gave an amount below 0');
  return micros;
}

function unknownPrice(what: string, cause?: unknown): Error {
  return fail('RUN_CONFIG_INVALID', `The price function (costOf) ${what}, so what a turn costs is not known.`, {
    cause,
    details: { field: 'costOf' },
  });
}
