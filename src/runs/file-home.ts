/**
 * `holdfast/runs`: runs that lie in a folder of JSON files, for whoever embeds runs without the composed system. The
 * room's own door is index.ts; this is what of it stands open to other packages.
 */
export { AgentRunner, type AgentRunnerOptions, type RunMessage } from './agent/runner.ts';
export type { CallDecision } from './agent/decide.ts';
export type { RunResult } from './agent/driving.ts';
export { fileRunHome, type RunHome } from './agent/home.ts';
export type { NewSideBranch } from './agent/open-side-branch.ts';
export type { ReconcileReport } from './agent/reconcile.ts';
export type { MemorySettings, RunBudgets, RunConfig } from './config/model.ts';
export type { ProjectEnvironment, ProjectLoaders } from './config/projects.ts';
export { runConfig } from './config/run-config.ts';
export type { ClosedSideBranch, SideBranch, SideBranchKind } from './side-branch/model.ts';
export type { FileTraceStore, FileTraceStoreOptions } from './trace-files/store.ts';
export type { BatchStore } from './trace/batch-store.ts';
export type { GoalTree, Trace, TraceEvent, TraceMessage, TraceStatus } from './trace/model.ts';
export type { TraceStore } from './trace/port.ts';
export type { RunHold, RunHolds } from './trace/run-holds.ts';
export { ToolRegistry } from '../tools/index.ts';
