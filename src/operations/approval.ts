import { codePointsWithin, compareCodePoints, isBlank } from '../core/index.ts';
import { MAX_IDENTIFIER_CHARS, MAX_PORTABLE_UNIX_SECONDS } from './bounds.ts';
import { approvalDigest } from './digests.ts';
import type { OperationApproval, Principal, ToolCall, ToolContract } from './model.ts';

/** Who may approve, judged as it was at the second of the approval. */
export type ApproverCheck = (approverId: string, atUnixSeconds: number) => boolean;

export function isBoundedText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    codePointsWithin(value, MAX_IDENTIFIER_CHARS) &&
    value.isWellFormed() &&
    !isBlank(value)
  );
}

/** Whether the host says so: a promise of an answer, as a check in plain JavaScript may give, is none. */
export function mayApprove(isApprover: ApproverCheck, approverId: string, atUnixSeconds: number): boolean {
  const said: unknown = isApprover(approverId, atUnixSeconds);
  return said === true;
}

/** The digest that an approval of this call must carry. */
export function digestForCall(
  call: ToolCall,
  contract: ToolContract,
  requestSha256: string,
  approverId: string,
): string {
  return approvalDigest(call, contract, requestSha256, approverId);
}

function matchesCall(
  approval: OperationApproval,
  principal: Principal,
  call: ToolCall,
  contract: ToolContract,
): boolean {
  return (
    approval.operationId === call.operationId &&
    approval.callId === call.callId &&
    approval.provider === call.provider &&
    approval.apiFamily === call.apiFamily &&
    approval.adapterRevision === call.adapterRevision &&
    approval.idempotencyKey === call.idempotencyKey &&
    approval.toolName === contract.name &&
    approval.subject === principal.subject &&
    approval.schemaRevision === contract.inputSchema &&
    approval.policyRevision === contract.policy
  );
}

function isInTime(expiresAt: unknown, now: number): boolean {
  return Number.isInteger(expiresAt) && Number(expiresAt) > now && Number(expiresAt) <= MAX_PORTABLE_UNIX_SECONDS;
}

/** What an approval must be for one call at one time. */
export interface ApprovalQuestion {
  readonly principal: Principal;
  readonly call: ToolCall;
  readonly contract: ToolContract;
  readonly requestSha256: string;
  readonly now: number;
  readonly isApprover: ApproverCheck;
}

/** The whole rule, one place: whatever is chosen has passed all of it. */
export function isValidApproval(approval: OperationApproval, question: ApprovalQuestion): boolean {
  const { principal, call, contract, requestSha256, now, isApprover } = question;
  return (
    isBoundedText(approval.approvalId) &&
    isBoundedText(approval.approverId) &&
    mayApprove(isApprover, approval.approverId, now) &&
    isInTime(approval.expiresAt, now) &&
    matchesCall(approval, principal, call, contract) &&
    approval.digest === digestForCall(call, contract, requestSha256, approval.approverId)
  );
}

/** The approval to keep: of those that are valid, the first by id, then by the earliest end. */
export function chooseApproval(
  approvals: readonly OperationApproval[],
  question: ApprovalQuestion,
): OperationApproval | undefined {
  const valid = approvals.filter((approval) => isValidApproval(approval, question));
  return valid.sort((a, b) => compareCodePoints(a.approvalId, b.approvalId) || a.expiresAt - b.expiresAt)[0];
}
