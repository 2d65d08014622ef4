import { fail } from '../core/index.ts';
import type { Operations } from '../operations/index.ts';
import { type KeptRecords, listGroups, type Principal, type SessionHooks } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { ledgerCalls } from './standing.ts';

/**
 * What this room says when a session goes: the operations of its calls, with their receipts, and the effects that were
 * claimed stay, since they are the audit of what was done outside. A session with a call whose outcome is unknown stays
 * until it is settled: SESSION_UNRESOLVED. The operation says whether it is: a sealed ledger takes no line of it. Wired
 * where the rooms are joined.
 */
export const callSessionHooks = (operations: Pick<Operations, 'isOver'>): SessionHooks => ({
  async keepsOf(tx, rootFrameId, principal): Promise<readonly KeptRecords[]> {
    let started = 0;
    for await (const groupId of groupsOf(tx, principal, rootFrameId))
      for (const call of await ledgerCalls(tx, principal, groupId)) {
        if (call.statusRef === null) continue;
        started += 1;
        if (call.outcome?.state !== 'unknown' || (await operations.isOver(tx, call.statusRef))) continue;
        const details = { status_ref: call.statusRef };
        throw fail('SESSION_UNRESOLVED', 'The outcome of a call of this session is not known.', { details });
      }
    return [
      { what: 'operations', count: started },
      { what: 'effects', count: started },
    ];
  },
});

async function* groupsOf(tx: ReadTx, principal: Principal, rootFrameId: string): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const page = await listGroups(tx, principal, rootFrameId, after === undefined ? {} : { after });
    for (const group of page.items) if (group.kind !== 'user') yield group.groupId;
    if (page.next === null) return;
    after = page.next;
  }
}
