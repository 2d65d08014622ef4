import { canonicalJson, fail, isJsonObject, JSON_PROFILES, type JsonValue, readCanonicalJson } from '../core/index.ts';
import type { Row, SqlValue } from '../store/index.ts';
import { actionDigest, approverDocument, argumentsSha256, requestDigest, sortedKeys } from './digests.ts';
import type {
  ApproverRule,
  PermissionRequest,
  PermissionRule,
  RequestedAction,
  RequestState,
  RuleDecision,
  RuleScope,
  Use,
} from './model.ts';

const text = (value: SqlValue | undefined): string | null => (value == null ? null : String(value));
const number = (value: SqlValue | undefined): number | null => (value == null ? null : Number(value));

function corrupt(what: string, cause?: unknown): Error {
  return fail('APPROVAL_CORRUPT', `A stored permission request is damaged: ${what}.`, { cause });
}

function json(value: SqlValue | undefined, what: string): JsonValue {
  try {
    return readCanonicalJson(String(value), JSON_PROFILES.packages);
  } catch (cause) {
    throw corrupt(what, cause);
  }
}

function texts(value: JsonValue | undefined, what: string): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw corrupt(what);
}

function approverOf(value: JsonValue): ApproverRule {
  if (!isJsonObject(value)) throw corrupt('its approvers');
  return {
    roles: texts(value['roles'], 'its approvers'),
    subjects: texts(value['subjects'], 'its approvers'),
    requesterMayDecide: value['requester_may_decide'] === true,
  };
}

function actionOf(row: Row): RequestedAction {
  return {
    requestId: String(row['decision_id']),
    tenantId: String(row['tenant_id']),
    rootFrameId: String(row['root_frame_id']),
    frameId: String(row['frame_id']),
    projectId: text(row['project_id']),
    branchId: String(row['branch_id']),
    turnId: String(row['turn_id']),
    groupId: String(row['action_group_id']),
    actionId: String(row['action_id']),
    toolCallId: text(row['tool_call_id']),
    runId: text(row['run_id']),
    tool: String(row['tool']),
    toolRevision: String(row['tool_revision']),
    target: String(row['target']),
    sideEffectClass: String(row['side_effect_class']),
    resourceKeys: texts(json(row['resource_keys'], 'its resource keys'), 'its resource keys'),
    dangerous: Number(row['dangerous']) !== 0,
    canonicalArguments: String(row['canonical_arguments']),
    argumentsSha256: String(row['canonical_arguments_sha256']),
    actionDigest: String(row['action_digest']),
    requestSha256: String(row['request_sha256']),
    policyRevision: String(row['policy_revision']),
    requestedBy: String(row['requested_by']),
    approver: approverOf(json(row['approver'], 'its approvers')),
    editable: texts(json(row['editable'], 'its editable fields'), 'its editable fields'),
    reason: String(row['reason']),
    createdAt: Number(row['created_at']),
    expiresAt: number(row['expires_at']),
    supersedes: text(row['supersedes']),
  };
}

function useOf(row: Row): Use {
  if (row['consumed_at'] != null)
    return { use: 'consumed', at: Number(row['consumed_at']), by: String(row['consumed_by']) };
  if (row['revoked_at'] != null)
    return { use: 'revoked', at: Number(row['revoked_at']), reason: String(row['revoked_reason']) };
  return { use: 'none' };
}

function statusOf(row: Row): RequestState {
  const at = Number(row['resolved_at']);
  const message = text(row['message']);
  const decision = { by: String(row['resolved_by']), at, message, scope: text(row['scope']) ?? 'once' };
  switch (String(row['state'])) {
    case 'pending':
      return { state: 'pending' };
    case 'allowed':
      return { state: 'allowed', decision, use: useOf(row) };
    case 'denied':
      return { state: 'denied', decision };
    case 'timed_out':
      return { state: 'timed_out', at };
    case 'cancelled':
      return { state: 'cancelled', at, message: message ?? '', supersededBy: text(row['superseded_by']) };
    default:
      throw corrupt('its state');
  }
}

/**
 * A stored request, proved: its digests are taken again over what the row says. A row that was changed behind the
 * program's back is APPROVAL_CORRUPT, and is neither shown nor used.
 */
export function requestOf(row: Row): PermissionRequest {
  const action = actionOf(row);
  if (argumentsSha256(action.canonicalArguments) !== action.argumentsSha256) throw corrupt('its arguments');
  if (actionDigest(action) !== action.actionDigest) throw corrupt('its action');
  if (requestDigest(action) !== action.requestSha256) throw corrupt('what was asked');
  return { action, status: statusOf(row) };
}

/** The parameters of `INSERT_REQUEST`, in order. */
export function requestParams({ action, status }: PermissionRequest): SqlValue[] {
  const decided = status.state === 'allowed' ? status.decision : null;
  return [
    action.requestId,
    action.tenantId,
    action.rootFrameId,
    action.frameId,
    action.projectId,
    action.branchId,
    action.turnId,
    action.groupId,
    action.actionId,
    action.toolCallId,
    action.runId,
    action.tool,
    action.toolRevision,
    action.target,
    action.sideEffectClass,
    canonicalJson(sortedKeys(action.resourceKeys)),
    action.dangerous ? 1 : 0,
    action.canonicalArguments,
    action.argumentsSha256,
    action.actionDigest,
    action.requestSha256,
    action.policyRevision,
    action.requestedBy,
    canonicalJson(approverDocument(action.approver)),
    canonicalJson([...action.editable]),
    action.reason,
    action.createdAt,
    action.expiresAt,
    action.supersedes,
    status.state,
    decided?.scope ?? null,
    decided?.message ?? null,
    decided ? 'edit' : null,
    decided?.at ?? null,
    decided?.by ?? null,
  ];
}

export function ruleOf(row: Row): PermissionRule {
  const madeBy = text(row['made_by']);
  return {
    ruleId: String(row['rule_id']),
    tenantId: String(row['tenant_id']),
    scope: String(row['scope']) as RuleScope,
    scopeId: String(row['scope_id']),
    tool: String(row['tool']),
    pattern: String(row['pattern']),
    decision: String(row['decision']) as RuleDecision,
    madeBy:
      row['made_by_kind'] === 'person' && madeBy !== null ? { kind: 'person', subject: madeBy } : { kind: 'import' },
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
  };
}
