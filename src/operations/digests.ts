import { canonicalJson, digestJson, type JsonObject, type JsonValue, sha256Hex } from '../core/index.ts';
import { OUTBOX_SCHEMA_VERSION } from './bounds.ts';
import { digestSorted, sortedText } from './sorted-json.ts';
import { type Principal, type ProviderProfile, type Scope, ToolCall, type ToolContract } from './model.ts';
import { isPlainText } from './plain-text.ts';

/** What a call identity was used for. An identity bound for a query can never be used for a dispatch. */
export type BindingPurpose = 'dispatch' | 'query_status';

// A document of plain texts is put together here as the built-in writer would write it, in a quarter of its time; what
// is not plain goes the general way.

/** What was found of a contract, which may have been changed since. */
interface PlainContract {
  readonly of: ToolContract;
  /** The revisions that a request's digest holds; null where JSON spells a text of the contract otherwise. */
  readonly revisions: string | null;
}

const plainContracts = new WeakMap<ToolContract, PlainContract>();

function plainRevisionsOf(contract: ToolContract): string | null {
  const known = plainContracts.get(contract);
  if (known !== undefined && isSame(known.of, contract)) return known.revisions;
  const { name, policy, effect, inputSchema, outputSchema } = contract;
  const text =
    `"effect_revision":"${effect}","input_schema_revision":"${inputSchema}",` +
    `"output_schema_revision":"${outputSchema}"`;
  const revisions = isPlainText(name + policy + effect + inputSchema + outputSchema) ? text : null;
  plainContracts.set(contract, { of: { ...contract }, revisions });
  return revisions;
}

function isSame(a: ToolContract, b: ToolContract): boolean {
  return (
    a.name === b.name &&
    a.policy === b.policy &&
    a.effect === b.effect &&
    a.inputSchema === b.inputSchema &&
    a.outputSchema === b.outputSchema
  );
}

/** The digest of a business intent. Execution identity (key, call, response) is no part of it, nor are roles. */
export function requestDigest(principal: Principal, contract: ToolContract, input: JsonObject): string {
  return requestDigestOfText(principal, contract, canonicalJson(input));
}

/** The same from the canonical text of the arguments. */
export function requestDigestOfText(principal: Principal, contract: ToolContract, argumentsJson: string): string {
  const { subject, tenant } = principal;
  const revisions = plainRevisionsOf(contract);
  if (revisions !== null && isPlainText(subject + tenant))
    return sha256Hex(
      `{"arguments":${argumentsJson},${revisions},"subject_id":"${subject}","tenant_id":"${tenant}",` +
        `"tool":"${contract.name}"}`,
    );
  const rest = sortedText({
    effect_revision: contract.effect,
    input_schema_revision: contract.inputSchema,
    output_schema_revision: contract.outputSchema,
    subject_id: subject,
    tenant_id: tenant,
    tool: contract.name,
  });
  return sha256Hex(`{"arguments":${argumentsJson},${rest.slice(1)}`);
}

/** What a provider call identity was used for, whole. */
export function callFingerprint(call: ToolCall, purpose: BindingPurpose, requestSha256: string): string {
  if (call.isPlain() && isPlainText(requestSha256))
    return sha256Hex(
      `{"adapter_revision":"${call.adapterRevision}","api_family":"${call.apiFamily}","call_id":"${call.callId}",` +
        `"idempotency_key":"${call.idempotencyKey}","operation_id":"${call.operationId}",` +
        `"provider":"${call.provider}","purpose":"${purpose}","request_sha256":"${requestSha256}",` +
        `"response_id":"${call.responseId}"}`,
    );
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
  if (
    context instanceof ToolCall &&
    context.isPlain() &&
    isPlainText(approverId + requestSha256) &&
    plainRevisionsOf(contract) !== null
  )
    return sha256Hex(
      `{"adapter_revision":"${context.adapterRevision}","api_family":"${context.apiFamily}",` +
        `"approval_revision":"${contract.policy}","approver_id":"${approverId}","call_id":"${context.callId}",` +
        `"effect_revision":"${contract.effect}","idempotency_key":"${context.idempotencyKey}",` +
        `"input_schema_revision":"${contract.inputSchema}","operation_id":"${context.operationId}",` +
        `"output_schema_revision":"${contract.outputSchema}","provider":"${context.provider}",` +
        `"request_sha256":"${requestSha256}","response_id":"${context.responseId}"}`,
    );
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
  const { tenant, subject, tool, key } = scope;
  if (isPlainText(tenant + subject + tool + key + requestSha256))
    return sha256Hex(`{"request_sha256":"${requestSha256}","scope":["${tenant}","${subject}","${tool}","${key}"]}`);
  return digestSorted({
    request_sha256: requestSha256,
    scope: [tenant, subject, tool, key],
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

/** The payload's canonical text. */
export function outboxText(operationPk: number, requestSha256: string, tool: string): string {
  if (!isPlainText(tool + requestSha256)) return sortedText(outboxPayload(operationPk, requestSha256, tool));
  return (
    `{"operation_pk":${operationPk},"request_sha256":"${requestSha256}",` +
    `"schema_version":"${OUTBOX_SCHEMA_VERSION}","tool":"${tool}"}`
  );
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
