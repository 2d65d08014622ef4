import type {
  ActionEvent,
  ActionGroup,
  Checkpoint,
  CompletionDelivery,
  ExecutionAttempt,
  ImportedFace,
  KernelGeneration,
  Message,
  SessionBranch,
  WorkspaceTree,
} from '../../sessions/index.ts';
import type { AutoModeImport } from '../auto-mode/model.ts';
import type { PlannedRecords } from './planned.ts';

/** A group of the ledger with its events, in their order; those of a large group come in several parts. */
export interface PlannedGroup {
  /** Null: the events are of the group before. */
  readonly group: ActionGroup | null;
  readonly events: readonly ActionEvent[];
}

/** A delivery, and the message that it completes once it is bound. */
export interface PlannedDelivery {
  readonly delivery: CompletionDelivery;
  readonly message: Pick<Message, 'messageId' | 'rootFrameId' | 'content' | 'metadata'>;
}

export interface PlannedTree {
  readonly treeId: string;
  readonly tree: WorkspaceTree;
}

export interface PlannedRule {
  readonly scope: 'project' | 'conversation';
  readonly tool: string;
  readonly pattern: string;
  readonly decision: string;
}

/** A file of the workspace that shows the newest bytes of an artifact. */
export interface PlannedFile {
  readonly name: string;
  readonly sha256: string;
}

/** Everything that an import will write, with new identities, made and checked before the first write. */
export interface ImportPlan {
  readonly projectId: string;
  readonly root: string;
  readonly projectName: string;
  readonly face: ImportedFace;
  /** Read from the package as they are asked for, in their order. */
  readonly messages: () => AsyncIterable<Message>;
  /** Read from the package as they are asked for, in the order of the ledger. */
  readonly groups: () => AsyncIterable<PlannedGroup>;
  readonly attempts: readonly ExecutionAttempt[];
  readonly records: PlannedRecords;
  /** The SHA-256 of the bytes of artifact versions, each once. */
  readonly bytes: ReadonlySet<string>;
  readonly deliveries: readonly PlannedDelivery[];
  readonly trees: readonly PlannedTree[];
  readonly activeTreeId: string;
  /** Parents before children. */
  readonly branches: readonly SessionBranch[];
  /** Each after its parent. */
  readonly checkpoints: readonly Checkpoint[];
  readonly rules: readonly PlannedRule[];
  readonly files: readonly PlannedFile[];
  readonly autoMode: AutoModeImport | null;
  readonly injectionFlags: number;
  readonly identityRemap: Readonly<Record<'actions' | 'artifacts' | 'versions' | 'cells' | 'checkpoints', number>>;
  readonly marker: KernelGeneration;
}
