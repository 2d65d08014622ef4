import { canonicalJson, fail, type JsonValue } from '../core/index.ts';
import { admitAll, type Principal, type SessionContext } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { refused } from './decisions.ts';
import { actionDigest, argumentsSha256 } from './digests.ts';
import type { PermissionRequest } from './model.ts';
import * as sql from './queries.ts';
import { requireRequest } from './requests.ts';
import { requestOf } from './rows.ts';

/**
 * Lets an allow that was given after a restart be used once by whoever comes with exactly its action, until `expiresAt`
 * (epoch ms). Refuses with APPROVAL_NOT_FOUND, APPROVAL_CORRUPT, and APPROVAL_NOT_GIVEN when the request is not allowed,
 * was not resolved `after_restart`, or was used or taken back; or with what a hook says.
 */
export async function activateContinuation(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  requestId: string,
  expiresAt: number,
): Promise<void> {
  if (!Number.isSafeInteger(expiresAt)) throw fail('INVALID_VALUE', 'expires_at must be whole milliseconds.');
  const { action } = await requireRequest(tx, principal, requestId);
  await admitAll(tx, context.hooks, { what: 'continuation', groupId: action.groupId, step: 'activated' });
  const { changes } = await tx.run(sql.ACTIVATE_CONTINUATION, [expiresAt, requestId, principal.tenant]);
  if (changes !== 1) throw refused('not_allowed');
}

/** One exact action, as a restarted run comes back with it. */
export interface ContinuedAction {
  readonly rootFrameId: string;
  readonly projectId?: string;
  readonly tool: string;
  readonly target: string;
  readonly sideEffectClass?: string;
  readonly resourceKeys?: readonly string[];
  readonly dangerous?: boolean;
  readonly arguments: JsonValue;
  /** Names the execution. */
  readonly by: string;
}

/**
 * Uses an active continuation of exactly this action, and with it the permission; null when there is none. What a hook
 * refuses stays unused.
 */
export async function consumeContinuation(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  action: ContinuedAction,
): Promise<PermissionRequest | null> {
  const digest = actionDigest({
    rootFrameId: action.rootFrameId,
    projectId: action.projectId ?? null,
    tool: action.tool,
    target: action.target,
    sideEffectClass: action.sideEffectClass ?? 'unknown',
    resourceKeys: action.resourceKeys ?? [],
    dangerous: action.dangerous ?? false,
    argumentsSha256: argumentsSha256(canonicalJson(action.arguments)),
  });
  const now = context.clock.nowMs();
  const { rootFrameId, tool, target, by } = action;
  const params = [now, now, by, rootFrameId, principal.tenant, tool, target, digest, now, now];
  const row = await tx.get(sql.CONSUME_CONTINUATION, params);
  if (!row) return null;
  const request = requestOf(row);
  await admitAll(tx, context.hooks, { what: 'continuation', groupId: request.action.groupId, step: 'consumed' });
  return request;
}

/** Whether a permission request of the group still waits for a decision. */
export async function isDecisionOpen(tx: ReadTx, groupId: string): Promise<boolean> {
  return (await tx.get(sql.PENDING_IN_GROUP, [groupId])) !== undefined;
}

/** Takes back every continuation of a group, for its sealing or a revert. Gives their number. */
export async function revokeContinuations(tx: Tx, groupId: string): Promise<number> {
  return (await tx.run(sql.REVOKE_CONTINUATIONS, [groupId])).changes;
}
