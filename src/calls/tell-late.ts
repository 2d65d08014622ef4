import { appendEvent, type NewEvent, type Principal, requireGroup, type SessionContext } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';

/** Whether a group was closed for good, as that of a repair that has ended: it takes no line any more. */
export async function isSealed(tx: ReadTx, principal: Principal, groupId: string): Promise<boolean> {
  return (await requireGroup(tx, principal, groupId)).sealedAt !== null;
}

/**
 * Writes the `result` of a call that is found out about later. A group that is sealed takes none: then what is known
 * stands with the operation alone, and is read there. Everything else about the call is written all the same.
 */
export async function tellLate(tx: Tx, context: SessionContext, principal: Principal, event: NewEvent): Promise<void> {
  if (await isSealed(tx, principal, event.groupId)) return;
  await appendEvent(tx, context, principal, event);
}
