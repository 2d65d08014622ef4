import { HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { outcomeOfStored, type StoredContext } from './settle.ts';
import type { LedgerCall } from './standing.ts';

/** A group with its calls, as far as it is told here. */
interface Told {
  readonly group: { readonly sealedAt: number | null };
  readonly calls: readonly LedgerCall[];
}

/**
 * Groups as they are known by now. One that is sealed takes no line any more: what became since of a call that its
 * ledger leaves unknown stands with its operation alone. A call of which that record is damaged stays unknown.
 */
export async function knownSince<G extends Told>(
  context: StoredContext,
  principal: Principal,
  groups: readonly G[],
): Promise<readonly G[]> {
  const known: G[] = [];
  for (const one of groups) {
    const isOpen = one.group.sealedAt !== null && one.calls.some(isUnknown);
    known.push(isOpen ? { ...one, calls: await callsSince(context, principal, one.calls) } : one);
  }
  return known;
}

const isUnknown = ({ outcome, statusRef }: LedgerCall): boolean => outcome?.state === 'unknown' && statusRef !== null;

async function callsSince(
  context: StoredContext,
  principal: Principal,
  calls: readonly LedgerCall[],
): Promise<LedgerCall[]> {
  const known: LedgerCall[] = [];
  for (const call of calls) known.push(isUnknown(call) ? await callSince(context, principal, call) : call);
  return known;
}

async function callSince(context: StoredContext, principal: Principal, call: LedgerCall): Promise<LedgerCall> {
  try {
    const outcome = await outcomeOfStored(context, principal, call.statusRef ?? '');
    return outcome.state === 'unknown' ? call : { ...call, outcome };
  } catch (error) {
    if (error instanceof HoldfastError && (error.family === 'corruption' || error.family === 'not_found')) return call;
    throw error;
  }
}
