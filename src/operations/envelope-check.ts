import {
  asJsonValue,
  canonicalJson,
  isBlank,
  isJsonObject,
  isSha256Hex,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
} from '../core/index.ts';
import { isStatusRef, principalRef, requestDigest, resultDigest } from './digests.ts';
import {
  AUDIT_VERSION,
  callBindingDigest,
  contractDocument,
  DISPATCHER_LABEL,
  DISPATCHER_REVISION,
  type Downstream,
  MODEL_RESULT_VERSION,
} from './envelope.ts';
import { ERROR_CATALOGUE, isOutcomeCode } from './error-catalogue.ts';
import { isRegisteredProfile } from './host-context.ts';
import {
  type ContractRevisions,
  type OperationTool,
  type Principal,
  PROVIDER_PROFILES,
  type ProviderProfile,
  type ToolCall,
  unregisteredContract,
} from './model.ts';
import { isObservedAt } from './observed-at.ts';
import { outputFindings } from './output-rules.ts';

/** Whose answer this is claimed to be: every digest is computed again from it, never taken from the answer. */
export interface EnvelopeClaim {
  readonly principal: Principal;
  readonly call: ToolCall;
  readonly tool: OperationTool | undefined;
  readonly profiles?: readonly ProviderProfile[];
}

const MODEL_FIELDS = ['schema_version', 'status', 'data', 'error', 'execution', 'provenance'];
const AUDIT_FIELDS = [
  'schema_version',
  'visibility',
  'operation_id',
  'principal_ref',
  'provider_context',
  'tool_contract',
  'binding',
  'downstream',
  'redactions',
];
const EXECUTION_FIELDS = ['outcome', 'delivery', 'complete', 'truncated'];
const PROVENANCE_FIELDS = ['source_label', 'producer_revision', 'resource_revision', 'observed_at', 'trust'];
const BINDING_FIELDS = ['request_sha256', 'result_sha256', 'call_binding_sha256'];
const DOWNSTREAM_FIELDS = ['request_id', 'receipt_id', 'status_ref'];

function hasFields(value: JsonValue | undefined, fields: readonly string[]): value is JsonObject {
  return (
    isJsonObject(value) &&
    Object.keys(value).length === fields.length &&
    fields.every((field) => Object.hasOwn(value, field))
  );
}

function equal(a: JsonValue | undefined, b: JsonValue): boolean {
  return a !== undefined && canonicalJson(a) === canonicalJson(b);
}

/** The parts of an answer whose shapes are right. */
interface Parts {
  readonly model: JsonObject;
  readonly execution: JsonObject;
  readonly provenance: JsonObject;
  readonly audit: JsonObject;
  readonly binding: JsonObject;
  readonly downstream: JsonObject;
}

/** Shapes first: an answer of another shape is not looked into. */
function partsOf(envelope: JsonValue): Parts | string {
  if (!hasFields(envelope, ['model_result', 'protected_audit']))
    return 'the result has other fields than its two parts';
  const { model_result: model, protected_audit: audit } = envelope;
  if (!hasFields(model, MODEL_FIELDS)) return 'model_result has other fields than declared';
  if (!hasFields(audit, AUDIT_FIELDS)) return 'protected_audit has other fields than declared';
  const { execution, provenance } = model;
  const { binding, downstream } = audit;
  if (!hasFields(execution, EXECUTION_FIELDS)) return 'model_result.execution has other fields than declared';
  if (!hasFields(provenance, PROVENANCE_FIELDS)) return 'model_result.provenance has other fields than declared';
  if (!hasFields(binding, BINDING_FIELDS)) return 'protected_audit.binding has other fields than declared';
  if (!hasFields(downstream, DOWNSTREAM_FIELDS)) return 'protected_audit.downstream has other fields than declared';
  return { model, execution, provenance, audit, binding, downstream };
}

const DELIVERIES = ['fresh', 'local_replay', 'receipt_reconciled'];

function wordFindings({ model, execution, audit }: Parts): string[] {
  const findings: string[] = [];
  if (model['schema_version'] !== MODEL_RESULT_VERSION) findings.push('model_result has another schema_version');
  if (audit['schema_version'] !== AUDIT_VERSION) findings.push('protected_audit has another schema_version');
  if (audit['visibility'] !== 'protected_audit') findings.push('protected_audit has another visibility');
  if (!DELIVERIES.some((word) => word === execution['delivery']))
    findings.push('execution.delivery is not one of its words');
  if (execution['complete'] !== true || execution['truncated'] !== false)
    findings.push('execution must be complete and not truncated');
  return findings;
}

function provenanceFindings({ model, provenance }: Parts, tool: OperationTool | undefined): string[] {
  const findings: string[] = [];
  const succeeded = model['status'] === 'succeeded';
  const expected = succeeded
    ? { label: tool?.producerLabel ?? provenance['source_label'], trust: 'untrusted_data' }
    : { label: DISPATCHER_LABEL, trust: 'trusted_control' };
  if (provenance['source_label'] !== expected.label) findings.push('provenance.source_label is another one');
  if (provenance['trust'] !== expected.trust) findings.push('provenance.trust does not fit the status');
  if (!succeeded && provenance['producer_revision'] !== DISPATCHER_REVISION)
    findings.push('provenance.producer_revision is another one');
  if (!succeeded && provenance['resource_revision'] !== null)
    findings.push('provenance.resource_revision must be null without data');
  if (!succeeded && !isObservedAt(provenance['observed_at']))
    findings.push('provenance.observed_at is not a UTC second');
  return findings;
}

async function successFindings(parts: Parts, { tool, call }: EnvelopeClaim): Promise<string[]> {
  const { model, execution, provenance, downstream } = parts;
  const findings: string[] = [];
  if (model['error'] !== null || execution['outcome'] !== 'committed')
    findings.push('a success has no error and is committed');
  if (!tool) return [...findings, 'a success needs a registered tool'];
  const ids = [downstream['request_id'], downstream['receipt_id']];
  if (!ids.every((id) => typeof id === 'string' && !isBlank(id)) || !isStatusRef(downstream['status_ref']))
    findings.push('a success names all three downstream references');
  const result = {
    data: model['data'] ?? null,
    observedAt: provenance['observed_at'],
    resourceRevision: provenance['resource_revision'],
    producerRevision: provenance['producer_revision'],
  };
  return [...findings, ...(await outputFindings(tool, call.arguments, result))];
}

function isCatalogued(parts: Parts): boolean {
  const { model, execution } = parts;
  const { error } = model;
  if (model['data'] !== null || !isJsonObject(error) || !isOutcomeCode(error['code'])) return false;
  const entry = ERROR_CATALOGUE[error['code']];
  const expected = {
    code: error['code'],
    category: entry.category,
    safe_message: entry.safeMessage,
    recovery: entry.recovery,
    retry_after_ms: entry.retryAfterMs,
  };
  return (
    equal(error, expected) &&
    model['status'] === entry.status &&
    execution['outcome'] === entry.outcome &&
    execution['delivery'] === 'fresh'
  );
}

function errorFindings(parts: Parts): string[] {
  const { downstream } = parts;
  const findings: string[] = [];
  if (!isCatalogued(parts)) findings.push('the error is not one of the catalogue');
  const statusRef = downstream['status_ref'];
  if (downstream['request_id'] !== null || downstream['receipt_id'] !== null)
    findings.push('an answer without data names no receipt');
  if (statusRef !== null && !isStatusRef(statusRef)) findings.push('downstream.status_ref is not a status reference');
  return findings;
}

function auditFindings({ audit }: Parts, { principal, call, tool }: EnvelopeClaim): string[] {
  const findings: string[] = [];
  const contract = tool?.contract ?? unregisteredContract(call.name);
  if (audit['operation_id'] !== call.operationId) findings.push('operation_id is another one');
  if (audit['principal_ref'] !== principalRef(principal)) findings.push('principal_ref is another one');
  const context = {
    provider: call.provider,
    api_family: call.apiFamily,
    response_id: call.responseId,
    call_id: call.callId,
    adapter_revision: call.adapterRevision,
  };
  if (!equal(audit['provider_context'], context)) findings.push('provider_context is another one');
  if (!equal(audit['tool_contract'], contractDocument(contract))) findings.push('tool_contract is another one');
  return findings;
}

function digestFindings({ model, binding, downstream }: Parts, { principal, call, tool }: EnvelopeClaim): string[] {
  const contract = tool?.contract ?? unregisteredContract(call.name);
  const requestSha256 = requestDigest(principal, contract, call.arguments);
  const resultSha256 = resultDigest(model);
  const findings: string[] = [];
  if (binding['request_sha256'] !== requestSha256) findings.push('binding.request_sha256 is not the computed one');
  if (binding['result_sha256'] !== resultSha256) findings.push('binding.result_sha256 is not the computed one');
  const bound = { requestSha256, resultSha256, downstream: downstream as unknown as Downstream };
  const whole = callBindingDigest(principal, call, contract, bound);
  if (binding['call_binding_sha256'] !== whole || !Object.values(binding).every(isSha256Hex))
    findings.push('binding.call_binding_sha256 does not bind this call');
  return findings;
}

/** The revisions of the contract that an answer names, or null where it names none. */
export function revisionsNamed(envelope: unknown): ContractRevisions | null {
  const value = jsonOf(envelope);
  const audit = isJsonObject(value) ? value['protected_audit'] : undefined;
  const named = isJsonObject(audit) ? audit['tool_contract'] : undefined;
  if (!isJsonObject(named)) return null;
  const text = (field: string): string => (typeof named[field] === 'string' ? named[field] : '');
  return {
    inputSchema: text('input_schema_revision'),
    outputSchema: text('output_schema_revision'),
    effect: text('effect_revision'),
    handler: text('handler_revision'),
    producer: text('producer_revision'),
    policy: text('policy_revision'),
  };
}

function jsonOf(envelope: unknown): JsonValue | undefined {
  try {
    return asJsonValue(envelope, JSON_PROFILES.operations);
  } catch {
    return undefined;
  }
}

/**
 * Everything that is wrong with an answer, seen by whoever made the call. Empty: it is whole, and for this call of this
 * principal. A wrong shape ends the check early.
 */
export async function envelopeFindings(envelope: unknown, claim: EnvelopeClaim): Promise<readonly string[]> {
  const { call, tool, profiles = PROVIDER_PROFILES } = claim;
  if (!isRegisteredProfile(profiles, call)) return ['the call has no registered provider profile'];
  const value = jsonOf(envelope);
  if (value === undefined) return ['the result is not JSON within the bounds'];
  const parts = partsOf(value);
  if (typeof parts === 'string') return [parts];
  const rules = parts.model['status'] === 'succeeded' ? await successFindings(parts, claim) : errorFindings(parts);
  const { redactions } = parts.audit;
  return [
    ...wordFindings(parts),
    ...provenanceFindings(parts, tool),
    ...rules,
    ...auditFindings(parts, claim),
    ...digestFindings(parts, claim),
    ...(Array.isArray(redactions) && redactions.length === 0 ? [] : ['redactions must be an empty list']),
  ];
}
