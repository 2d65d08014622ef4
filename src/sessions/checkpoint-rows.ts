import { isJsonObject } from '../core/index.ts';
import type { Row } from '../store/index.ts';
import type { Checkpoint, ExecutionAttempt, RestoreOperation } from './checkpoint-model.ts';
import { jsonColumn, numberOrNull, textOrNull } from './rows.ts';

function sourceOf(row: Row): Checkpoint['source'] {
  const id = textOrNull(row['source_id']);
  return id === null ? null : { kind: row['source_kind'] === 'cell' ? 'cell' : 'message', id };
}

export function checkpointOf(row: Row): Checkpoint {
  const metadata = jsonColumn(row['metadata']);
  return {
    checkpointId: String(row['checkpoint_id']),
    rootFrameId: String(row['root_frame_id']),
    branchId: String(row['branch_id']),
    number: Number(row['number']),
    parentCheckpointId: textOrNull(row['parent_checkpoint_id']),
    source: sourceOf(row),
    internal: Number(row['internal']) !== 0,
    reason: String(row['reason']),
    cursors: {
      action: numberOrNull(row['action_cursor']),
      message: numberOrNull(row['message_cursor']),
      cell: numberOrNull(row['cell_cursor']),
      autoEvent: numberOrNull(row['auto_event_cursor']),
    },
    workspaceTreeId: textOrNull(row['workspace_tree_id']),
    artifactVersions: jsonColumn(row['artifact_versions']),
    environmentPins: jsonColumn(row['environment_pins']),
    generationRefs: jsonColumn(row['generation_refs']),
    capabilityState: jsonColumn(row['capability_state']),
    permissionState: jsonColumn(row['permission_state']),
    recoveryRecipe: jsonColumn(row['recovery_recipe']),
    metadata: isJsonObject(metadata) ? metadata : {},
    createdAt: Number(row['created_at']),
  };
}

export function operationOf(row: Row): RestoreOperation {
  return {
    operationId: String(row['operation_id']),
    rootFrameId: String(row['root_frame_id']),
    branchId: String(row['branch_id']),
    kind: row['kind'] === 'activate' ? 'activate' : 'revert',
    sourceCheckpointId: textOrNull(row['source_checkpoint_id']),
    targetCheckpointId: String(row['target_checkpoint_id']),
    status: String(row['status']) as RestoreOperation['status'],
    preview: jsonColumn(row['preview']),
    error: textOrNull(row['error']),
    createdAt: Number(row['created_at']),
    finishedAt: numberOrNull(row['finished_at']),
  };
}

export function attemptOf(row: Row): ExecutionAttempt {
  return {
    attemptId: String(row['attempt_id']),
    groupId: String(row['group_id']),
    producingCellId: String(row['producing_cell_id']),
    attemptOrdinal: Number(row['attempt_ordinal']),
    stateRevision: Number(row['state_revision']),
    generationId: textOrNull(row['generation_id']),
    ownerInstanceId: textOrNull(row['owner_instance_id']),
    allocatedAt: Number(row['allocated_at']),
    startedAt: numberOrNull(row['started_at']),
    responseAt: numberOrNull(row['response_at']),
    captureAt: numberOrNull(row['capture_at']),
    finishedAt: numberOrNull(row['finished_at']),
    terminalState: textOrNull(row['terminal_state']),
    error: textOrNull(row['error']),
    replayedFromCellId: textOrNull(row['replayed_from_cell_id']),
  };
}
