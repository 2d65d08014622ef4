import { fail, type FaultPoints, noFaults } from '../core/index.ts';
import type { Store, Tx } from '../store/index.ts';
import type { Checkpoint, RestoreOperation } from './checkpoint-model.ts';
import { NOT_UNDONE } from './checkpoint-queries.ts';
import { createCheckpoint, type NewCheckpoint, requireCheckpoint } from './checkpoints.ts';
import type { SessionContext } from './ledger.ts';
import type { Principal } from './model.ts';
import type { SessionPen } from './pen.ts';
import {
  type BegunRestore,
  beginRestore,
  finishRestore,
  restoresOf,
  rollBackRestore,
  runningRestore,
} from './restores.ts';
import { textOrNull } from './rows.ts';
import { requirePen } from './tickets.ts';
import { requireBranch, requireSession } from './service.ts';
import type { Capture, ScanOptions, TreeChange, WorkspaceStore, WorkspaceTree } from './workspace/index.ts';

export interface SessionHistoryOptions {
  readonly store: Store;
  readonly context: SessionContext;
  readonly pen: SessionPen;
  readonly workspaces: WorkspaceStore;
  /** The folder a session works in, or null for one without. */
  readonly directoryOf: (rootFrameId: string) => string | null | Promise<string | null>;
  readonly scan?: ScanOptions;
  readonly faults?: FaultPoints;
}

/** Something that was done after a checkpoint and that going back does not undo. */
export interface NotUndone {
  readonly groupId: string;
  readonly eventId: string;
  readonly toolCallId: string | null;
  readonly sideEffectClass: string;
}

export interface RestorePreview {
  readonly target: Checkpoint;
  readonly changes: readonly TreeChange[];
  /** The first hundred; `notUndoneMore` when there are others. */
  readonly notUndone: readonly NotUndone[];
  readonly notUndoneMore: boolean;
}

export interface RestoreOptions {
  /** The id of the restore operation, by which it can be asked about; else one is made. */
  readonly operationId?: string;
  /** Nothing is begun once it is aborted; what was begun is carried to its end. */
  readonly signal?: AbortSignal;
}

const SHOWN = 100;

/** From the workspace of one checkpoint to that of another, and what becomes of what others have written on the way. */
interface Way {
  readonly from: Checkpoint;
  readonly to: Checkpoint;
  readonly others: 'stay' | 'refuse';
}

/** A session's history together with the folder it works in: checkpoint, go back, switch, and finish what was killed. */
export class SessionHistory {
  readonly #options: SessionHistoryOptions;
  readonly #faults: FaultPoints;

  constructor(options: SessionHistoryOptions) {
    this.#options = options;
    this.#faults = options.faults ?? noFaults;
  }

  /**
   * Captures the workspace and makes a checkpoint that names it; `within` writes in the same commit. See
   * `WorkspaceStore.capture`, `createCheckpoint`.
   */
  async checkpoint(
    principal: Principal,
    asked: Omit<NewCheckpoint, 'workspaceTreeId'>,
    within?: (tx: Tx, made: Checkpoint) => Promise<void>,
  ): Promise<Checkpoint> {
    const { rootFrameId } = asked;
    const restores = await this.#options.store.read('sessions.checkpoint', async (tx) => {
      await requireSession(tx, principal, rootFrameId);
      return restoresOf(tx, rootFrameId);
    });
    const captured = await this.#capture(asked.rootFrameId);
    const whole = { ...asked, workspaceTreeId: captured?.treeId ?? null };
    const { store, context } = this.#options;
    const made = await store.write('sessions.checkpoint', async (tx) => {
      const checkpoint = await createCheckpoint(tx, context, principal, whole);
      // A restore that went on during the capture: what was captured is of two moments, or of another branch.
      if (captured && (await restoresOf(tx, rootFrameId)) !== restores)
        throw fail('WORKSPACE_CHANGED', 'The workspace was restored while it was captured.');
      await within?.(tx, checkpoint);
      return checkpoint;
    });
    void this.#faults.reach('checkpoint-committed');
    return made;
  }

  /** What going back to a checkpoint would change in the workspace, and what it would not undo. Changes nothing. */
  async preview(principal: Principal, rootFrameId: string, checkpointId: string): Promise<RestorePreview> {
    const { store } = this.#options;
    const { target, rows } = await store.read('sessions.preview', async (tx) => {
      const found = await requireCheckpoint(tx, principal, rootFrameId, checkpointId);
      const after = found.cursors.action ?? 0;
      return { target: found, rows: await tx.all(NOT_UNDONE, [rootFrameId, after, SHOWN + 1]) };
    });
    const current = await this.#capture(rootFrameId);
    const tree = target.workspaceTreeId;
    const changes = current && tree !== null ? await this.#options.workspaces.diff(current.treeId, tree) : [];
    const notUndone = rows.slice(0, SHOWN).map((row) => ({
      groupId: String(row['group_id']),
      eventId: String(row['event_id']),
      toolCallId: textOrNull(row['tool_call_id']),
      sideEffectClass: String(row['side_effect_class']),
    }));
    return { target, changes, notUndone, notUndoneMore: rows.length > SHOWN };
  }

  /** What changes in the workspace from one checkpoint to another. CHECKPOINT_NOT_FOUND, WORKSPACE_TREE_NOT_FOUND. */
  async diff(principal: Principal, rootFrameId: string, from: string, to: string): Promise<readonly TreeChange[]> {
    const trees = await this.#options.store.read('sessions.diff', async (tx) => ({
      from: (await requireCheckpoint(tx, principal, rootFrameId, from)).workspaceTreeId,
      to: (await requireCheckpoint(tx, principal, rootFrameId, to)).workspaceTreeId,
    }));
    if (trees.from === null || trees.to === null)
      throw fail('WORKSPACE_TREE_NOT_FOUND', 'One of the checkpoints names no workspace.');
    return this.#options.workspaces.diff(trees.from, trees.to);
  }

  /**
   * Takes the active branch and the workspace back to a checkpoint. Holds the session's pen; what was there is captured
   * first and can be gone back to. A failure on the way restores the workspace and the history as they were; where that
   * fails too, or the process dies, the session is marked and `recover` ends it. The operation gets `operationId` where
   * one is given: `restoreOfId` then tells how it ended. Nothing is begun once `signal` is aborted. Refuses as `beginRestore` and
   * `WorkspaceStore.restore` do, and with TICKET_TIMEOUT.
   */
  async revert(
    principal: Principal,
    rootFrameId: string,
    checkpointId: string,
    how: RestoreOptions = {},
  ): Promise<Checkpoint> {
    return this.#restore(principal, rootFrameId, 'revert', async () => checkpointId, how);
  }

  /** Makes another branch the active one, with the workspace of its head. As `revert` in everything else. */
  async activate(
    principal: Principal,
    rootFrameId: string,
    branchId: string,
    how: RestoreOptions = {},
  ): Promise<Checkpoint> {
    const target = async (tx: Tx): Promise<string> => {
      const { headCheckpointId } = await requireBranch(tx, principal, rootFrameId, branchId);
      if (headCheckpointId !== null) return headCheckpointId;
      throw fail('RESTORE_TARGET_INVALID', 'The branch has no checkpoint to go to.');
    };
    return this.#restore(principal, rootFrameId, 'activate', target, how);
  }

  async #restore(
    principal: Principal,
    rootFrameId: string,
    kind: RestoreOperation['kind'],
    targetOf: (tx: Tx) => Promise<string>,
    { operationId, signal }: RestoreOptions,
  ): Promise<Checkpoint> {
    const { store, context, pen } = this.#options;
    const owner = principal.subject;
    const penOptions = { owner, reason: kind, ...(signal === undefined ? {} : { signal }) };
    return pen.hold(principal, rootFrameId, penOptions, async ({ ticketId }) => {
      const before = await this.#capture(rootFrameId);
      const undoTreeId = before?.treeId ?? null;
      const begun = await store.write(`sessions.${kind}`, async (tx) => {
        // The capture may have taken longer than the lease, as over a sleep: then another may be writing here by now.
        await requirePen(tx, ticketId);
        // Waiting and capturing may have taken long: who asked may have been told by now that it did not happen.
        signal?.throwIfAborted();
        const restore = { rootFrameId, kind, targetCheckpointId: await targetOf(tx), undoTreeId };
        const named = operationId === undefined ? restore : { ...restore, operationId };
        return beginRestore(tx, context, principal, named);
      });
      void this.#faults.reach('checkpoint-committed');
      return this.#carryOut(principal, begun, before, ticketId);
    });
  }

  async #carryOut(
    principal: Principal,
    begun: BegunRestore,
    before: Capture | null,
    ticketId: string,
  ): Promise<Checkpoint> {
    const { context } = this.#options;
    const { operation, target } = begun;
    let tree: WorkspaceTree | null = null;
    try {
      tree = await this.#treeOf(target);
      await this.#putBack(operation.rootFrameId, tree, before, ticketId);
      return await this.#ended(ticketId, (tx) => finishRestore(tx, context, principal, operation));
    } catch (error) {
      // Of a tree that could not be read nothing was written. Whoever took the pen meanwhile ends this restore, or has
      // ended it: what is in the workspace is theirs, and TICKET_LOST is thrown before any of it is taken back.
      if (tree !== null) await this.#takeBack(begun, ticketId);
      const why = (error as { code?: string }).code ?? 'failed';
      await this.#ended(ticketId, (tx) => rollBackRestore(tx, context, principal, operation, why));
      throw error;
    }
  }

  /** Ends a restore, while the pen is still with it: another might be ending it as well, the other way. */
  #ended<T>(ticketId: string, end: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#options.store.write('sessions.restored', async (tx) => {
      await requirePen(tx, ticketId);
      return end(tx);
    });
  }

  /** Gives the event loop its turn, which renews the pen's lease, and stops whoever has lost the pen. */
  async #turn(ticketId: string): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    await this.#options.store.read('sessions.pen', (tx) => requirePen(tx, ticketId));
  }

  async #treeOf({ workspaceTreeId }: Checkpoint): Promise<WorkspaceTree | null> {
    return workspaceTreeId === null ? null : this.#options.workspaces.readTree(workspaceTreeId);
  }

  /** Makes the workspace what a tree says; without a tree there is nothing to do. */
  async #putBack(
    rootFrameId: string,
    tree: WorkspaceTree | null,
    current: Capture | null,
    ticketId: string,
  ): Promise<void> {
    if (tree === null) return;
    const directory = await this.#options.directoryOf(rootFrameId);
    if (directory === null || current === null) throw noWorkspace();
    await this.#options.workspaces.restoreTree(tree, directory, current, () => this.#turn(ticketId));
  }

  /** Takes back what a restore has written; what others have written since stays. */
  #takeBack({ operation, target, undo }: BegunRestore, ticketId: string): Promise<void> {
    return this.#goOn(operation.rootFrameId, { from: target, to: undo, others: 'stay' }, ticketId);
  }

  async #goOn(rootFrameId: string, { from, to, others }: Way, ticketId: string): Promise<void> {
    const trees = { from: from.workspaceTreeId, to: to.workspaceTreeId };
    if (trees.to === null) return;
    if (trees.from === null) {
      // A target without a workspace: nothing was written that could be taken back.
      if (others === 'stay') return;
      throw nothingCaptured();
    }
    const current = await this.#capture(rootFrameId);
    const directory = await this.#options.directoryOf(rootFrameId);
    if (directory === null || current === null) throw noWorkspace();
    const way = { from: trees.from, to: trees.to, others };
    await this.#options.workspaces.goOn(way, directory, current, () => this.#turn(ticketId));
  }

  /**
   * Ends a restore that was interrupted: `finish` carries it to its target, `roll_back` takes the workspace back to
   * what was captured before it. What others have written since is written over by neither: `roll_back` leaves it as it
   * is, `finish` refuses with WORKSPACE_CHANGED. May be interrupted itself and run again. RESTORE_NOT_RUNNING when there
   * is none.
   */
  async recover(principal: Principal, rootFrameId: string, how: 'finish' | 'roll_back'): Promise<void> {
    const { store, context, pen } = this.#options;
    const penOptions = { owner: principal.subject, reason: `recover ${how}` };
    await pen.hold(principal, rootFrameId, penOptions, async ({ ticketId }) => {
      const begun = await store.read('sessions.recover', async (tx) => {
        const running = await runningRestore(tx, principal, rootFrameId);
        if (!running) throw fail('RESTORE_NOT_RUNNING', 'No revert or activation of this session waits to be ended.');
        const at = (id: string): Promise<Checkpoint> => requireCheckpoint(tx, principal, rootFrameId, id);
        return {
          operation: running,
          target: await at(running.targetCheckpointId),
          undo: await at(running.sourceCheckpointId ?? ''),
        };
      });
      const { operation, target, undo } = begun;
      if (how === 'finish') {
        await this.#goOn(rootFrameId, { from: undo, to: target, others: 'refuse' }, ticketId);
        return void (await this.#ended(ticketId, (tx) => finishRestore(tx, context, principal, operation)));
      }
      await this.#takeBack(begun, ticketId);
      const why = 'rolled back after an interruption';
      await this.#ended(ticketId, (tx) => rollBackRestore(tx, context, principal, operation, why));
    });
  }

  async #capture(rootFrameId: string): Promise<Capture | null> {
    const directory = await this.#options.directoryOf(rootFrameId);
    return directory === null ? null : this.#options.workspaces.capture(directory, this.#options.scan);
  }
}

/** What is in the folder by now is somebody's, and no checkpoint holds it. */
const nothingCaptured = (): Error =>
  fail(
    'WORKSPACE_NOT_A_FOLDER',
    'The session had no workspace when this was begun, and what is there now is not captured.',
    {
      resolve: 'Roll it back with `holdfast sessions recover SESSION --roll-back`, and go to that checkpoint again.',
    },
  );

const noWorkspace = (): Error => fail('WORKSPACE_NOT_A_FOLDER', 'The session has no workspace to restore.');
