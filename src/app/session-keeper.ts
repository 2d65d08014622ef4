import { HoldfastError, sha256Hex } from '../core/index.ts';
import type { ModelFunction } from '../models/index.ts';
import type { Agent } from '../runs/index.ts';
import { type RestoreOperation, type RestorePreview, restoreOfId, type SessionHistory } from '../sessions/index.ts';
import type { ReadTx, Store } from '../store/index.ts';
import { NotDone, type Tool, tool, type ToolCallContext, type ToolStatus } from '../tools/index.ts';
import { agentOf } from './agent-definition.ts';

/** The agent that carries out what people ask of sessions. It has no language model: its request names one call. */
export const SESSION_KEEPER = 'session-keeper';
export const REVERT_TOOL = 'revert_session';
export const ACTIVATE_TOOL = 'activate_branch';

/** A large workspace is captured and written within this. Milliseconds. */
const RESTORE_MS = 300_000;

const REVERT_TASK = /^Take session (\S+) back to checkpoint (\S+)$/;
const ACTIVATE_TASK = /^Let session (\S+) go on with branch (\S+)$/;

/** The request that the keeper turns into one call of `revert_session`. */
export const revertTask = (rootFrameId: string, checkpointId: string): string =>
  `Take session ${rootFrameId} back to checkpoint ${checkpointId}`;

/** The request that the keeper turns into one call of `activate_branch`. */
export const activateTask = (rootFrameId: string, branchId: string): string =>
  `Let session ${rootFrameId} go on with branch ${branchId}`;

interface RestoreInput {
  readonly session_id: string;
  readonly checkpoint_id?: string;
  readonly branch_id?: string;
}

const ID = { type: 'string', minLength: 1, maxLength: 512 } as const;
const inputOf = (target: 'checkpoint_id' | 'branch_id') => ({
  type: 'object',
  additionalProperties: false,
  required: ['session_id', target],
  properties: { session_id: ID, [target]: ID },
});

/** What one of the tools says of itself, and what it does. */
interface RestoreWork {
  readonly name: string;
  readonly description: string;
  readonly target: 'checkpoint_id' | 'branch_id';
  readonly run: (history: SessionHistory, input: RestoreInput, call: ToolCallContext) => Promise<RestoreReport>;
}

/**
 * Taking a session and its workspace to a checkpoint or to another branch, as a tool: a person decides, the call stands
 * in the ledger, and after a crash the session's own restore operation, which the call's key names, says what happened.
 */
function restoreTool(history: SessionHistory, store: Store, { name, description, target, run }: RestoreWork): Tool {
  const operationOf = (input: RestoreInput, call: ToolCallContext): Promise<RestoreOperation | null> =>
    store.read('app.restore', (tx: ReadTx) =>
      restoreOfId(tx, call.principal, input.session_id, operationIdOf(call.idempotencyKey)),
    );
  return tool({
    name,
    description,
    inputSchema: inputOf(target),
    effect: 'reconcilable',
    needsApproval: true,
    timeoutMs: RESTORE_MS,
    execute: async (given, call) => {
      const input = given as unknown as RestoreInput;
      requireFresh(await operationOf(input, call));
      try {
        return await run(history, input, call);
      } catch (error) {
        const operation = await operationOf(input, call);
        // Begun and not rolled back, it may have been done: what its operation says is asked for.
        if (operation !== null && operation.status !== 'rolled_back') throw error;
        throw new NotDone(error instanceof HoldfastError ? error.message : 'It could not be carried out.', {
          cause: error,
        });
      }
    },
    status: async (given, call) => {
      const input = given as unknown as RestoreInput;
      return statusOf(input, await operationOf(input, call));
    },
  });
}

/** The tools that the keeper has. */
export const restoreTools = (history: SessionHistory, store: Store): Tool[] =>
  [REVERT, ACTIVATE].map((work) => restoreTool(history, store, work));

const REVERT: RestoreWork = {
  name: REVERT_TOOL,
  description: 'Takes a session and its workspace back to a checkpoint. What was done elsewhere is not undone.',
  target: 'checkpoint_id',
  async run(history, { session_id: root, checkpoint_id: checkpoint = '' }, call) {
    const preview = await history.preview(call.principal, root, checkpoint);
    const head = await history.revert(call.principal, root, checkpoint, restoreOf(call));
    return { checkpoint_id: head.checkpointId, reverted_to: checkpoint, ...previewDocument(preview) };
  },
};

const ACTIVATE: RestoreWork = {
  name: ACTIVATE_TOOL,
  description: 'Lets a session go on with another of its branches, with the workspace of its newest checkpoint.',
  target: 'branch_id',
  async run(history, { session_id: root, branch_id: branch = '' }, call) {
    const head = await history.activate(call.principal, root, branch, restoreOf(call));
    return { checkpoint_id: head.checkpointId, branch_id: branch };
  },
};

type RestoreReport = Readonly<Record<string, unknown>>;

const operationIdOf = (idempotencyKey: string): string => sha256Hex(idempotencyKey).slice(0, 32);

const restoreOf = ({ idempotencyKey, signal }: ToolCallContext) => ({
  operationId: operationIdOf(idempotencyKey),
  signal,
});

/** A call is delivered again only when it was not carried out; a restore under its key says that it was begun. */
function requireFresh(operation: RestoreOperation | null): void {
  if (operation === null) return;
  if (operation.status === 'rolled_back') throw new NotDone('It was begun and rolled back.');
  throw new Error('It was begun before.');
}

/** What going back changes and what it does not undo, as every surface says it. */
export function previewDocument({ changes, notUndone, notUndoneMore }: RestorePreview) {
  return {
    files_changed: changes.length,
    not_undone: notUndone.map(({ eventId, toolCallId, sideEffectClass }) => ({
      event_id: eventId,
      tool_call_id: toolCallId,
      side_effect_class: sideEffectClass,
    })),
    not_undone_more: notUndoneMore,
  };
}

function statusOf(input: RestoreInput, operation: RestoreOperation | null): ToolStatus {
  switch (operation?.status) {
    case undefined:
    case 'rolled_back':
      return { state: 'not_happened' };
    case 'completed':
      return { state: 'happened', output: { reverted_to: operation.targetCheckpointId } };
    case 'running':
      return {
        state: 'unknown',
        reason: `It was interrupted; holdfast sessions recover ${input.session_id} ends it.`,
      };
  }
}

const answer: ModelFunction = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== 'user') return last?.text ?? '';
  const back = REVERT_TASK.exec(last.text);
  if (back) return { calls: [callOf(REVERT_TOOL, { session_id: back[1], checkpoint_id: back[2] })] };
  const on = ACTIVATE_TASK.exec(last.text);
  if (on) return { calls: [callOf(ACTIVATE_TOOL, { session_id: on[1], branch_id: on[2] })] };
  return 'Two things can be asked here: to take a session back to a checkpoint, and to go on with another branch.';
};

const callOf = (toolName: string, given: Readonly<Record<string, unknown>>) => ({ toolName, arguments: given });

/** The keeper as runs know it. */
export const sessionKeeper = (tools: readonly Tool[]): Agent =>
  agentOf({ name: SESSION_KEEPER, model: answer, tools, maxTurns: 2 });
