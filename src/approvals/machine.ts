import type { CallBinding, Decision, PermissionRequest, RequestState } from './model.ts';

/** What may be asked of a request. `now` is the clock of the host, in epoch ms. */
export type Command =
  | { readonly do: 'allow' | 'deny'; readonly by: string; readonly digest: string; readonly message: string | null }
  | { readonly do: 'edit'; readonly by: string; readonly digest: string; readonly newRequestId: string }
  | { readonly do: 'cancel'; readonly reason: string }
  | { readonly do: 'expire' }
  | { readonly do: 'consume'; readonly by: string; readonly binding: CallBinding };

/** Why a command does not go: the reason part of an error code. */
export type Refusal =
  | 'already_decided'
  | 'expired'
  | 'digest_mismatch'
  | 'not_allowed'
  | 'revoked'
  | 'consumed'
  | 'binding_mismatch'
  | 'nothing_to_do';

export type Step =
  | { readonly ok: true; readonly next: RequestState }
  /** `next` is there when the refusal itself changes the state: a decision that comes too late times the request out. */
  | { readonly ok: false; readonly refusal: Refusal; readonly next?: RequestState };

const refuse = (refusal: Refusal, next?: RequestState): Step =>
  next === undefined ? { ok: false, refusal } : { ok: false, refusal, next };

/** Equal to the expiry counts as expired. */
export const isExpired = (expiresAt: number | null, now: number): boolean => expiresAt !== null && expiresAt <= now;

/** The next state of a request, or why not. Pure: the same request, command and time give the same step. */
export function step(request: PermissionRequest, command: Command, now: number): Step {
  switch (command.do) {
    case 'allow':
    case 'deny':
    case 'edit':
      return decide(request, command, now);
    case 'cancel':
      return cancel(request.status, command.reason, now);
    case 'expire':
      return expire(request, now);
    case 'consume':
      return consume(request, command, now);
  }
}

function decide(
  { action, status }: PermissionRequest,
  command: Extract<Command, { readonly digest: string }>,
  now: number,
): Step {
  if (command.digest !== action.requestSha256) return refuse('digest_mismatch');
  if (status.state !== 'pending') return refuse('already_decided');
  if (isExpired(action.expiresAt, now)) return refuse('expired', { state: 'timed_out', at: now });
  if (command.do === 'edit')
    return {
      ok: true,
      next: { state: 'cancelled', at: now, message: 'superseded by an edit', supersededBy: command.newRequestId },
    };
  const decision: Decision = { by: command.by, at: now, message: command.message, scope: 'once' };
  if (command.do === 'deny') return { ok: true, next: { state: 'denied', decision } };
  return { ok: true, next: { state: 'allowed', decision, use: { use: 'none' } } };
}

/** Takes back what has not been used: a pending request is cancelled, an allowed and unused one revoked. */
function cancel(status: RequestState, reason: string, now: number): Step {
  if (status.state === 'pending')
    return { ok: true, next: { state: 'cancelled', at: now, message: reason, supersededBy: null } };
  if (status.state === 'allowed' && status.use.use === 'none')
    return { ok: true, next: { ...status, use: { use: 'revoked', at: now, reason } } };
  return refuse('nothing_to_do');
}

function expire({ action, status }: PermissionRequest, now: number): Step {
  if (!isExpired(action.expiresAt, now)) return refuse('nothing_to_do');
  if (status.state === 'pending') return { ok: true, next: { state: 'timed_out', at: now } };
  if (status.state === 'allowed' && status.use.use === 'none')
    return { ok: true, next: { ...status, use: { use: 'revoked', at: now, reason: 'expired' } } };
  return refuse('nothing_to_do');
}

function consume(
  { action, status }: PermissionRequest,
  command: Extract<Command, { readonly do: 'consume' }>,
  now: number,
): Step {
  if (status.state !== 'allowed') return refuse(status.state === 'timed_out' ? 'expired' : 'not_allowed');
  if (status.use.use === 'consumed') return refuse('consumed');
  if (status.use.use === 'revoked') return refuse(status.use.reason === 'expired' ? 'expired' : 'revoked');
  if (mismatch(action, command.binding) !== null) return refuse('binding_mismatch');
  if (isExpired(action.expiresAt, now)) return refuse('expired');
  return { ok: true, next: { ...status, use: { use: 'consumed', at: now, by: command.by } } };
}

const BOUND = ['runId', 'groupId', 'toolCallId', 'tool', 'toolRevision', 'argumentsSha256', 'policyRevision'] as const;

/** The first part of the call that is not what was approved, or null. */
export function mismatch(action: CallBinding, binding: CallBinding): (typeof BOUND)[number] | null {
  return BOUND.find((part) => action[part] !== binding[part]) ?? null;
}
