import { fail, HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { CallOutcome } from './outcome.ts';
import { outcomeOfStored, type StoredContext } from './settle.ts';

/** As `outcomeOfStored`, for an operation that the ledger names: that it is gone is OPERATION_RECORD_BROKEN as well. */
export async function outcomeOfLedgerCall(
  context: StoredContext,
  principal: Principal,
  statusRef: string,
): Promise<CallOutcome> {
  try {
    return await outcomeOfStored(context, principal, statusRef);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'OPERATION_NOT_FOUND') throw error;
    throw fail('OPERATION_RECORD_BROKEN', 'A stored operation record that the ledger names is gone.', { cause: error });
  }
}
