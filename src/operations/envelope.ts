import { type JsonValue, utcText } from '../core/index.ts';
import { principalRef, requestDigest, resultDigest } from './digests.ts';
import { ERROR_CATALOGUE, type OutcomeCode } from './error-catalogue.ts';
import type { OperationTool, Principal, StoredReceipt, ToolCall, ToolContract } from './model.ts';
import { digestSorted } from './sorted-json.ts';

export const MODEL_RESULT_VERSION = 'tool-model-result-v2';
export const AUDIT_VERSION = 'tool-audit-v2';
export const DISPATCHER_LABEL = 'offline-dispatcher';
export const DISPATCHER_REVISION = 'offline-dispatcher-v2';

export type Delivery = 'fresh' | 'local_replay' | 'receipt_reconciled';

export interface ModelResultError {
  readonly code: string;
  readonly category: string;
  readonly safe_message: string;
  readonly recovery: string;
  readonly retry_after_ms: number | null;
}

/** The part of an answer that a model may see. */
export interface ModelResult {
  readonly schema_version: string;
  readonly status: 'succeeded' | 'failed' | 'unknown';
  readonly data: JsonValue;
  readonly error: ModelResultError | null;
  readonly execution: {
    readonly outcome: 'committed' | 'not_started' | 'unknown';
    readonly delivery: Delivery;
    readonly complete: boolean;
    readonly truncated: boolean;
  };
  readonly provenance: {
    readonly source_label: string;
    readonly producer_revision: string;
    readonly resource_revision: string | null;
    readonly observed_at: string;
    readonly trust: 'untrusted_data' | 'trusted_control';
  };
}

export interface Downstream {
  readonly request_id: string | null;
  readonly receipt_id: string | null;
  readonly status_ref: string | null;
}

/** The part that a model must not see: identities, digests, receipts. */
export interface ProtectedAudit {
  readonly schema_version: string;
  readonly visibility: 'protected_audit';
  readonly operation_id: string;
  readonly principal_ref: string;
  readonly provider_context: {
    readonly provider: string;
    readonly api_family: string;
    readonly response_id: string;
    readonly call_id: string;
    readonly adapter_revision: string;
  };
  readonly tool_contract: ToolContractDocument;
  readonly binding: {
    readonly request_sha256: string;
    readonly result_sha256: string;
    readonly call_binding_sha256: string;
  };
  readonly downstream: Downstream;
  readonly redactions: readonly string[];
}

/** What a caller gets back: the contracts' "package". A document: its field names are the contracts'. */
export interface ResultEnvelope {
  readonly model_result: ModelResult;
  readonly protected_audit: ProtectedAudit;
}

export type ToolContractDocument = {
  readonly name: string;
  readonly input_schema_revision: string;
  readonly output_schema_revision: string;
  readonly effect_revision: string;
  readonly handler_revision: string;
  readonly producer_revision: string;
  readonly policy_revision: string;
};

export function contractDocument(contract: ToolContract): ToolContractDocument {
  return {
    effect_revision: contract.effect,
    handler_revision: contract.handler,
    input_schema_revision: contract.inputSchema,
    name: contract.name,
    output_schema_revision: contract.outputSchema,
    policy_revision: contract.policy,
    producer_revision: contract.producer,
  };
}

/** Binds a result to the whole request: every identity, the contract, both digests and what the other side named. */
export function callBindingDigest(
  principal: Principal,
  call: ToolCall,
  contract: ToolContract,
  bound: { readonly requestSha256: string; readonly resultSha256: string; readonly downstream: Downstream },
): string {
  const { receipt_id, request_id, status_ref } = bound.downstream;
  return digestSorted({
    adapter_revision: call.adapterRevision,
    api_family: call.apiFamily,
    call_id: call.callId,
    downstream: { receipt_id, request_id, status_ref },
    idempotency_key: call.idempotencyKey,
    operation_id: call.operationId,
    provider: call.provider,
    request_sha256: bound.requestSha256,
    response_id: call.responseId,
    result_sha256: bound.resultSha256,
    subject_id: principal.subject,
    tenant_id: principal.tenant,
    tool_contract: contractDocument(contract),
  });
}

function wrap(
  principal: Principal,
  call: ToolCall,
  contract: ToolContract,
  requestSha256: string,
  modelResult: ModelResult,
  downstream: Downstream,
): ResultEnvelope {
  const resultSha256 = resultDigest(modelResult as unknown as JsonValue);
  return {
    model_result: modelResult,
    protected_audit: {
      schema_version: AUDIT_VERSION,
      visibility: 'protected_audit',
      operation_id: call.operationId,
      principal_ref: principalRef(principal),
      provider_context: {
        provider: call.provider,
        api_family: call.apiFamily,
        response_id: call.responseId,
        call_id: call.callId,
        adapter_revision: call.adapterRevision,
      },
      tool_contract: contractDocument(contract),
      binding: {
        request_sha256: requestSha256,
        result_sha256: resultSha256,
        call_binding_sha256: callBindingDigest(principal, call, contract, { requestSha256, resultSha256, downstream }),
      },
      downstream,
      redactions: [],
    },
  };
}

/** An answer without data: refused, or unknown. `now` is when it was refused; nothing of a stored result is in it. */
export function errorEnvelope(
  code: OutcomeCode,
  principal: Principal,
  call: ToolCall,
  contract: ToolContract,
  now: number,
  statusRef: string | null = null,
): ResultEnvelope {
  const entry = ERROR_CATALOGUE[code];
  const modelResult: ModelResult = {
    schema_version: MODEL_RESULT_VERSION,
    status: entry.status,
    data: null,
    error: {
      code,
      category: entry.category,
      safe_message: entry.safeMessage,
      recovery: entry.recovery,
      retry_after_ms: entry.retryAfterMs,
    },
    execution: { outcome: entry.outcome, delivery: 'fresh', complete: true, truncated: false },
    provenance: {
      source_label: DISPATCHER_LABEL,
      producer_revision: DISPATCHER_REVISION,
      resource_revision: null,
      observed_at: utcText(now),
      trust: 'trusted_control',
    },
  };
  const downstream = { request_id: null, receipt_id: null, status_ref: statusRef };
  return wrap(principal, call, contract, requestDigest(principal, contract, call.arguments), modelResult, downstream);
}

/** The answer of a finished operation, read from its receipt; `data` is the receipt's own, freshly parsed. */
export function successEnvelope(
  principal: Principal,
  call: ToolCall,
  tool: OperationTool,
  requestSha256: string,
  found: {
    readonly data: JsonValue;
    readonly receipt: StoredReceipt;
    readonly statusRef: string;
    readonly delivery: Delivery;
  },
): ResultEnvelope {
  const modelResult: ModelResult = {
    schema_version: MODEL_RESULT_VERSION,
    status: 'succeeded',
    data: found.data,
    error: null,
    execution: { outcome: 'committed', delivery: found.delivery, complete: true, truncated: false },
    provenance: {
      source_label: tool.producerLabel,
      producer_revision: found.receipt.producerRevision,
      resource_revision: found.receipt.resourceRevision,
      observed_at: found.receipt.observedAt,
      trust: 'untrusted_data',
    },
  };
  return wrap(principal, call, tool.contract, requestSha256, modelResult, {
    request_id: found.receipt.downstreamRequestId,
    receipt_id: found.receipt.receiptId,
    status_ref: found.statusRef,
  });
}

/** `OK`, or the code of an answer without data. */
export function envelopeCode(envelope: ResultEnvelope): string {
  return envelope.model_result.error?.code ?? 'OK';
}
