import { type RequestedAction, requireRequest } from '../approvals/index.ts';
import { canonicalJson, fail, type JsonObject } from '../core/index.ts';
import type { Filesystem } from '../effects/index.ts';
import { type Principal, SessionPen } from '../sessions/index.ts';
import { requestOfCall } from './begin.ts';
import type { CallsContext } from './context.ts';
import { notStarted } from './denials.ts';
import { executeCall } from './execute.ts';
import type { CallPlace, PreparedCall } from './model.ts';
import { type CallOutcome, isFinal } from './outcome.ts';
import { recordRecovered } from './recover.ts';
import { outcomeOfStored } from './settle.ts';
import { type LedgerCall, ledgerCalls, ledgerResultOf, rejudge } from './standing.ts';

/** A call that waited and was approved, named again by whoever has it carried out: it must be exactly that call. */
export interface ApprovedCall {
  readonly requestId: string;
  readonly tool: string;
  readonly arguments: JsonObject;
}

export interface Dispatched {
  /** The operation that stands for the call; null where it did not start. */
  readonly statusRef: string | null;
  readonly outcome: CallOutcome;
}

const PEN_LEASE_MS = 10_000;
const PEN_WAIT_MS = 5_000;

/**
 * Carries out one call of a run on the permission that a person gave for it, and nothing else of that run: no model is
 * asked. The way is that of any call, its key is the one the run would use, so whoever comes first carries it out and
 * the other finds what is stored. A call that was begun before is not begun again. `principal` is the run's.
 *
 * A refusal is a `not_started` outcome, and then the permission stays as it was: not approved, expired, used, revoked,
 * paused, or behind a call of the same reply that has no final outcome. Throws APPROVAL_NOT_FOUND,
 * APPROVAL_BINDING_MISMATCH, CALL_INVALID (it only reads, or belongs to no run), TICKET_TIMEOUT (a living process
 * carries the run out).
 */
export async function dispatchApproved(
  context: CallsContext,
  principal: Principal,
  asked: ApprovedCall,
  world: { readonly filesystem: Filesystem; readonly signal: AbortSignal },
): Promise<Dispatched> {
  const { action } = await context.store.read('calls.request', (tx) => requireRequest(tx, principal, asked.requestId));
  refuseOther(action, principal, asked);
  const pen = { owner: context.workerId, reason: 'dispatch', leaseMs: PEN_LEASE_MS, waitMs: PEN_WAIT_MS };
  return new SessionPen(context.store, context.sessions).hold(principal, action.rootFrameId, pen, () =>
    dispatchHeld(context, { place: placeOf(action, principal), action, world }),
  );
}

function refuseOther(action: RequestedAction, principal: Principal, asked: ApprovedCall): void {
  const differs =
    action.tool !== asked.tool
      ? 'tool'
      : action.canonicalArguments !== canonicalJson(asked.arguments)
        ? 'arguments'
        : action.requestedBy === principal.subject
          ? null
          : 'subject';
  if (differs !== null)
    throw fail(
      'APPROVAL_BINDING_MISMATCH',
      `The permission is for another call than this one: its ${differs} differs.`,
    );
  if (action.sideEffectClass === 'read')
    throw fail('CALL_INVALID', 'A call that only reads is no operation.', {
      resolve: `Resume the run that waits for it: holdfast runs resume ${action.runId ?? 'RUN'}`,
    });
}

function placeOf(
  { runId, projectId, rootFrameId, branchId, turnId }: RequestedAction,
  principal: Principal,
): CallPlace {
  if (runId === null || projectId === null) throw fail('CALL_INVALID', 'This request belongs to no run.');
  return { principal, projectId, rootFrameId, branchId, turnId, runId };
}

interface Dispatch {
  readonly place: CallPlace;
  readonly action: RequestedAction;
  readonly world: { readonly filesystem: Filesystem; readonly signal: AbortSignal };
}

async function dispatchHeld(context: CallsContext, of: Dispatch): Promise<Dispatched> {
  const { principal } = of.place;
  const { groupId } = of.action;
  const calls = await context.store.read('calls.group', (tx) => ledgerCalls(tx, principal, groupId));
  const at = calls.findIndex((call) => call.callId === of.action.toolCallId);
  const stored = calls[at];
  if (!stored) throw fail('CALL_INVALID', 'The ledger does not have the call of this request.');
  const { statusRef } = stored;
  if (statusRef !== null) return { statusRef, outcome: await outcomeOfStored(context, principal, statusRef) };
  const judged = await rejudge(context, of.place, groupId, stored, termsOf(of.action, stored));
  if ('state' in judged) return { statusRef: null, outcome: judged.outcome };
  if (calls.slice(0, at).some(({ outcome }) => outcome === null || !isFinal(outcome)))
    return { statusRef: null, outcome: notStarted('CALL_SKIPPED', 'A call before it in the same reply is not over.') };
  return carryOut(context, of, stored, judged.call);
}

function termsOf({ tool }: RequestedAction, { pageUrl }: LedgerCall) {
  return { allowed: new Set([tool]), ...(pageUrl === null ? {} : { pageUrl }) };
}

async function carryOut(
  context: CallsContext,
  { place, action, world }: Dispatch,
  stored: LedgerCall,
  call: PreparedCall,
): Promise<Dispatched> {
  const { groupId, requestId } = action;
  const authority = { by: 'request', requestId } as const;
  const { outcome, recorded } = await executeCall(context, { place, groupId, call, authority, ...world });
  // What did not start leaves no trace: the run may still carry it out.
  if (outcome.state === 'not_started') return { statusRef: null, outcome };
  const of = ledgerResultOf(groupId, place.runId, stored);
  const told = recorded ? outcome : await recordRecovered(context, place.principal, of, outcome);
  return { statusRef: requestOfCall({ place, groupId, call }).statusRef, outcome: told };
}
