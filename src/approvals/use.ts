import { fail } from '../core/index.ts';
import type { Principal, SessionContext } from '../sessions/index.ts';
import type { ReadTx, Row, Tx } from '../store/index.ts';
import { exact } from './audit.ts';
import { refused, settle } from './decisions.ts';
import { isExpired, mismatch, step } from './machine.ts';
import type { Authority, CallBinding, PermissionRequest } from './model.ts';
import * as sql from './queries.ts';
import { requireRequest } from './requests.ts';
import { requestOf } from './rows.ts';

/**
 * Uses a permission for exactly the call it was given for, in the transaction that writes down that the call starts:
 * one statement. `by` names the execution. Refuses with APPROVAL_NOT_FOUND, APPROVAL_NOT_GIVEN (pending, denied,
 * cancelled), APPROVAL_EXPIRED, APPROVAL_REVOKED, APPROVAL_CONSUMED, APPROVAL_BINDING_MISMATCH, APPROVAL_CORRUPT; then
 * nothing was used. What must be executed is the returned `canonicalArguments`.
 */
export async function consume(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  use: { readonly requestId: string; readonly by: string; readonly binding: CallBinding },
): Promise<Extract<Authority, { kind: 'decision' }>> {
  const { requestId, by, binding } = use;
  const now = context.clock.nowMs();
  const row = await tx.get(sql.CONSUME, [
    now,
    by,
    requestId,
    principal.tenant,
    now,
    binding.runId,
    binding.groupId,
    binding.toolCallId,
    binding.tool,
    binding.toolRevision,
    binding.argumentsSha256,
    binding.policyRevision,
  ]);
  if (!row) throw await whyNot(tx, principal, use, now);
  return authorityOf(requestOf(row));
}

/** The recheck before the call: what `consume` would answer now, without using anything. */
export async function recheck(
  tx: ReadTx,
  context: SessionContext,
  principal: Principal,
  use: { readonly requestId: string; readonly by: string; readonly binding: CallBinding },
): Promise<Extract<Authority, { kind: 'decision' }>> {
  const request = await requireRequest(tx, principal, use.requestId);
  const made = step(request, { do: 'consume', by: use.by, binding: use.binding }, context.clock.nowMs());
  if (!made.ok) throw refusedUse(request, use.binding, made.refusal);
  return authorityOf({ action: request.action, status: made.next });
}

async function whyNot(tx: ReadTx, principal: Principal, use: Parameters<typeof recheck>[3], now: number) {
  const request = await requireRequest(tx, principal, use.requestId);
  const made = step(request, { do: 'consume', by: use.by, binding: use.binding }, now);
  return made.ok ? refused('not_allowed') : refusedUse(request, use.binding, made.refusal);
}

function refusedUse(request: PermissionRequest, binding: CallBinding, refusal: Parameters<typeof refused>[0]): Error {
  if (refusal !== 'binding_mismatch') return refused(refusal);
  const part = mismatch(request.action, binding) ?? '';
  return fail('APPROVAL_BINDING_MISMATCH', `The permission is for another call than this one: its ${part} differs.`, {
    details: { part },
  });
}

function authorityOf({ action, status }: PermissionRequest): Extract<Authority, { kind: 'decision' }> {
  if (status.state !== 'allowed') throw refused('not_allowed');
  return {
    kind: 'decision',
    requestId: action.requestId,
    approver: status.decision.by,
    decidedAt: status.decision.at,
    expiresAt: action.expiresAt,
    canonicalArguments: action.canonicalArguments,
    argumentsSha256: action.argumentsSha256,
  };
}

/** What is to be taken back: all of one action group, or all of one run of a session. */
export type OpenRequests = { readonly groupId: string } | { readonly rootFrameId: string; readonly runId: string };

/**
 * Takes back all that still holds or could give authority: pending requests are cancelled, allowed and unused ones
 * revoked. For a stop, or the end of a run. Gives the ids; what was used already stays used. A row that no longer fits
 * its digests gives no authority and is left as it is, for a person: it must not keep the rest from its end.
 */
export async function cancelRequests(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  which: OpenRequests,
  reason: string,
): Promise<string[]> {
  const rows =
    'groupId' in which
      ? await tx.all(exact(sql.LIST_OPEN_OF_GROUP), [which.groupId, principal.tenant])
      : await tx.all(exact(sql.LIST_OPEN_OF_RUN), [which.rootFrameId, which.runId, principal.tenant]);
  const ids: string[] = [];
  for (const row of rows) {
    const request = readable(row);
    if (!request) continue;
    const made = step(request, { do: 'cancel', reason }, context.clock.nowMs());
    if (!made.ok) continue;
    await settle(tx, context, principal, request, made.next, 'cancelled');
    ids.push(request.action.requestId);
  }
  return ids;
}

export interface SweepResult {
  readonly expired: readonly string[];
  /** Rows that no longer fit their digests: left as they are, for a person. */
  readonly corrupt: readonly string[];
}

/**
 * Times out what has passed its expiry, of every tenant, at most `limit` rows; call again while it returns that many.
 * Only the clock is judged here; at a decision and at a use the expiry is judged again.
 */
export async function sweepExpired(tx: Tx, context: SessionContext, limit: number): Promise<SweepResult> {
  const now = context.clock.nowMs();
  const expired: string[] = [];
  const corrupt: string[] = [];
  for (const row of await tx.all(exact(sql.LIST_DUE), [now, limit])) {
    const request = readable(row);
    if (!request || !isExpired(request.action.expiresAt, now)) {
      corrupt.push(String(row['decision_id']));
      continue;
    }
    const made = step(request, { do: 'expire' }, now);
    if (!made.ok) continue;
    const sweeper: Principal = { tenant: request.action.tenantId, subject: 'expiry', roles: [] };
    await settle(tx, context, sweeper, request, made.next, 'expiry');
    expired.push(request.action.requestId);
  }
  return { expired, corrupt };
}

function readable(row: Row): PermissionRequest | null {
  try {
    return requestOf(row);
  } catch {
    return null;
  }
}
