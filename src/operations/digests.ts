import { digestJson, type JsonObject, type JsonValue } from '../core/index.ts';
import { OUTBOX_SCHEMA_VERSION } from './bounds.ts';
import type { Principal, ProviderProfile, Scope, ToolCall, ToolContract } from './model.ts';

/** What a call identity was used for. An identity bound for a query can never be used for a dispatch. */
export type BindingPurpose = 'dispatch' | 'query_status';

/** The digest of a business intent. Execution identity (key, call, response) is no part of it, nor are roles. */
export function requestDigest(principal: Principal, contract: ToolContract, input: JsonObject): string {
  return digestJson({
    tenant_id: principal.tenant,
    subject_id: principal.subject,
    tool: contract.name,
    arguments: input,
    input_schema_revision: contract.inputSchema,
    output_schema_revision: contract.outputSchema,
    effect_revision: contract.effect,
  });
}

/** What a provider call identity was used for, whole. */
export function callFingerprint(call: ToolCall, purpose: BindingPurpose, requestSha256: string): string {
  return digestJson({
    provider: call.provider,
    api_family: call.apiFamily,
    response_id: call.responseId,
    call_id: call.callId,
    operation_id: call.operationId,
    idempotency_key: call.idempotencyKey,
    adapter_revision: call.adapterRevision,
    purpose,
    request_sha256: requestSha256,
  });
}

/** The identities that an approval is bound to: a call's own, or those an operation keeps from its first call. */
export interface ApprovalContext extends ProviderProfile {
  readonly operationId: string;
  readonly callId: string;
  readonly responseId: string;
  readonly idempotencyKey: string | null;
}

export function approvalDigest(
  context: ApprovalContext,
  contract: ToolContract,
  requestSha256: string,
  approverId: string,
): string {
  return digestJson({
    provider: context.provider,
    api_family: context.apiFamily,
    adapter_revision: context.adapterRevision,
    operation_id: context.operationId,
    call_id: context.callId,
    response_id: context.responseId,
    idempotency_key: context.idempotencyKey,
    request_sha256: requestSha256,
    input_schema_revision: contract.inputSchema,
    output_schema_revision: contract.outputSchema,
    effect_revision: contract.effect,
    approval_revision: contract.policy,
    approver_id: approverId,
  });
}

/** Names a tenant's subject without showing either. */
export function principalRef(principal: Principal): string {
  return `sha256:${digestJson({ tenant_id: principal.tenant, subject_id: principal.subject })}`;
}

/** The identity of one effect: its scope and its intent. Receipts and the status reference are cut from it. */
export function effectIdentity(scope: Scope, requestSha256: string): string {
  return digestJson({
    scope: [scope.tenant, scope.subject, scope.tool, scope.key],
    request_sha256: requestSha256,
  });
}

/** Opaque to readers, computable by whoever knows the whole scope and the arguments. */
export function statusRefOf(identity: string): string {
  return `status_${identity.slice(0, 32)}`;
}

const STATUS_REF = /^status_[0-9a-f]{32}$/;

export function isStatusRef(value: unknown): value is string {
  return typeof value === 'string' && STATUS_REF.test(value);
}

export function outboxPayload(operationPk: number, requestSha256: string, tool: string): JsonObject {
  return { operation_pk: operationPk, request_sha256: requestSha256, schema_version: OUTBOX_SCHEMA_VERSION, tool };
}

export function outboxEventId(payload: JsonObject): string {
  return `outbox_${digestJson(payload).slice(0, 32)}`;
}

/**
 * The call identity under which a status is queried: derived from the original call and the reference, always the
 * same for the same two, so a repeated query is no conflict.
 */
export function statusQueryCall(call: ToolCall, statusRef: string): ToolCall {
  const suffix = digestJson({
    provider: call.provider,
    api_family: call.apiFamily,
    response_id: call.responseId,
    call_id: call.callId,
    status_ref: statusRef,
  }).slice(0, 24);
  return call.with({ callId: `status-call-${suffix}`, responseId: `status-response-${suffix}` });
}

/** The digest over a whole `model_result`. */
export function resultDigest(modelResult: JsonValue): string {
  return digestJson(modelResult);
}
