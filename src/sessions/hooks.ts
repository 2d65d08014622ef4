import type { JsonValue } from '../core/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { ActionEventType, ActionGroupKind, Principal } from './model.ts';

/** What is about to be written to a session's ledger. */
export type Admission =
  | {
      readonly what: 'group';
      readonly rootFrameId: string;
      readonly branchId: string;
      readonly turnId: string;
      readonly kind: ActionGroupKind;
    }
  | {
      readonly what: 'event';
      readonly groupId: string;
      readonly type: ActionEventType;
      readonly actionId: string | null;
      readonly toolCallId: string | null;
      /** True for an observation of something that had begun: it gives no new authority. */
      readonly observes: boolean;
      /** True where the same transaction has opened the group: nobody can have bound it to anything before. */
      readonly groupIsNew: boolean;
    }
  | { readonly what: 'attempt'; readonly groupId: string; readonly step: 'allocated' | 'started' }
  /** A permission given after a restart becomes usable, or is used. */
  | { readonly what: 'continuation'; readonly groupId: string; readonly step: 'activated' | 'consumed' };

/** A branch's head has moved back. Everything after `revertedTo` on that branch is hidden from then on. */
export interface Reverted {
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly checkpointId: string;
  readonly revertedTo: string;
  readonly undoCheckpointId: string | null;
  readonly at: number;
}

/** Records that outlive their session, since they are somebody's audit. */
export interface KeptRecords {
  readonly what: string;
  readonly count: number;
}

/** What another context adds to a checkpoint that is being made. */
export interface CheckpointParts {
  readonly autoEventCursor?: number;
  readonly permissionState?: JsonValue;
  readonly capabilityState?: JsonValue;
  readonly artifactVersions?: JsonValue;
  readonly environmentPins?: JsonValue;
  readonly generationRefs?: JsonValue;
}

/**
 * A say of a higher room in what happens to a session. Each hook runs in the transaction of what it judges: one that
 * throws undoes it. Hooks await nothing but `tx`.
 */
export interface SessionHooks {
  admit?(tx: Tx, admission: Admission): Promise<void>;
  onRevert?(tx: Tx, reverted: Reverted): Promise<void>;
  /** What stays in this room when the session goes; or throws, when the session must not go now. Removes nothing. */
  keepsOf?(tx: ReadTx, rootFrameId: string, principal: Principal): Promise<readonly KeptRecords[]>;
  /** The whole session is about to go: removes what this room keeps about it, or throws for what must stay. */
  onDelete?(tx: Tx, rootFrameId: string): Promise<void>;
  checkpointParts?(tx: Tx, at: { readonly rootFrameId: string; readonly branchId: string }): Promise<CheckpointParts>;
}

/** Asks every hook; the first that throws refuses. */
export async function admitAll(tx: Tx, hooks: readonly SessionHooks[], admission: Admission): Promise<void> {
  for (const hook of hooks) if (hook.admit) await hook.admit(tx, admission);
}
