import {
  fail,
  isBlank,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readCanonicalJson,
} from '../core/index.ts';
import { type ApproverCheck, isBoundedText, mayApprove } from './approval.ts';
import { MAX_PORTABLE_UNIX_SECONDS } from './bounds.ts';
import { approvalDigest, effectIdentity, statusRefOf } from './digests.ts';
import { isRegisteredProfile } from './host-context.ts';
import type { ContractRevisions, OperationRecord, ProviderProfile, Scope, ToolContract } from './model.ts';

/** A stored row is not what it must be: nothing is answered from it and nothing is done for it. */
export function recordBroken(finding: string, cause?: unknown) {
  return fail('OPERATION_RECORD_BROKEN', `A stored operation record is not what it must be: ${finding}.`, { cause });
}

/** What a stored operation must equal: the request as it is computed now. */
export interface ExpectedRequest {
  readonly scope: Scope;
  readonly contract: ToolContract;
  readonly requestSha256: string;
  readonly argumentsJson: string;
}

export interface EvidenceRules {
  readonly profiles: readonly ProviderProfile[];
  readonly isApprover: ApproverCheck;
}

export function sameScope(a: Scope, b: Scope): boolean {
  return a.tenant === b.tenant && a.subject === b.subject && a.tool === b.tool && a.key === b.key;
}

export function sameRevisions(a: ContractRevisions, b: ContractRevisions): boolean {
  return (
    a.inputSchema === b.inputSchema &&
    a.outputSchema === b.outputSchema &&
    a.effect === b.effect &&
    a.handler === b.handler &&
    a.producer === b.producer &&
    a.policy === b.policy
  );
}

export function sameIntent(row: OperationRecord, expected: ExpectedRequest): boolean {
  return row.requestSha256 === expected.requestSha256 && sameRevisions(row.revisions, expected.contract);
}

function approvalFinding(row: OperationRecord, expected: ExpectedRequest, rules: EvidenceRules): string | null {
  if (!isBoundedText(row.approverId) || !mayApprove(rules.isApprover, row.approverId, row.approvedAt))
    return 'the approver of its approval is not authorised';
  const digest = approvalDigest(
    { ...row.first, idempotencyKey: row.scope.key },
    expected.contract,
    row.requestSha256,
    row.approverId,
  );
  if (isBlank(row.approvalId) || row.approvalDigest !== digest)
    return 'the evidence of its approval does not fit the stored call';
  return timesFinding(row);
}

/** An approval is from the second of the operation, and ended later, at a time that can be written. */
export function timesFinding({ approvedAt, createdAt, approvalExpiresAt: ends }: OperationRecord): string | null {
  return approvedAt === createdAt && approvedAt < ends && ends <= MAX_PORTABLE_UNIX_SECONDS
    ? null
    : 'the times of its approval do not fit its creation';
}

/** The first thing about a stored operation that does not fit, in the contracts' order, or null. */
export function evidenceFinding(row: OperationRecord, expected: ExpectedRequest, rules: EvidenceRules): string | null {
  if (!sameScope(row.scope, expected.scope)) return 'its scope is another one';
  if (!sameIntent(row, expected)) return 'its request/contract binding is another one';
  if (row.argumentsJson !== expected.argumentsJson) return 'its arguments are not those of the request';
  if (row.statusRef !== statusRefOf(effectIdentity(expected.scope, expected.requestSha256)))
    return 'its status reference is not the computed one';
  if (!Object.values(row.first).every(isBoundedText)) return 'an identity of its first call is not bounded text';
  if (!isRegisteredProfile(rules.profiles, row.first))
    return 'the provider profile of its first call is not registered';
  return approvalFinding(row, expected, rules);
}

export function requireEvidence(row: OperationRecord, expected: ExpectedRequest, rules: EvidenceRules): void {
  const finding = evidenceFinding(row, expected, rules);
  if (finding !== null) throw recordBroken(finding);
}

/** A stored text as the JSON it must be, byte for byte canonical; `what` names it in the error. */
export function readStoredJson(text: string, what: string): JsonValue {
  try {
    return readCanonicalJson(text, JSON_PROFILES.operations);
  } catch (cause) {
    throw recordBroken(`${what} ${storedJsonFinding(cause)}`, cause);
  }
}

/** Why a stored text was refused, for people; depth is called nesting. */
export function storedJsonFinding(cause: unknown): string {
  const details = cause instanceof Error && 'details' in cause ? (cause.details as { reason?: string }) : {};
  if (details.reason === 'JSON_TOO_DEEP') return 'exceeds the nesting bound';
  if (details.reason === 'form') return 'is not in canonical form';
  return `is not strict JSON (${details.reason ?? 'unreadable'})`;
}

export function readStoredObject(text: string, what: string): JsonObject {
  const value = readStoredJson(text, what);
  if (!isJsonObject(value)) throw recordBroken(`${what} is not an object`);
  return value;
}
