export type { Agent, Driving, RunListener, RunsContext } from './context.ts';
export { branchGroups, type GroupWithCalls, messagesOf } from './history.ts';
export type { RunPlace, RunRecord, RunStatus } from './model.ts';
export type { RunPage } from './run-store.ts';
export { type RunHandle, Runs, type StartRun } from './service.ts';
export { runsSchema } from './tables.ts';
