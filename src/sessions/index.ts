export {
  abandonAttempts,
  allocateAttempt,
  type AttemptMilestone,
  finishAttempt,
  listAttempts,
  markAttempt,
  type NewAttempt,
  requireAttempt,
} from './attempts.ts';
export { auditedSessions, auditSession, type SessionAudit, type SessionProblem } from './audit.ts';
export {
  type DamagedSession,
  listBranches,
  listEvents,
  listGroupEvents,
  listGroups,
  listMessages,
  listSessions,
  listTickets,
  listTurns,
  type PageQuery,
  requireGroup,
  requireThatSession,
} from './history.ts';
export {
  countCallsOfTurn,
  groupsOfTurnOfKind,
  newestGroupsOfTurn,
  type ResultPaths,
  type TurnCounts,
  type TurnPlace,
} from './turn-groups.ts';
export { sessionOfEntry } from './feed-places.ts';
export {
  closeAttempts,
  eventsNaming,
  type GroupLedger,
  isGroupEmpty,
  readGroupLedger,
  revertedSince,
} from './group-ledger.ts';
export {
  type Admission,
  admitAll,
  type CheckpointParts,
  type KeptRecords,
  type Reverted,
  type SessionHooks,
} from './hooks.ts';
export {
  appendEvent,
  type LedgerEntry,
  type NewEvent,
  type NewGroup,
  observes,
  openGroup,
  sealGroup,
  type SessionContext,
  type Written,
  type WrittenEvent,
  type WrittenGroup,
} from './ledger.ts';
export type { LedgerPlace } from './ledger-place.ts';
export type {
  ActionEvent,
  ActionEventType,
  ActionGroup,
  ActionGroupKind,
  Message,
  MessageRole,
  Page,
  Principal,
  Session,
  SessionBranch,
  SessionTicket,
  TrustState,
  Turn,
} from './model.ts';
export { type PenOptions, SessionPen } from './pen.ts';
export { ProposedSecrets, SECRET_FIELDS, secretFieldsOfProposal } from './proposed-secrets.ts';
export { QUARANTINE_PREFIX, REVERT_MARKER_PREFIX } from './queries.ts';
export { type Rendering, renderEvent, renderGroup } from './rendering.ts';
export {
  beginTurn,
  getSetting,
  type NewSession,
  openSession,
  putSetting,
  requireBranch,
  requireSession,
} from './service.ts';
export { sessionsSchema } from './tables.ts';
export { holdTicket, type NewTicket, queueTicket, releaseTicket, requirePen } from './tickets.ts';
export { type NewFork, forkBranch, setActiveBranch } from './branches.ts';
export { deleteSession } from './deletion.ts';
export type { Checkpoint, CursorKind, Cursors, ExecutionAttempt, RestoreOperation } from './checkpoint-model.ts';
export { type CheckpointManner, createCheckpoint, type NewCheckpoint, requireCheckpoint } from './checkpoints.ts';
export { type ChainPoint, ledgerChain, plainRow } from './ledger-chain.ts';
export { type Segment, visibleSegments } from './projection.ts';
export {
  beginRestore,
  type BegunRestore,
  finishRestore,
  revertMarkerKey,
  restoreOfId,
  rollBackRestore,
  runningRestore,
} from './restores.ts';
export {
  listCheckpoints,
  listRestores,
  newestCheckpoints,
  visibleEvents,
  visibleGroups,
  visibleMessages,
} from './visible.ts';
export { bindWorkspace, workspaceOf } from './workspace-binding.ts';
export * from './records/index.ts';
export * from './workspace/index.ts';
export {
  type NotUndone,
  type RestorePreview,
  SessionHistory,
  type SessionHistoryOptions,
} from './session-history.ts';
export { type NewArtifactBytes, SessionArtifacts, type SessionArtifactsOptions } from './session-artifacts.ts';
export * from './portable.ts';
export type { StoredEvent } from './rows.ts';
