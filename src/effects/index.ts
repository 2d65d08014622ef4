export { assess, assessAll, assessAtCompletion, unresolvedImpact } from './assess.ts';
export { assessmentDocument, readRecord, recordDocument, refDocument } from './codec.ts';
export { EFFECT_PERSISTENCE_CODES } from './errors.ts';
export {
  type Filesystem,
  type FilesystemOptions,
  openFilesystem,
} from './filesystem/filesystem.ts';
export type { FileReading } from './filesystem/read-back.ts';
export type { FilesystemIdentity, FilesystemRoot, SealOptions } from './filesystem/roots.ts';
export { type ControlPlaces, effectsDir, hasSensitiveName } from './filesystem/sensitive.ts';
export { freshness } from './freshness.ts';
export { type EffectHistory, historyOf } from './history.ts';
export { type Journal, type JournalOptions, loadJournal, openJournal } from './journal/journal.ts';
export {
  claim,
  claimNext,
  type EffectEnding,
  type LedgerClaimInput,
  type LedgerRun,
  readHistory,
  recordObservation,
  recordOutcome,
  recoverInterrupted,
  settleNext,
  settleOperation,
} from './ledger/ledger.ts';
export { type LookStart, lookStarts, stillSeen } from './ledger/looks.ts';
export { openLedgerLog } from './ledger/log.ts';
export {
  type EffectEntry,
  type EffectPage,
  type EffectPageOptions,
  type EffectVerification,
  listEffects,
  type RunVerification,
  showEffect,
  verificationDocument,
  verifyRun,
} from './ledger/views.ts';
export { effectsSchema } from './ledger/tables.ts';
export type {
  ActionRef,
  Assessment,
  ClaimInput,
  Cleanup,
  Coverage,
  EffectClaim,
  EffectObservation,
  EffectOutcome,
  EffectRecord,
  Execution,
  FilesystemScope,
  Freshness,
  Impact,
  Mechanism,
  ObservationInput,
  OutcomeFacts,
  OutcomeInput,
  Postcondition,
  PostconditionInput,
  Predicate,
  RecordedExecution,
  ResourceKind,
  ResourceRef,
  Verdict,
} from './model.ts';
export { overlaps, sameLocation, touches } from './overlap.ts';
export type { EffectLog } from './port.ts';
export { decide, type Decision, verifyingMechanism } from './predicates.ts';
export {
  type BackgroundJob,
  backgroundJobResource,
  type BrowserSession,
  browserSessionResource,
  type ExternalThing,
  externalResource,
  type OwnedRecord,
  ownedResource,
  type ProcessIdentity,
  type ProcessLaunch,
  processLaunchResource,
  processResource,
  type Resource,
  resourceRef,
} from './resources.ts';
export { type EffectsSummary, summarize } from './summary.ts';
