import {
  asJsonValue,
  canonicalJson,
  isBlank,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
} from '../core/index.ts';
import type { Awaitable, OperationTool } from './model.ts';
import { isObservedAt } from './observed-at.ts';

/**
 * Names that no output may hold: secrets, and identities that a model must not see. Compared in lower case with `-` as
 * `_`.
 */
export const FORBIDDEN_OUTPUT_NAMES: readonly string[] = [
  'access_token',
  'api_key',
  'authorization',
  'call_binding_sha256',
  'call_id',
  'cookie',
  'operation_id',
  'password',
  'refresh_token',
  'request_digest',
  'request_sha256',
  'result_sha256',
  'secret',
  'set_cookie',
];

/** What a tool's handler brought back, before anybody believes it. */
export interface HandlerResult {
  readonly data: JsonValue;
  readonly observedAt: unknown;
  readonly resourceRevision: unknown;
  readonly producerRevision: unknown;
}

function holdsForbiddenName(value: JsonValue, names: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((item) => holdsForbiddenName(item, names));
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(
    ([key, inner]) => names.includes(key.toLowerCase().replaceAll('-', '_')) || holdsForbiddenName(inner, names),
  );
}

function depthOf(value: JsonValue): number {
  if (Array.isArray(value)) return 1 + value.reduce<number>((deepest, item) => Math.max(deepest, depthOf(item)), 0);
  if (!isJsonObject(value)) return 0;
  return 1 + Object.values(value).reduce<number>((deepest, item) => Math.max(deepest, depthOf(item)), 0);
}

function provenanceFindings(tool: OperationTool, result: HandlerResult): string[] {
  const findings: string[] = [];
  if (result.producerRevision !== tool.contract.producer) findings.push('the producer revision is not the contract’s');
  const resource = result.resourceRevision;
  if (resource !== null && (typeof resource !== 'string' || isBlank(resource)))
    findings.push('the resource revision must be null or text that is not blank');
  if (!isObservedAt(result.observedAt)) findings.push('observed_at must be a UTC second that exists');
  return findings;
}

/** Exact fields, where the tool fixes them: a wrong set ends the check. */
function hasExactFields(data: JsonObject, fields: readonly string[]): boolean {
  return Object.keys(data).length === fields.length && fields.every((field) => Object.hasOwn(data, field));
}

function isInDomain(data: JsonValue): boolean {
  try {
    asJsonValue(data, JSON_PROFILES.operations);
    return true;
  } catch {
    return false;
  }
}

function boundFindings(tool: OperationTool, data: JsonValue): string[] {
  const findings: string[] = [];
  if (holdsForbiddenName(data, tool.forbiddenOutputNames ?? FORBIDDEN_OUTPUT_NAMES))
    findings.push('the output holds a name that outputs must not have');
  if (Buffer.byteLength(canonicalJson(data)) > tool.outputLimits.maxBytes)
    findings.push('the output is larger than the tool allows');
  if (depthOf(data) > tool.outputLimits.maxDepth) findings.push('the output is nested deeper than the tool allows');
  return findings;
}

/**
 * Everything that is wrong with an output, in the contracts' order: producer, resource, time, shape, JSON domain,
 * forbidden names, size, depth, then the tool's own rules. Empty: it may be believed. A promise only where the tool's
 * own rules need one.
 */
export function outputFindings(
  tool: OperationTool,
  input: JsonObject,
  result: HandlerResult,
): Awaitable<readonly string[]> {
  const findings = provenanceFindings(tool, result);
  if (tool.outputFields !== undefined) {
    if (!isJsonObject(result.data)) return [...findings, 'the output must be an object'];
    if (!hasExactFields(result.data, tool.outputFields))
      return [...findings, 'the output has other fields than declared'];
  }
  if (!isInDomain(result.data)) return [...findings, 'the output is not JSON within the bounds'];
  findings.push(...boundFindings(tool, result.data));
  const own = tool.checkOutput(result.data, input);
  return own instanceof Promise ? own.then((more) => [...findings, ...more]) : [...findings, ...own];
}
