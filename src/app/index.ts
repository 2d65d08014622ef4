export { type Configuration, type ConfigurationSources, DEFAULT_DATA_DIR, readConfiguration } from './configuration.ts';
export { DATA_FILES, type DataFolder, type PrepareOptions, prepareDataFolder } from './data-folder.ts';
export { type ExamineOptions, examine, type HealthCheck, type HealthReport } from './doctor/index.ts';
