import { HoldfastError } from '../core/index.ts';
import { type OperationRecord, Principal as OperationPrincipal } from '../operations/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { CallsContext } from './context.ts';
import { type LedgerCall, sessionCalls } from './standing.ts';

/**
 * What the ledger of a session tells of its calls and their operations do not, or otherwise: a verdict that was taken
 * away or turned has no digest of its own, but what was told is on the ledger. Where the ledger says less than the
 * operation, nothing is wrong: what is found out late may stand with the operation alone. A call that an imported session
 * brought along is another operation's, if any.
 */
export async function toldOtherwise(
  { store, operations }: Pick<CallsContext, 'store' | 'operations'>,
  principal: Principal,
  rootFrameId: string,
): Promise<readonly string[]> {
  const groups = await unlessDamaged(() => store.read('calls.told', (tx) => sessionCalls(tx, principal, rootFrameId)));
  const asker = new OperationPrincipal(principal.tenant, principal.subject);
  const found: string[] = [];
  for (const [groupId, calls] of groups ?? [])
    for (const { callId, statusRef, outcome } of calls) {
      if (statusRef === null || !isTold(outcome)) continue;
      const operation = (await unlessDamaged(() => operations.stored(asker, statusRef)))?.operation;
      if (operation?.first.responseId !== groupId || operation.first.callId !== callId) continue;
      const known = knownOf(operation);
      if (known !== outcome.state)
        found.push(`operation ${statusRef}: the ledger tells it as ${outcome.state}, and its record says ${known}`);
    }
  return found;
}

type Told = Extract<LedgerCall['outcome'], { readonly state: 'done' | 'not_done' }>;

const isTold = (outcome: LedgerCall['outcome']): outcome is Told =>
  outcome?.state === 'done' || outcome?.state === 'not_done';

const knownOf = ({ verdict, state }: OperationRecord) =>
  verdict?.verdict ?? (state === 'succeeded' ? 'done' : 'unknown');

/** What is not there, or cannot be read, is for others to report. */
async function unlessDamaged<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    if (error.family !== 'corruption' && error.code !== 'OPERATION_NOT_FOUND') throw error;
    return null;
  }
}
