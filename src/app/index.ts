export { type Configuration, type ConfigurationSources, DEFAULT_DATA_DIR, readConfiguration } from './configuration.ts';
export { DATA_FILES, type DataFolder, type PrepareOptions, prepareDataFolder } from './data-folder.ts';
export { type ExamineOptions, examine, type HealthCheck, type HealthReport } from './doctor/index.ts';
export { type OpenedStore, type OpenHoldfastStoreOptions, openHoldfastStore } from './open-store.ts';
export { HOLDFAST_SCHEMAS } from './schemas.ts';
export {
  backUpDataFolder,
  type CopyResult,
  migrateDataFolder,
  type MigrationResult,
  type PendingMigration,
  restoreDataFolder,
} from './upkeep.ts';
