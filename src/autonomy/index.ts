export {
  type AssessmentEnding,
  type AssessmentTransition,
  completeAssessment,
  type NewAssessment,
  startAssessment,
} from './assessments.ts';
export { type AuditQuery, listAudits } from './audits.ts';
export { type NewCandidate, recordCandidate, type RunEnding, terminateRun } from './candidates.ts';
export { autonomyContext, type AutonomyContext, type AutonomyProofs, type TreeCheck } from './context.ts';
export { type GroupEvidence, judge, type Judgement } from './evidence.ts';
export { type AutoExport, exportProjection } from './export.ts';
export { autonomyHooks } from './hooks.ts';
export { type ImportedHistory, importHistory, type ImportPlace } from './imported.ts';
export { isTerminal, mayEnd, nextFinding, nextStatus, type RunStep } from './machine.ts';
export { AUTO_MODES, EVENT_TYPES, OUTCOMES, RISKS, SEVERITIES, VERDICTS } from './model.ts';
export type {
  AutoAssessment,
  AutoEvent,
  AutoFinding,
  AutoMode,
  AutoRepair,
  AutoReview,
  AutoRun,
  RepairBinding,
  RunProjection,
  RunStatus,
  RunTransition,
  TerminalStatus,
  Transition,
} from './model.ts';
export type { RunAudit } from './audit-runs.ts';
export { checkSessionHead, type HeadProblem, type SessionHead, sessionHead } from './head.ts';
export { type Head, readHead, writeHead } from './head-file.ts';
export { reviewsItself } from './independence.ts';
export * from './supervise/index.ts';
export { projectRun } from './projection.ts';
export { completeRepair, type RepairEnding } from './repair-completion.ts';
export {
  type BindingTransition,
  bindRepairGroup,
  type NewRepair,
  type RepairTransition,
  startRepair,
} from './repairs.ts';
export {
  completeReview,
  type NewFinding,
  type NewReview,
  type Reviewer,
  type ReviewEnding,
  type ReviewTransition,
  startReview,
} from './reviews.ts';
export { Autonomy, type AutonomyOptions, type RepairStart } from './service.ts';
export { type NewAutoRun, startRun } from './start-run.ts';
export { sweepRuns, type SweptRuns } from './sweep.ts';
export { autonomySchema } from './tables.ts';
