import { HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { CallsContext } from './context.ts';
import { outcomeOfStored } from './settle.ts';
import { loadStored, type StoredCall } from './stored.ts';

/**
 * Whether more of a call that is unknown may be known later without anybody's word on it: it may be delivered again once
 * its lease, or an operator's pause, is over, or what its tool says of it is not final yet. True as well for one that is
 * known by now. `triedMs`: since when it was tried the last time, so that a lease that ended amid that is tried once more.
 * Asks nobody.
 */
export async function isKnownLater(
  context: CallsContext,
  principal: Principal,
  statusRef: string,
  triedMs: number,
): Promise<boolean> {
  const known = await outcomeOfStored(context, principal, statusRef);
  if (known.state !== 'unknown') return true;
  try {
    const stored = await loadStored(context, principal, statusRef);
    const isPaused = (await context.store.read('calls.paused', (tx) => context.pausedBecause(tx))) !== null;
    return movesLater(stored, isPaused, Math.floor(triedMs / 1000));
  } catch (error) {
    // A tool that is gone, or takes the stored arguments no longer, is neither asked nor given the call again.
    if (error instanceof HoldfastError && NOT_ASKABLE.has(error.code)) return false;
    throw error;
  }
}

function movesLater({ call: { tool }, whole }: StoredCall, isPaused: boolean, tried: number): boolean {
  const leaseUntil = whole.outbox?.leaseUntil ?? null;
  if (leaseUntil === null) return false;
  if (tool.effect === 'idempotent')
    return (isPaused || tried < leaseUntil) && Math.max(tried, leaseUntil) < whole.operation.approvalExpiresAt;
  const finalAt = leaseUntil + Math.ceil(tool.settlesWithinMs / 1000);
  return tool.effect === 'reconcilable' && (isPaused || tried < finalAt);
}

/** What keeps a stored call from being put to its tool again. */
export const NOT_ASKABLE: ReadonlySet<string> = new Set(['TOOL_UNKNOWN', 'TOOL_ARGUMENTS_INVALID']);
