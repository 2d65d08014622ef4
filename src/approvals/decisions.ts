import { fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import { appendEvent, type Principal, type SessionContext } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import type { CheckedEdit } from './edits.ts';
import { type Command, type Refusal, step } from './machine.ts';
import type { ApproverRule, PermissionRequest, RequestedAction, RequestState } from './model.ts';
import { type Fits, refuseOutdated } from './outdated.ts';
import * as sql from './queries.ts';
import { eventOf, insertRequest, requireRequest, sealAction, tellPending } from './requests.ts';

/** What a person says about one request. `digest` is the one that was shown with it. */
export interface Verdict {
  readonly requestId: string;
  readonly decision: 'approve' | 'reject';
  readonly digest: string;
  /** Changed arguments, checked by `checkEdit`. Only with `approve`. */
  readonly edit?: CheckedEdit;
  readonly message?: string;
  /** Where the decision was made, as the contracts name it: `after_restart` lets it be continued. Default `decision`. */
  readonly resolutionContext?: string;
}

export type DecideResult =
  /** In the order of the verdicts: each request as it now is; for an edit, the new, already allowed one. */
  | { readonly outcome: 'decided'; readonly requests: readonly PermissionRequest[] }
  /** Some had expired: these are written down as timed out, nothing else was decided. */
  | { readonly outcome: 'expired'; readonly requestIds: readonly string[] };

interface Planned {
  readonly request: PermissionRequest;
  readonly verdict: Verdict;
  readonly next: RequestState;
  readonly newRequestId: string;
}

/**
 * Decides requests in the caller's transaction, all or none. Refuses with APPROVAL_NOT_FOUND, APPROVAL_CORRUPT,
 * APPROVER_NOT_ALLOWED, APPROVER_IS_REQUESTER, APPROVAL_DIGEST_MISMATCH, APPROVAL_ALREADY_DECIDED, INVALID_VALUE, and
 * APPROVAL_BINDING_MISMATCH for an approval of what no longer fits.
 * A decision that comes too late is an outcome, not an error, so that it can be committed.
 */
export async function decide(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  verdicts: readonly Verdict[],
  fits: Fits = () => null,
): Promise<DecideResult> {
  checkVerdicts(verdicts);
  const now = context.clock.nowMs();
  const planned: Planned[] = [];
  const late: { request: PermissionRequest; next: RequestState }[] = [];
  for (const verdict of verdicts) {
    const request = await requireRequest(tx, principal, verdict.requestId);
    requireApprover(request.action, principal);
    const newRequestId = context.ids.next();
    const made = step(request, commandOf(verdict, principal, newRequestId), now);
    if (made.ok && verdict.decision === 'approve') refuseOutdated(request.action, fits);
    if (made.ok) planned.push({ request, verdict, next: made.next, newRequestId });
    else if (made.next) late.push({ request, next: made.next });
    else throw refused(made.refusal, verdict.requestId);
  }
  for (const { request, next } of late) await settle(tx, context, principal, request, next, null);
  if (late.length > 0) return { outcome: 'expired', requestIds: late.map(({ request }) => request.action.requestId) };
  const requests: PermissionRequest[] = [];
  for (const plan of planned) requests.push(await carryOut(tx, context, principal, plan));
  return { outcome: 'decided', requests };
}

function checkVerdicts(verdicts: readonly Verdict[]): void {
  requireWithin('approvalRequestsPerGroup', verdicts.length);
  const ids = new Set(verdicts.map((verdict) => verdict.requestId));
  if (verdicts.length === 0 || ids.size !== verdicts.length)
    throw fail('INVALID_VALUE', 'Each request is decided once, and at least one.');
  for (const { decision, edit, message, requestId, digest, resolutionContext } of verdicts) {
    if (resolutionContext !== undefined) requireText('resolution_context', resolutionContext);
    if (message !== undefined) requireText('message', message, LIMITS.approvalTextCodePoints);
    if (edit && (decision !== 'approve' || edit.requestId !== requestId || edit.digest !== digest))
      throw fail('INVALID_VALUE', 'An edit belongs to the approval of the request it was checked for.');
  }
}

function commandOf(verdict: Verdict, principal: Principal, newRequestId: string): Command {
  const { digest } = verdict;
  if (verdict.edit) return { do: 'edit', by: principal.subject, digest, newRequestId };
  const act = verdict.decision === 'approve' ? 'allow' : 'deny';
  return { do: act, by: principal.subject, digest, message: verdict.message ?? null };
}

/** Whether somebody is named, by role or by subject. */
export const mayDecide = ({ roles, subjects }: ApproverRule, principal: Principal): boolean =>
  subjects.includes(principal.subject) || roles.some((role) => principal.roles.includes(role));

/** Whoever decides must be named by the request, by role or by subject, and must not be who asked unless it says so. */
export function requireApprover(action: RequestedAction, principal: Principal): void {
  const { requesterMayDecide } = action.approver;
  if (!mayDecide(action.approver, principal))
    throw fail('APPROVER_NOT_ALLOWED', 'You are not among those who may decide this request.');
  if (!requesterMayDecide && principal.subject === action.requestedBy)
    throw fail('APPROVER_IS_REQUESTER', 'Whoever asked for this action may not decide it.');
}

const REFUSALS = {
  already_decided: ['APPROVAL_ALREADY_DECIDED', 'This permission request was decided already.'],
  expired: ['APPROVAL_EXPIRED', 'The time to decide or use this permission is over.'],
  digest_mismatch: ['APPROVAL_DIGEST_MISMATCH', 'What was decided on is not the request as it is stored.'],
  not_allowed: ['APPROVAL_NOT_GIVEN', 'The call has no allowed permission request.'],
  revoked: ['APPROVAL_REVOKED', 'The permission was taken back before it was used.'],
  consumed: ['APPROVAL_CONSUMED', 'The permission was used already.'],
  binding_mismatch: ['APPROVAL_BINDING_MISMATCH', 'The permission is for another call than this one.'],
  nothing_to_do: ['APPROVAL_ALREADY_DECIDED', 'There is nothing left to take back.'],
} as const satisfies Record<Refusal, readonly [string, string]>;

/** `decided`: the request that was decided already, which its refusal names. */
export function refused(refusal: Refusal, decided?: string): Error {
  const [code, message] = REFUSALS[refusal];
  if (decided === undefined || refusal !== 'already_decided') return fail(code, message);
  return fail(code, message, {
    resolve: `A request is decided once; to see the decision: holdfast approvals show ${decided}`,
  });
}

async function carryOut(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  { request, verdict, next, newRequestId }: Planned,
): Promise<PermissionRequest> {
  await settle(tx, context, principal, request, next, verdict.resolutionContext ?? 'decision');
  if (!verdict.edit) return { action: request.action, status: next };
  const now = context.clock.nowMs();
  const { argumentsSha256: _a, actionDigest: _d, requestSha256: _r, ...kept } = request.action;
  const action = sealAction({
    ...kept,
    requestId: newRequestId,
    canonicalArguments: verdict.edit.canonicalArguments,
    target: verdict.edit.target ?? kept.target,
    resourceKeys: verdict.edit.resourceKeys ?? kept.resourceKeys,
    createdAt: now,
    supersedes: request.action.requestId,
  });
  const decision = { by: principal.subject, at: now, message: verdict.message ?? null, scope: 'once' };
  const made: PermissionRequest = { action, status: { state: 'allowed', decision, use: { use: 'none' } } };
  await insertRequest(tx, made);
  await tellPending(tx, context, principal, action);
  await tellResolved(tx, context, principal, made, 'edit');
  return made;
}

/**
 * Writes the next state of a request with the event that tells it. The row must still be in the state it was read in:
 * APPROVAL_ALREADY_DECIDED otherwise.
 */
export async function settle(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  request: PermissionRequest,
  next: RequestState,
  resolutionContext: string | null,
): Promise<void> {
  const id = request.action.requestId;
  const { changes } =
    next.state === 'allowed' && next.use.use === 'revoked'
      ? await tx.run(sql.REVOKE, [next.use.at, next.use.reason, id])
      : await tx.run(sql.RESOLVE, [...resolutionOf(next, resolutionContext), id]);
  if (changes !== 1) throw refused('already_decided', id);
  await tellResolved(tx, context, principal, { action: request.action, status: next }, resolutionContext);
}

function resolutionOf(next: RequestState, resolutionContext: string | null) {
  switch (next.state) {
    case 'allowed':
    case 'denied': {
      const { scope, message, at, by } = next.decision;
      return [next.state, scope, message, resolutionContext, at, by, null];
    }
    case 'timed_out':
      return [next.state, null, 'expired', resolutionContext, next.at, null, null];
    case 'cancelled':
      return [next.state, null, next.message, resolutionContext, next.at, null, next.supersededBy];
    case 'pending':
      throw fail('INVALID_VALUE', 'A request never becomes pending again.');
  }
}

/** The `permission_resolved` event with the contracts' keys, or `permission_revoked` where a permission is taken back. */
async function tellResolved(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  { action, status }: PermissionRequest,
  resolutionContext: string | null,
): Promise<void> {
  const revoked = status.state === 'allowed' && status.use.use === 'revoked' ? status.use.reason : null;
  const [state, scope, message] = resolutionOf(status, resolutionContext) as [string, string | null, string | null];
  const feed = { kind: revoked === null ? 'approval.resolved' : 'approval.revoked', reference: action.requestId };
  const result =
    revoked === null
      ? { decision_id: action.requestId, state, scope, pattern: null, message, resolution_context: resolutionContext }
      : { decision_id: action.requestId, state, reason: revoked };
  const type = revoked === null ? 'permission_resolved' : 'permission_revoked';
  await appendEvent(tx, context, principal, { ...eventOf(action), type, result, feed });
}
