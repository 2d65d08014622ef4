import { HoldfastError } from '../core/index.ts';

/** What is wrong with a stored record: the code of the refusal to read it, and its words. */
export interface Damage {
  readonly code: string;
  readonly why: string;
}

/** A run that is left exactly as it is stored, because one of the records it rests on is damaged. */
export interface DamagedRun extends Damage {
  readonly runId: string;
  readonly tenant: string;
}

/** The command that shows what is damaged, and the way out. */
export const SHOW_DAMAGE =
  'See what is damaged: holdfast audit. Mend the record, or restore a backup; the run can be carried on then.';

/**
 * What an error says of a stored record that disagrees with itself; null for any other error, and for what is said of
 * the database as a whole: neither is any one run's.
 */
export function damageOf(error: unknown): Damage | null {
  if (!(error instanceof HoldfastError)) return null;
  const { code, family, message } = error;
  return family === 'corruption' && !code.startsWith('STORE_') ? { code, why: message } : null;
}
