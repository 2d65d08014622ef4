import { fail, HoldfastError, unixSeconds } from '../core/index.ts';
import { Principal as OperationPrincipal, proveStored, type WholeOperation } from '../operations/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { CallsContext } from './context.ts';
import type { CallOutcome } from './outcome.ts';
import { outcomeOfWhole } from './settle.ts';

/**
 * As `outcomeOfStored`, from records that were proved first. For whoever writes down what it answers with nobody looking.
 * Throws OPERATION_RECORD_BROKEN, also where the operation that the ledger names is gone.
 */
export async function provedOutcomeOfStored(
  context: Pick<CallsContext, 'operations' | 'clock'>,
  principal: Principal,
  statusRef: string,
): Promise<CallOutcome> {
  const whole = await readWhole(context, principal, statusRef);
  proveStored(whole, statusRef);
  return outcomeOfWhole(whole, unixSeconds(context.clock));
}

async function readWhole(
  { operations }: Pick<CallsContext, 'operations'>,
  { tenant, subject }: Principal,
  statusRef: string,
): Promise<WholeOperation> {
  try {
    return await operations.stored(new OperationPrincipal(tenant, subject), statusRef);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'OPERATION_NOT_FOUND') throw error;
    throw fail('OPERATION_RECORD_BROKEN', 'A stored operation record that the ledger names is gone.', { cause: error });
  }
}
