import { canonicalJson, digestJson, type JsonObject, sha256Hex } from '../core/index.ts';
import type { ApproverRule, RequestedAction } from './model.ts';

/** SHA-256 of the canonical arguments text: the one digest from which all others of a request are made. */
export const argumentsSha256 = (canonicalArguments: string): string => sha256Hex(canonicalArguments);

/** The digest of a call in a batch: over call, tool and arguments. Key order of the arguments does not matter. */
export function callArgumentHash(toolCallId: string, toolName: string, argumentsDigest: string): string {
  return digestJson({ arguments_sha256: argumentsDigest, tool_call_id: toolCallId, tool_name: toolName });
}

type ActionIdentity = Pick<
  RequestedAction,
  'rootFrameId' | 'projectId' | 'tool' | 'target' | 'sideEffectClass' | 'resourceKeys' | 'dangerous' | 'argumentsSha256'
>;

/** The contracts' digest of one exact action: what assessments and restart continuations bind to. */
export function actionDigest(action: ActionIdentity): string {
  return digestJson({
    schema_version: 1,
    root_frame_id: action.rootFrameId,
    project_id: action.projectId,
    tool: action.tool,
    target: action.target,
    side_effect_class: action.sideEffectClass,
    resource_keys: sortedKeys(action.resourceKeys),
    dangerous: action.dangerous,
    canonical_arguments_sha256: action.argumentsSha256,
  });
}

/** Sorted by code point, each once, as the action digest wants them. */
export function sortedKeys(keys: readonly string[]): string[] {
  return [...new Set(keys)].sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
}

export function approverDocument(rule: ApproverRule): JsonObject {
  return {
    roles: [...rule.roles],
    subjects: [...rule.subjects],
    requester_may_decide: rule.requesterMayDecide,
  };
}

/** All that a person is shown and binds with a decision, but for its own digest. Names are those of the stored row. */
export function requestDocument(action: Omit<RequestedAction, 'requestSha256'>): JsonObject {
  return {
    schema_version: 1,
    decision_id: action.requestId,
    root_frame_id: action.rootFrameId,
    frame_id: action.frameId,
    branch_id: action.branchId,
    turn_id: action.turnId,
    action_group_id: action.groupId,
    action_id: action.actionId,
    tool_call_id: action.toolCallId,
    run_id: action.runId,
    tool: action.tool,
    tool_revision: action.toolRevision,
    canonical_arguments_sha256: action.argumentsSha256,
    action_digest: action.actionDigest,
    policy_revision: action.policyRevision,
    requested_by: action.requestedBy,
    approver: approverDocument(action.approver),
    editable: [...action.editable],
    reason: action.reason,
    created_at: action.createdAt,
    expires_at: action.expiresAt,
    supersedes: action.supersedes,
  };
}

export const requestDigest = (action: Omit<RequestedAction, 'requestSha256'>): string =>
  digestJson(requestDocument(action));
