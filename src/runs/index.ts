export { allEnded } from './all-ended.ts';
export type { Agent, Driving, ModelRetries, RunListener, RunsContext } from './context.ts';
export { childTool } from './child-call.ts';
export { cutOf, type CutReason } from './cut-reply.ts';
export { type Damage, type DamagedRun, damageOf } from './damage.ts';
export type { StartRun } from './begin-run.ts';
export { goalsOf } from './goals.ts';
export { branchGroups, type GroupWithCalls, messagesOf } from './history.ts';
export { historyOfTurn, newestReplyOfTurn, sideBranchesOfTurn, type TurnHistory } from './turn-history.ts';
export { providerHistory } from './provider-history.ts';
export type { HistoryItem } from './told-groups.ts';
export {
  closeModellessRun,
  type ModellessRun,
  type ModellessStanding,
  modellessRunStanding,
  openModellessRun,
  openModellessRunAnew,
  openNextModellessRun,
} from './guard-run.ts';
export type { RunPlace, RunRecord, RunStatus } from './model.ts';
export { namingRun } from './naming-run.ts';
export { auditRunRecords, findDamagedRuns, type ProofContext } from './orphans.ts';
export { isReplyState } from './reply-state.ts';
export { findRunOfTurn, type RunPage, runTree } from './run-store.ts';
export { type ResumeOptions, Runs } from './service.ts';
export type { RunHandle } from './carried-runs.ts';
export type { CarryOnOptions } from './following.ts';
export { followUpCall, followUpKey, isFollowUp } from './follow-up.ts';
export type { FollowUp, Supervised, Supervision, TurnBounds } from './supervision.ts';
export { runSessionHooks } from './session-hooks.ts';
export { runsSchema } from './tables.ts';
export type { OpenSideBranch } from './side-branch/composed.ts';
export { isOfMainLine } from './side-branch/told.ts';
export type {
  FrozenRunConfig,
  MemorySettings,
  RunBudgets,
  RunConfig,
  RunConfigSnapshot,
  SnapshotVersion,
} from './config/model.ts';
export { type ProjectEnvironment, type ProjectLoaders, restoreRunner } from './config/projects.ts';
export { bindPrompt, type PreparedTrace, prepareTrace, PROMPT_KEY, snapshotForResume } from './config/resume.ts';
export { runConfig } from './config/run-config.ts';
export {
  applySnapshot,
  bindSystemPrompt,
  hasSnapshot,
  loadSnapshot,
  memoryIdentity,
  SNAPSHOT_KEY,
  snapshotDocument,
  snapshotOf,
  type SnapshotParts,
  withSnapshot,
} from './config/snapshot.ts';
export { FileTraceStore, type FileTraceStoreOptions } from './trace-files/store.ts';
export {
  changeTrace,
  findAttachment,
  findGoals,
  findMessage,
  findTrace,
  insertAttachment,
  insertEvent,
  insertMessage,
  insertTrace,
  pageOfEvents,
  pageOfMessages,
  pageOfTraces,
  putGoals,
  recountTrace,
  requireTrace,
  type TraceScope,
} from './trace-sql/records.ts';
export { SqlTraceStore } from './trace-sql/store.ts';
export type { BatchStore } from './trace/batch-store.ts';
export { checkTraceId, messageIdOf } from './trace/ids.ts';
export type {
  Attachment,
  AttachmentInput,
  GoalTree,
  IntegrityReport,
  MessageRole,
  NewTrace,
  PageRequest,
  Trace,
  TraceChange,
  TraceCounters,
  TraceEvent,
  TraceFilter,
  TraceMessage,
  TraceStatus,
} from './trace/model.ts';
export { TRACE_STATUSES } from './trace/model.ts';
export type { ChangeOf, TraceStore } from './trace/port.ts';
export { type MessageParts, newMessage } from './trace/records.ts';
export type { AgentContext, RunResult } from './agent/driving.ts';
export type { CallDecision } from './agent/decide.ts';
export { callThroughGates, type GateAnswer, type GatedCall } from './agent/gated-call.ts';
export { fileRunHome, type RunHome } from './agent/home.ts';
export type { NewSideBranch } from './agent/open-side-branch.ts';
export type { ReconcileReport } from './agent/reconcile.ts';
export { AgentRunner, type AgentRunnerOptions, type RunMessage } from './agent/runner.ts';
export {
  type ClosedSideBranch,
  SIDE_BRANCH_KEY,
  SIDE_BRANCH_KINDS,
  type SideBranch,
  type SideBranchKind,
} from './side-branch/model.ts';
export type { RunHold, RunHolds } from './trace/run-holds.ts';
