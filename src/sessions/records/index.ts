export { countAllRecords, RECORD_KINDS, RECORD_SHAPES } from './all-records.ts';
export {
  addArtifactVersion,
  ARTIFACT,
  type Artifact,
  ARTIFACT_VERSION,
  type ArtifactVersion,
  findArtifact,
  findVersion,
  LINEAGE_EDGE,
  type LineageEdge,
  listVersions,
  type NewVersion,
} from './artifacts.ts';
export {
  addDelivery,
  commitDelivery,
  COMPLETION_DELIVERY,
  type CompletionDelivery,
  deliveriesOfVersion,
  exactVersionUrl,
  type NewDelivery,
  promoteDelivery,
  publishDelivery,
} from './deliveries.ts';
export type { Field, Fields, NewRecord, RecordOf } from './field.ts';
export { restoreCheckpointState, type RestoredRecords, type RestoredState } from './restored-state.ts';
export {
  endGeneration,
  ENVIRONMENT_SNAPSHOT,
  type EnvironmentSnapshot,
  GENERATION,
  type KernelGeneration,
  RECOVERY_ENTRY,
  type RecoveryEntry,
} from './generations.ts';
export { addCell, CELL, type Cell, changeCell, visibleCells } from './notebook.ts';
export {
  addRecord,
  changeRecord,
  countRecords,
  listRecords,
  type RecordEntry,
  requireRecord,
  walkRecords,
} from './record-rows.ts';
export { documentOf, fromDocument, type Shape } from './shape.ts';
export {
  ANNOTATION,
  type Annotation,
  CAPABILITY_STATE,
  type CapabilityState,
  CHECKPOINT_STATE,
  type CheckpointState,
  MEMORY,
  type Memory,
  OPERATION,
  type PastOperation,
  PLAN,
  type Plan,
  REVIEW_STEP,
  type ReviewStep,
} from './side-records.ts';
