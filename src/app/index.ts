export {
  type AgentConfig,
  CONFIG_FILES,
  defineConfig,
  type HoldfastConfig,
  loadConfigFile,
  type McpServerConfig,
  newConfigFile,
} from './config-file.ts';
export { type Configured, notOfferedLine, openConfigured } from './open-configured.ts';
export { openTelemetry } from './open-telemetry.ts';
export { type Configuration, type ConfigurationSources, DEFAULT_DATA_DIR, readConfiguration } from './configuration.ts';
export { DATA_FILES, type DataFolder, type PrepareOptions, prepareDataFolder } from './data-folder.ts';
export { type ExamineOptions, examine, type HealthCheck, type HealthReport } from './doctor/index.ts';
export { type OpenedStore, type OpenHoldfastStoreOptions, openHoldfastStore } from './open-store.ts';
export { AgentHandle, Run, type RunOptions } from './agent.ts';
export {
  damagedLine,
  type GuardSettings,
  type HttpGuardSettings,
  type RunningHttpGuard,
  type GuardBasics,
  runGuard,
  runHttpGuard,
} from './guard.ts';
export { type AgentOptions, Holdfast, type HoldfastOptions } from './holdfast.ts';
export type { NoticeOptions } from './notices/notices.ts';
export { auditEverything, auditFindings, makeHead, type WholeAudit } from './audit.ts';
export { pause, pausedBecause, unpause } from './pause.ts';
export {
  type CallView,
  runDocument,
  type RunSummary,
  standingsOf,
  type SideBranchView,
  supervisionDocument,
  type RunView,
  viewOfRun,
} from './run-view.ts';
export { deliverAgain, movedOperationDocument, operationDocument } from './operation-view.ts';
export { requestView } from './request-view.ts';
export { sideBranchDocument, sideBranchesOf, sideBranchStoryDocument } from './side-branch-view.ts';
export {
  makeReport,
  type Report,
  reportDocument,
  reportHtml,
  reportSections,
  reportSummary,
} from './report/index.ts';
export type { Histories } from './session-history.ts';
export { exportSession, makeCheckpoint, removeSession, restartFresh } from './session-transfer.ts';
export { activateTask, previewDocument, revertTask, SESSION_KEEPER } from './session-keeper.ts';
export { APPROVER_ROLE, type Runtime } from './runtime.ts';
export { HOLDFAST_SCHEMAS } from './schemas.ts';
export {
  dropStandingRule,
  listStandingRules,
  putStandingRule,
  type StandingRule,
  standingRuleDocument,
  type StandingRuleOptions,
  type StandingRulePage,
  type StandingRuleQuery,
  StandingRules,
} from './standing-rules.ts';
export {
  backUpDataFolder,
  type CopyResult,
  migrateDataFolder,
  type MigrationResult,
  type PendingMigration,
  restoreDataFolder,
} from './upkeep.ts';
