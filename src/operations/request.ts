import { asJsonValue, canonicalJson, fail, isJsonObject, JSON_PROFILES, type JsonObject } from '../core/index.ts';
import { MAX_STORED_JSON_BYTES } from './bounds.ts';
import { type BindingPurpose, callFingerprint, effectIdentity, requestDigestOfText, statusRefOf } from './digests.ts';
import type { ExpectedRequest } from './evidence.ts';
import type { OperationTool, Principal, Scope, ToolCall } from './model.ts';

/** A request with everything that is computed from it once: what is stored, compared and digested. */
export interface PreparedRequest extends ExpectedRequest {
  readonly principal: Principal;
  readonly call: ToolCall;
  readonly tool: OperationTool;
  readonly statusRef: string;
  readonly fingerprint: string;
  readonly purpose: BindingPurpose;
}

/** A call that has its key. */
export type KeyedCall = ToolCall & { readonly idempotencyKey: string };

export function hasKey(call: ToolCall): call is KeyedCall {
  return call.idempotencyKey !== null;
}

export function scopeOfCall(principal: Principal, call: KeyedCall): Scope {
  return { tenant: principal.tenant, subject: principal.subject, tool: call.name, key: call.idempotencyKey };
}

/** Arguments that could not be read back once they are stored are refused before anything is computed from them. */
export function requireDomain(input: unknown): void {
  asJsonValue(input, JSON_PROFILES.operations);
}

/** Computes what belongs to a request under one tool contract. Refuses arguments that could not be stored. */
export function prepareRequest(
  principal: Principal,
  call: KeyedCall,
  tool: OperationTool,
  purpose: BindingPurpose,
): PreparedRequest {
  requireDomain(call.arguments);
  if (!isJsonObject(call.arguments)) throw fail('INVALID_VALUE', 'arguments must be an object.');
  const argumentsJson = canonicalJson(call.arguments);
  if (Buffer.byteLength(argumentsJson) > MAX_STORED_JSON_BYTES)
    throw fail('INVALID_VALUE', `arguments may have at most ${MAX_STORED_JSON_BYTES} bytes.`);
  const scope = scopeOfCall(principal, call);
  const requestSha256 = requestDigestOfText(principal, tool.contract, argumentsJson);
  return {
    principal,
    call,
    tool,
    scope,
    contract: tool.contract,
    requestSha256,
    argumentsJson,
    statusRef: statusRefOf(effectIdentity(scope, requestSha256)),
    fingerprint: callFingerprint(call, purpose, requestSha256),
    purpose,
  };
}

/** What a stored operation must equal when nothing but its row and a tool's contract is at hand. */
export function expectedOfRow(scope: Scope, tool: OperationTool, input: JsonObject): ExpectedRequest {
  const principal = { tenant: scope.tenant, subject: scope.subject, roles: [] };
  const argumentsJson = canonicalJson(input);
  const requestSha256 = requestDigestOfText(principal, tool.contract, argumentsJson);
  return { scope, contract: tool.contract, requestSha256, argumentsJson };
}
