export type { PrincipalResolver } from './access.ts';
export type { Admission } from './admission.ts';
export { type ApproverCheck, chooseApproval, digestForCall, isValidApproval } from './approval.ts';
export type { OperationCounts, OperationsAudit } from './audit.ts';
export {
  DEFAULT_LEASE_SECONDS,
  DEFAULT_WORKER_ID,
  MAX_IDENTIFIER_CHARS,
  MAX_JSON_DEPTH,
  MAX_PORTABLE_UNIX_SECONDS,
  MAX_ROLES,
  MAX_STORED_JSON_BYTES,
  MAX_WORKER_ID_CHARS,
  OUTBOX_SCHEMA_VERSION,
  SCHEMA_VERSION,
} from './bounds.ts';
export type { OperationChange } from './context.ts';
export {
  type ApprovalContext,
  approvalDigest,
  type BindingPurpose,
  callFingerprint,
  effectIdentity,
  isStatusRef,
  outboxEventId,
  outboxPayload,
  principalRef,
  requestDigest,
  statusQueryCall,
  statusRefOf,
} from './digests.ts';
export type { DispatchOptions } from './dispatch.ts';
export type { DeliveryAnswer, DeliveryRequest, DownstreamPort, LookupAnswer, LookupRequest } from './downstream.ts';
export { type TableEffect, tableDownstream } from './downstream-table.ts';
export {
  type Delivery,
  envelopeCode,
  errorEnvelope,
  type ModelResult,
  type ProtectedAudit,
  type ResultEnvelope,
} from './envelope.ts';
export { type EnvelopeClaim, envelopeFindings } from './envelope-check.ts';
export { type CatalogueEntry, ERROR_CATALOGUE, isOutcomeCode, type OutcomeCode } from './error-catalogue.ts';
export type { ExpectedRequest } from './evidence.ts';
export {
  checkHostContext,
  DISPATCH_FAILURES,
  type DispatchFailure,
  PROCESS_FAILURES,
  type ProcessFailure,
} from './host-context.ts';
export type { LeaseAnswer, LeaseTerms } from './lease.ts';
export {
  type KnownOutcome,
  knownOutcome,
  type ListOptions,
  type OperationPage,
  type OperationView,
} from './listing.ts';
export {
  decideLease,
  decideReplay,
  type OperationAnswer,
  type OperationCommand,
  type OperationLife,
  type OperationStep,
  step,
} from './machine.ts';
export {
  type ContractRevisions,
  type Lease,
  type OperationApproval,
  type OperationRecord,
  type OperationTool,
  type OperationTools,
  type OtherAnswer,
  Principal,
  type ProcessOutcome,
  PROVIDER_PROFILES,
  type ProviderProfile,
  type Receipt,
  type Scope,
  type StoredReceipt,
  ToolCall,
  type ToolCallFields,
  type ToolContract,
  UNREGISTERED,
  unregisteredContract,
  type Verdict,
  type VerdictKind,
  type VerdictSource,
} from './model.ts';
export { isObservedAt } from './observed-at.ts';
export { FORBIDDEN_OUTPUT_NAMES, type HandlerResult, outputFindings } from './output-rules.ts';
export type { ProcessOptions } from './process.ts';
export { type ProviderPayload, providerPayload } from './provider-payloads.ts';
export type { RecordAnswer, RecordTerms } from './record.ts';
export { hasKey, type KeyedCall, type PreparedRequest, prepareRequest } from './request.ts';
export type {
  OperationHandle,
  Reservation,
  ReservationRefusal,
  ReservedOperation,
  ReserveTerms,
  RuleAnswer,
} from './reserve.ts';
export type { OutboxRecord, WholeOperation } from './rows.ts';
export { Operations, type OperationsOptions } from './service.ts';
export type { PersonVerdict } from './settle.ts';
export type { StatusQuery } from './status.ts';
export { proveStored } from './stored-proof.ts';
export { operationVerdictsSchema } from './composed-tables.ts';
export { operationsSchema } from './tables.ts';
