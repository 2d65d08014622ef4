import { HoldfastError } from '../core/index.ts';
import { reasonOf } from './attempt.ts';
import type { Finding } from './classify.ts';
import type { CallsContext } from './context.ts';
import { type Ending, recordReceipts, unknownOutcome } from './finish.ts';
import type { CallOutcome } from './outcome.ts';
import { outcomeOfOvertaken } from './settle.ts';

/**
 * For when the second transaction failed after the tool ran. The receipts alone are tried once more, so that the truth
 * is not lost; whatever comes of it, the outcome that is told is unknown (OUTCOME_NOT_DURABLE) until it is read back
 * from the store. An operation that was settled or finished meanwhile answers with what is stored.
 */
export async function rescue(
  context: CallsContext,
  ending: Ending,
  finding: Finding,
  error: unknown,
): Promise<CallOutcome> {
  try {
    const stored = await outcomeOfOvertaken(context, ending, finding, error);
    if (stored) return stored;
    if (finding.found === 'done')
      await context.store.write('calls.receipts', (tx) => recordReceipts(tx, context, ending, finding.text));
  } catch {
    // The first error is the one that is told.
  }
  const why = error instanceof HoldfastError ? error.message : reasonOf(error);
  return unknownOutcome(ending, 'OUTCOME_NOT_DURABLE', `The outcome could not be written down: ${why}`);
}
