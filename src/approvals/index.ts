export { auditRequests, type DamagedRequest } from './audit.ts';
export {
  type ApprovalBatch,
  type BatchCall,
  type BatchDecision,
  type BatchExecution,
  type BatchProposal,
  type BatchRecovery,
  type BatchStatus,
  type BatchVerdict,
  cancelBatch,
  decideBatch,
  finishCall,
  openBatch,
  pendingCalls,
  recoverBatch,
  startCall,
} from './batch.ts';
export { type BatchHome, batchDocument, readBatchDocument } from './batch-document.ts';
export {
  activateContinuation,
  consumeContinuation,
  type ContinuedAction,
  isDecisionOpen,
  revokeContinuations,
} from './continuations.ts';
export { approvalSessionHooks } from './session-hooks.ts';
export { decidedRequests } from './decided.ts';
export { decide, type DecideResult, type Verdict } from './decisions.ts';
export { actionDigest, argumentsSha256, callArgumentHash } from './digests.ts';
export { escapeForDisplay, type ShownRequest } from './display.ts';
export { changedFields, CheckedEdit, checkEdit, type EditVerdict, type ValidateArguments } from './edits.ts';
export { isExactName, matchesPattern } from './glob.ts';
export { confirmationGate, type ConfirmationDenial, type GrantedCall, grantFits, grantOf } from './grants.ts';
export { type Command, mismatch, type Refusal, type Step, step } from './machine.ts';
export type {
  ApproverRule,
  Authority,
  CallBinding,
  Decision,
  Grant,
  PermissionRequest,
  PermissionRule,
  RequestedAction,
  RequestState,
  RuleDecision,
  RuleScope,
  Use,
} from './model.ts';
export {
  checkPolicies,
  isRuleApprover,
  judgeCall,
  type Policy,
  type PolicyAnswer,
  policyApprover,
  policyRevision,
  type PolicySet,
  type PolicyVerdict,
  type ProposedCall,
  type ShadowReport,
} from './policy.ts';
export { projectBatch } from './projection.ts';
export {
  hasPending,
  latestRequest,
  type NewRequest,
  proposedBeforeEdit,
  requestPermission,
  requireRequest,
} from './requests.ts';
export {
  dropRule,
  importedDecision,
  importRule,
  listRules,
  type NewRule,
  pageOfRules,
  putRule,
  requireRuleMaker,
  rulesFor,
} from './rules.ts';
export type { Fits, Outdated } from './outdated.ts';
export type { Said } from './said.ts';
export { Approvals, argumentsOf } from './service.ts';
export { approvalsSchema } from './tables.ts';
export { cancelRequests, consume, type OpenRequests, recheck, sweepExpired, type SweepResult } from './use.ts';
