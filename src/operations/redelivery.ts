import { currentAccess } from './access.ts';
import type { OperationsContext } from './context.ts';
import { recordBroken, requireEvidence } from './evidence.ts';
import { askOtherSide } from './lookup.ts';
import { decideRepeat, isFinalNotHappened } from './machine.ts';
import { Principal, type ProcessOutcome } from './model.ts';
import { readWhole } from './results.ts';
import type { OutboxRecord, WholeOperation } from './rows.ts';
import { readWork, recordReceipt, toolOfRecord } from './stored-work.ts';

/** Whether a worker may send an operation, and of how many deliveries that was judged; or what its step comes to. */
export type Repeat =
  | { readonly kind: 'send'; readonly afterDeliveries?: number }
  | { readonly kind: 'not_sent'; readonly word: ProcessOutcome };

const notSent = (word: ProcessOutcome): Repeat => ({ kind: 'not_sent', word });

/**
 * What was delivered before, and has neither receipt nor verdict, may have been carried out: it is sent again where the
 * other side honours the key, or was asked and says finally that it did not happen; never where it can do neither. The
 * table of this database keeps the first receipt of a key itself.
 */
export async function mayBeSent(context: OperationsContext, statusRef: string, now: number): Promise<Repeat> {
  if (context.downstream?.home !== 'external') return { kind: 'send' };
  const whole = await readWhole(context, statusRef);
  if (!whole?.outbox || !isOpen(whole, whole.outbox, now)) return { kind: 'send' };
  const { attempts: afterDeliveries } = whole.outbox;
  switch (decideRepeat(toolOfRecord(context, whole.operation)?.effect, afterDeliveries)) {
    case 'send':
      return { kind: 'send', afterDeliveries };
    case 'ask':
      return askFirst(context, whole, whole.outbox, now);
    case 'never':
      return notSent('outcome_unknown');
  }
}

/** Whether a lease would be granted; where it would not, the lease says why. */
function isOpen({ operation }: WholeOperation, { state, leaseUntil }: OutboxRecord, now: number): boolean {
  return operation.verdict === null && state !== 'delivered' && (leaseUntil === null || leaseUntil <= now);
}

async function askFirst(
  context: OperationsContext,
  { operation }: WholeOperation,
  { attempts: afterDeliveries, leaseUntil }: OutboxRecord,
  now: number,
): Promise<Repeat> {
  const work = await readWork(context, operation);
  const presented = new Principal(operation.scope.tenant, operation.scope.subject);
  const current = await currentAccess(context.resolvePrincipal, presented, work.tool, work.input);
  if (!current) return notSent('authorization_denied');
  requireEvidence(operation, work.expected, context);
  const said = await askOtherSide(context, work, current, now);
  if (said.kind === 'happened') {
    const recorded = await recordReceipt(context, work, said.receipt, true, now);
    if (recorded === 'no_receipt') throw recordBroken('its downstream receipt is gone');
    return notSent(recorded);
  }
  const isFinal = said.kind === 'not_happened' && isFinalNotHappened(leaseUntil, work.tool.settlesWithinSeconds, now);
  return isFinal ? { kind: 'send', afterDeliveries } : notSent('outcome_unknown');
}
