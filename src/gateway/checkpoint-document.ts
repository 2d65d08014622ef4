import type { JsonObject } from '../core/index.ts';
import type { Checkpoint } from '../sessions/index.ts';

/** A checkpoint as HTTP carries it. Snake case, closed. */
export function checkpointDocument(made: Checkpoint): JsonObject {
  return {
    checkpoint_id: made.checkpointId,
    root_frame_id: made.rootFrameId,
    branch_id: made.branchId,
    parent_checkpoint_id: made.parentCheckpointId,
    number: made.number,
    reason: made.reason,
    workspace_tree_id: made.workspaceTreeId,
    internal: made.internal,
    reverted_to: made.metadata['reverted_to'] ?? null,
    created_at: made.createdAt,
  };
}
