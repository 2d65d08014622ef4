import { setTimeout as pause } from 'node:timers/promises';
import { type Approvals, latestRequest, type PermissionRequest } from '../../approvals/index.ts';
import {
  type CallPlace,
  type CallsContext,
  type CallStanding,
  type PreparedCall,
  rejudge,
  standNow,
} from '../../calls/index.ts';
import { digestJson, HoldfastError, type JsonObject, LIMITS } from '../../core/index.ts';
import type { ToolCallMessage } from '../wire/message.ts';
import type { GuardedCall } from './guarded-call.ts';

/** A call that waits for a person, so that asking for it again goes on where it was. */
export interface HeldCall {
  readonly key: string;
  /** The run in which it was proposed: there it will be made. */
  readonly place: CallPlace;
  readonly groupId: string;
  readonly call: PreparedCall;
  readonly requestId: string;
}

/** How often a decision that another process may have written is looked for. */
const LOOK_MS = 150;

/** The held calls of one guard, by the requests about them: two that are equal are two, and each has its own. */
export class HeldCalls {
  readonly #held = new Map<string, HeldCall>();
  /** Those that somebody waits for right now: a second call of the same waits for nothing. */
  readonly #busy = new Set<string>();

  /** What was given to a host with the question about a call, by which its answer is known: good for one answer. */
  readonly #asked = new Map<string, string>();

  /** The host of a call is asked, by this state. */
  ask({ requestId }: HeldCall, state: string): void {
    this.#asked.set(requestId, state);
  }

  /** Whether a call answers the last question about just this call. */
  answered({ requestId }: HeldCall, message: ToolCallMessage): boolean {
    return this.#isAnswered(requestId, message) && this.#asked.delete(requestId);
  }

  #isAnswered(requestId: string, { continues }: ToolCallMessage): boolean {
    const state = this.#asked.get(requestId);
    return state !== undefined && continues?.requestState === state;
  }

  keyOf(call: GuardedCall): string {
    return digestJson([call.message.name, call.message.arguments, call.message.key]);
  }

  /** The call that this one asks for again, if nobody else waits for it: the one that it answers, else the oldest. */
  take(call: GuardedCall): HeldCall | undefined {
    if (this.#held.size === 0) return undefined;
    const key = this.keyOf(call);
    const free = [...this.#held.values()].filter((one) => one.key === key && !this.#busy.has(one.requestId));
    const held = free.find(({ requestId }) => this.#isAnswered(requestId, call.message)) ?? free[0];
    if (held) this.#busy.add(held.requestId);
    return held;
  }

  /** Whether a call of this run waits. */
  waitsIn(place: CallPlace): boolean {
    return [...this.#held.values()].some((one) => one.place === place);
  }

  /** Beyond the bound the oldest is forgotten; its request stays, and a repeated call asks anew. */
  hold(held: HeldCall): void {
    const [oldest] = this.#held.size >= LIMITS.guardHeldCalls ? this.#held.keys() : [];
    if (oldest !== undefined) this.#forget(oldest);
    this.#held.set(held.requestId, held);
    this.#busy.add(held.requestId);
  }

  /** Nobody waits for it any more; `ended`: it will not be asked for again. */
  leave({ requestId }: HeldCall, ended: boolean): void {
    this.#busy.delete(requestId);
    if (ended) this.#forget(requestId);
  }

  #forget(requestId: string): void {
    this.#held.delete(requestId);
    this.#asked.delete(requestId);
  }
}

/**
 * Waits until a person has decided, the host cancels, or the time is over; answers where the call then stands, null
 * while it still waits. A request whose own time is over has ended.
 */
export async function awaitDecision(
  calls: CallsContext,
  held: HeldCall,
  until: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<CallStanding | null> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const request = await requestOf(calls, held);
    const expired = request?.action.expiresAt != null && request.action.expiresAt <= calls.clock.nowMs();
    if (request?.status.state !== 'pending' || expired) return standingNow(calls, held, expired);
    if (waited >= until.waitMs || until.signal.aborted) return null;
    await pause(LOOK_MS, undefined, { signal: until.signal }).catch(() => undefined);
  }
}

function requestOf(calls: CallsContext, { place, groupId, call }: HeldCall): Promise<PermissionRequest | null> {
  return calls.store.read('guard.decision', (tx) => latestRequest(tx, place.principal, groupId, call.callId));
}

async function standingNow(calls: CallsContext, held: HeldCall, expired: boolean): Promise<CallStanding> {
  const { place } = held;
  const { callId, tool, argumentsText } = held.call;
  if (expired) {
    const resolve = 'Call the tool again to ask anew.';
    const outcome = {
      state: 'not_started',
      code: 'APPROVAL_EXPIRED',
      reason: 'Nobody decided in time.',
      resolve,
    } as const;
    return { state: 'ended', callId, toolName: tool.name, outcome };
  }
  const stored = {
    callId,
    toolName: tool.name,
    argumentsText,
    proposedText: argumentsText,
    pageUrl: null,
    secretFields: tool.secretFields,
    sideEffectClass: tool.effect,
    resourceKeys: held.call.resourceKeys,
    statusRef: null,
    outcome: null,
    hasResult: false,
    retries: 0,
    shadow: null,
  };
  const terms = { allowed: new Set([tool.name]) };
  const unstarted = await rejudge(calls, place, held.groupId, stored, terms);
  if ('state' in unstarted) return unstarted;
  return calls.store.write('guard.stand', (tx) =>
    standNow(tx, calls, { place, groupId: held.groupId }, unstarted, terms),
  );
}

/** What the host's user answered to the guard's question; null where there is no clear answer. */
export function elicitedDecision(result: JsonObject | null): 'approve' | 'reject' | null {
  const content = result?.['content'];
  const approve = typeof content === 'object' && content !== null && 'approve' in content ? content['approve'] : null;
  if (result?.['action'] === 'decline') return 'reject';
  if (result?.['action'] !== 'accept') return null;
  return approve === true ? 'approve' : 'reject';
}

/** Writes a decision that came through the host. False where this principal may not decide it, or it is decided. */
export async function decideHeld(
  approvals: Approvals,
  place: CallPlace,
  held: HeldCall,
  decision: 'approve' | 'reject',
): Promise<boolean> {
  try {
    const { requestId, digest } = await approvals.show(place.principal, held.requestId);
    await approvals.decide(place.principal, [{ requestId, digest, decision, message: 'through the MCP host' }]);
    return true;
  } catch (error) {
    if (error instanceof HoldfastError && error.family !== 'storage') return false;
    throw error;
  }
}
