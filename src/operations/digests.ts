import { canonicalJson, digestJson, type JsonObject, type JsonValue, sha256Hex } from '../core/index.ts';
import { OUTBOX_SCHEMA_VERSION } from './bounds.ts';
import { digestSorted, sortedText } from './sorted-json.ts';
import type { Principal, ProviderProfile, Scope, ToolCall, ToolContract } from './model.ts';

/** What a call identity was used for. An identity bound for a query can never be used for a dispatch. */
export type BindingPurpose = 'dispatch' | 'query_status';

/** The digest of a business intent. Execution identity (key, call, response) is no part of it, nor are roles. */
export function requestDigest(principal: Principal, contract: ToolContract, input: JsonObject): string {
  return requestDigestOfText(principal, contract, canonicalJson(input));
}

/** The same from the canonical text of the arguments. */
export function requestDigestOfText(principal: Principal, contract: ToolContract, argumentsJson: string): string {
  const rest = sortedText({
    effect_revision: contract.effect,
    input_schema_revision: contract.inputSchema,
    output_schema_revision: contract.outputSchema,
    subject_id: principal.subject,
    tenant_id: principal.tenant,
    tool: contract.name,
  });
  return sha256Hex(`{"arguments":${argumentsJson},${rest.slice(1)}`);
}

/** What a provider call identity was used for, whole. */
export function callFingerprint(call: ToolCall, purpose: BindingPurpose, requestSha256: string): string {
  return digestSorted({
    adapter_revision: call.adapterRevision,
    api_family: call.apiFamily,
    call_id: call.callId,
    idempotency_key: call.idempotencyKey,
    operation_id: call.operationId,
    provider: call.provider,
    purpose,
    request_sha256: requestSha256,
    response_id: call.responseId,
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
  return digestSorted({
    adapter_revision: context.adapterRevision,
    api_family: context.apiFamily,
    approval_revision: contract.policy,
    approver_id: approverId,
    call_id: context.callId,
    effect_revision: contract.effect,
    idempotency_key: context.idempotencyKey,
    input_schema_revision: contract.inputSchema,
    operation_id: context.operationId,
    output_schema_revision: contract.outputSchema,
    provider: context.provider,
    request_sha256: requestSha256,
    response_id: context.responseId,
  });
}

/** Names a tenant's subject without showing either. */
export function principalRef(principal: Principal): string {
  return `sha256:${digestSorted({ subject_id: principal.subject, tenant_id: principal.tenant })}`;
}

/** The identity of one effect: its scope and its intent. Receipts and the status reference are cut from it. */
export function effectIdentity(scope: Scope, requestSha256: string): string {
  return digestSorted({
    request_sha256: requestSha256,
    scope: [scope.tenant, scope.subject, scope.tool, scope.key],
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

/** Exactly these four, in the order of their names. */
export type OutboxPayload = {
  readonly operation_pk: number;
  readonly request_sha256: string;
  readonly schema_version: string;
  readonly tool: string;
};

export function outboxPayload(operationPk: number, requestSha256: string, tool: string): OutboxPayload {
  return { operation_pk: operationPk, request_sha256: requestSha256, schema_version: OUTBOX_SCHEMA_VERSION, tool };
}

export function outboxEventId(payload: OutboxPayload): string {
  return eventIdOfText(sortedText(payload));
}

/** The same from the payload's canonical text. */
export function eventIdOfText(payloadJson: string): string {
  return `outbox_${sha256Hex(payloadJson).slice(0, 32)}`;
}

/**
 * The call identity under which a status is queried: derived from the original call and the reference, always the
 * same for the same two, so a repeated query is no conflict.
 */
export function statusQueryCall(call: ToolCall, statusRef: string): ToolCall {
  const suffix = digestSorted({
    api_family: call.apiFamily,
    call_id: call.callId,
    provider: call.provider,
    response_id: call.responseId,
    status_ref: statusRef,
  }).slice(0, 24);
  return call.with({ callId: `status-call-${suffix}`, responseId: `status-response-${suffix}` });
}

/** The digest over a whole `model_result`. */
export function resultDigest(modelResult: JsonValue): string {
  return digestJson(modelResult);
}
