import type { JsonObject, JsonValue } from '../core/index.ts';

/** Places in the four logs of a session. Null: unknown, as in a package; it adds nothing to what its parent shows. */
export interface Cursors {
  /** Position in the action ledger. */
  readonly action: number | null;
  /** Sequence of the messages. */
  readonly message: number | null;
  readonly cell: number | null;
  readonly autoEvent: number | null;
}

export type CursorKind = keyof Cursors;

/** An immutable point on a branch. The newest one is the branch's head. */
export interface Checkpoint {
  readonly checkpointId: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  /** Its place among all checkpoints of the session, from 1. */
  readonly number: number;
  /** The one before it on its branch; for a child branch's first, the checkpoint it was forked from. */
  readonly parentCheckpointId: string | null;
  readonly source: { readonly kind: 'cell' | 'message'; readonly id: string } | null;
  /** Made by the house itself: the undo of a revert, the first of a fork. */
  readonly internal: boolean;
  readonly reason: string;
  readonly cursors: Cursors;
  readonly workspaceTreeId: string | null;
  readonly artifactVersions: JsonValue;
  readonly environmentPins: JsonValue;
  readonly generationRefs: JsonValue;
  readonly capabilityState: JsonValue;
  readonly permissionState: JsonValue;
  readonly recoveryRecipe: JsonValue;
  readonly metadata: JsonObject;
  readonly createdAt: number;
}

/** What undoes or switches a session's history together with its workspace; one at a time per session. */
export interface RestoreOperation {
  readonly operationId: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly kind: 'revert' | 'activate';
  readonly sourceCheckpointId: string | null;
  readonly targetCheckpointId: string;
  readonly status: 'running' | 'completed' | 'rolled_back';
  readonly preview: JsonValue;
  readonly error: string | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
}

/** One try at executing a cell. Milestones come in this order; a finished attempt never changes. */
export interface ExecutionAttempt {
  readonly attemptId: string;
  readonly groupId: string;
  readonly producingCellId: string;
  readonly attemptOrdinal: number;
  readonly stateRevision: number;
  readonly generationId: string | null;
  readonly ownerInstanceId: string | null;
  readonly allocatedAt: number;
  readonly startedAt: number | null;
  readonly responseAt: number | null;
  readonly captureAt: number | null;
  readonly finishedAt: number | null;
  readonly terminalState: string | null;
  readonly error: string | null;
  readonly replayedFromCellId: string | null;
}
