export type { AutoModeImport, AutoModePlace, AutoModePort } from './auto-mode/model.ts';
export { autonomyPort } from './auto-mode/port.ts';
export { type AutoModeTrust, NO_AUTO_MODE, portableAutoMode } from './auto-mode/reduce.ts';
export type { AutoModeScope } from './auto-mode/scope.ts';
export { type ExportedPackage, ExportStages } from './export/export.ts';
export { type NotesInput, reproductionNotes } from './export/notes.ts';
export { erasuresLeft } from './import/erase.ts';
export { replaceUrls } from './import/delivery-text.ts';
export { ImportStages } from './import/stages.ts';
export { type ImportResult, PACKAGE_CONTENT_TYPE, type PackageContext } from './model.ts';
export { type ObservationScope, OBSERVATIONS_NAME, preflightObservations } from './observations.ts';
export {
  type Quarantine,
  quarantineKey,
  readQuarantine,
  type RecoveryAction,
  type RuntimeStart,
  type Trusted,
} from './quarantine.ts';
export type { ReceivedPackage } from './receive.ts';
export { type PackageSeams, SessionPackages } from './service.ts';
export { packagesSchema } from './tables.ts';
export { replayAutoMode, verifyDeeply } from './verify-deeply.ts';
