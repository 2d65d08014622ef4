import type { Scope } from '../operations/index.ts';
import type { CallsContext } from './context.ts';
import { notStarted } from './denials.ts';
import { keyOfHost } from './identity.ts';
import type { CallPlace, PreparedCall } from './model.ts';
import type { CallOutcome } from './outcome.ts';
import { outcomeOfStored } from './settle.ts';
import { ledgerCalls } from './standing.ts';

/**
 * What is known of the writing call that a host's own key was used for before; null for a key that this principal never
 * used for this tool. The same arguments get what became of that call, also where an approver changed them before it
 * ran; others are refused (`IDEMPOTENCY_CONFLICT`). Runs nothing and writes nothing. Throws OPERATION_RECORD_BROKEN.
 */
export async function outcomeUnderKey(
  context: CallsContext,
  place: CallPlace,
  call: PreparedCall,
  hostKey: string,
): Promise<CallOutcome | null> {
  const { tenant, subject } = place.principal;
  const scope: Scope = { tenant, subject, tool: call.tool.name, key: keyOfHost(hostKey) };
  const operation = await context.operations.underKey(scope);
  if (operation === null) return null;
  const { statusRef, argumentsJson, first } = operation;
  // It proves the record, whose reply is looked for next.
  const outcome = await outcomeOfStored(context, place.principal, statusRef);
  if (argumentsJson === call.argumentsText || (await proposedBefore(context, place, first)) === call.argumentsText)
    return outcome;
  return notStarted(
    'IDEMPOTENCY_CONFLICT',
    'The key of this call was used before, with other arguments.',
    `Give a new call a new key. What the key was used for: holdfast operations show ${statusRef}`,
  );
}

/** What was asked for, where an approver changed what ran. */
async function proposedBefore(
  context: CallsContext,
  { principal }: CallPlace,
  first: { readonly responseId: string; readonly callId: string },
): Promise<string | null> {
  const calls = await context.store.read('calls.proposed', (tx) => ledgerCalls(tx, principal, first.responseId));
  return calls.find((one) => one.callId === first.callId)?.proposedText ?? null;
}
