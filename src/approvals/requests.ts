import { canonicalJson, fail, type JsonValue, LIMITS, requireText, requireWithin } from '../core/index.ts';
import { appendEvent, type Principal, type SessionContext } from '../sessions/index.ts';
import type { ReadTx, Row, Tx } from '../store/index.ts';
import { exact } from './audit.ts';
import { actionDigest, argumentsSha256, requestDigest, sortedKeys } from './digests.ts';
import type { ApproverRule, PermissionRequest, RequestedAction } from './model.ts';
import * as sql from './queries.ts';
import { requestOf, requestParams } from './rows.ts';

/** One exact action that a person must decide. */
export interface NewRequest {
  readonly requestId?: string;
  readonly groupId: string;
  readonly actionId: string;
  readonly toolCallId?: string;
  readonly runId?: string;
  /** Default: the session's root frame. */
  readonly frameId?: string;
  readonly projectId?: string;
  readonly tool: string;
  readonly toolRevision: string;
  readonly target?: string;
  /** Default `unknown`, which counts as an effect. */
  readonly sideEffectClass?: string;
  readonly resourceKeys?: readonly string[];
  readonly dangerous?: boolean;
  readonly arguments: JsonValue;
  readonly policyRevision: string;
  /** Who asked; default the principal's subject. */
  readonly requestedBy?: string;
  readonly approver: ApproverRule;
  readonly editable?: readonly string[];
  readonly reason: string;
  /** Epoch ms; absent: never. */
  readonly expiresAt?: number;
}

/**
 * Writes a permission request, its `permission_pending` event and its feed entry in the caller's transaction.
 * Refuses with ACTION_GROUP_NOT_FOUND, APPROVAL_PENDING_EXISTS (the call has a live one), INVALID_VALUE, LIMIT_REACHED,
 * and whatever refuses an event in this session. Four statements.
 */
export async function requestPermission(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  request: NewRequest,
): Promise<PermissionRequest> {
  const place = await tx.get(sql.SELECT_PLACE, [request.groupId, principal.tenant]);
  if (!place) throw fail('ACTION_GROUP_NOT_FOUND', 'There is no such action group.');
  requireWithin('approvalRequestsPerGroup', Number(place['requests']) + 1);
  const action = actionFrom(request, principal, place, request.requestId ?? context.ids.next(), context.clock.nowMs());
  const made: PermissionRequest = { action, status: { state: 'pending' } };
  await insertRequest(tx, made);
  await tellPending(tx, context, principal, action);
  return made;
}

function actionFrom(
  request: NewRequest,
  principal: Principal,
  place: Row,
  requestId: string,
  createdAt: number,
): RequestedAction {
  const rootFrameId = String(place['root_frame_id']);
  return sealAction({
    requestId,
    tenantId: principal.tenant,
    rootFrameId,
    frameId: request.frameId ?? rootFrameId,
    projectId: request.projectId ?? null,
    branchId: String(place['branch_id']),
    turnId: String(place['turn_id']),
    groupId: request.groupId,
    actionId: request.actionId,
    toolCallId: request.toolCallId ?? null,
    runId: request.runId ?? null,
    tool: request.tool,
    toolRevision: request.toolRevision,
    target: request.target ?? '',
    sideEffectClass: request.sideEffectClass ?? 'unknown',
    resourceKeys: sortedKeys(request.resourceKeys ?? []),
    dangerous: request.dangerous ?? false,
    canonicalArguments: canonicalJson(request.arguments),
    policyRevision: request.policyRevision,
    requestedBy: request.requestedBy ?? principal.subject,
    approver: request.approver,
    editable: [...new Set(request.editable ?? [])],
    reason: request.reason,
    createdAt,
    expiresAt: request.expiresAt ?? null,
    supersedes: null,
  });
}

/** Checks the bounds and takes the three digests. */
export function sealAction(
  bare: Omit<RequestedAction, 'argumentsSha256' | 'actionDigest' | 'requestSha256'>,
): RequestedAction {
  checkAction(bare);
  const digested = { ...bare, argumentsSha256: argumentsSha256(bare.canonicalArguments) };
  const action = { ...digested, actionDigest: actionDigest(digested) };
  return { ...action, requestSha256: requestDigest(action) };
}

type Bare = Omit<RequestedAction, 'argumentsSha256' | 'actionDigest' | 'requestSha256'>;

function checkAction(action: Bare): void {
  const ids = [
    ['decision_id', action.requestId],
    ['action_id', action.actionId],
    ['tool', action.tool],
    ['tool_revision', action.toolRevision],
    ['policy_revision', action.policyRevision],
    ['requested_by', action.requestedBy],
  ] as const;
  for (const [name, value] of ids) requireText(name, value, LIMITS.sessionIdCodePoints);
  if (action.runId !== null) requireText('run_id', action.runId, LIMITS.sessionIdCodePoints);
  requireText('reason', action.reason, LIMITS.approvalTextCodePoints);
  if (action.target !== '') requireText('target', action.target, LIMITS.approvalTextCodePoints);
  requireWithin('approvalArgumentsCodePoints', action.canonicalArguments.length);
  requireWithin('sessionResourceKeys', action.resourceKeys.length);
  const { roles, subjects } = action.approver;
  for (const names of [roles, subjects, action.editable]) requireWithin('approvalNames', names.length);
  for (const name of [...roles, ...subjects, ...action.editable]) requireText('name', name, LIMITS.sessionIdCodePoints);
  if (roles.length + subjects.length === 0) throw fail('INVALID_VALUE', 'approver must name a role or a subject.');
  if (action.expiresAt !== null && !Number.isSafeInteger(action.expiresAt))
    throw fail('INVALID_VALUE', 'expires_at must be whole milliseconds.');
}

export async function insertRequest(tx: Tx, request: PermissionRequest): Promise<void> {
  const { changes } = await tx.run(sql.INSERT_REQUEST, requestParams(request));
  if (changes === 0)
    throw fail('APPROVAL_PENDING_EXISTS', 'This call has a permission request already, or its id is taken.');
}

/** The `permission_pending` event, with the contracts' keys. */
export async function tellPending(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  action: RequestedAction,
): Promise<void> {
  await appendEvent(tx, context, principal, {
    ...eventOf(action),
    type: 'permission_pending',
    canonicalArguments: { decision_id: action.requestId },
    result: { decision_id: action.requestId, state: 'pending', tool: action.tool, target: action.target },
    feed: { kind: 'approval.requested', reference: action.requestId },
  });
}

/** The part of an event that says which call it is about. */
export function eventOf(action: RequestedAction) {
  return {
    groupId: action.groupId,
    actionId: action.actionId,
    ...(action.toolCallId === null ? {} : { toolCallId: action.toolCallId }),
    sideEffectClass: action.sideEffectClass,
    resourceKeys: action.resourceKeys,
  };
}

/** The request, proved against its own digests; APPROVAL_NOT_FOUND, APPROVAL_CORRUPT. */
export async function requireRequest(tx: ReadTx, principal: Principal, requestId: string): Promise<PermissionRequest> {
  const row = await tx.get(exact(sql.SELECT_REQUEST), [requestId, principal.tenant]);
  if (!row) throw fail('APPROVAL_NOT_FOUND', 'There is no such permission request.');
  return requestOf(row);
}

/** What was proposed where an approver's edit made this request; null for any other request, or none. */
export async function proposedBeforeEdit(tx: ReadTx, { tenant }: Principal, requestId: string): Promise<string | null> {
  const row = await tx.get(sql.SELECT_EDITED_FROM, [requestId, tenant]);
  return row === undefined ? null : String(row['canonical_arguments']);
}

/** The newest request about one call, or null. */
export async function latestRequest(
  tx: ReadTx,
  principal: Principal,
  groupId: string,
  actionId: string,
): Promise<PermissionRequest | null> {
  const row = await tx.get(sql.SELECT_LATEST, [groupId, actionId, principal.tenant]);
  return row ? requestOf(row) : null;
}

/** Whether a person has to decide something of this run. */
export async function hasPending(
  tx: ReadTx,
  principal: Principal,
  run: { readonly rootFrameId: string; readonly runId: string },
): Promise<boolean> {
  const row = await tx.get(sql.IS_RUN_WAITING, [run.rootFrameId, run.runId, principal.tenant]);
  return row !== undefined;
}
