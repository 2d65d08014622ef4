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

/** A large workspace is captured and written within this. Milliseconds. */
const REVERT_MS = 300_000;

const TASK = /^Take session (\S+) back to checkpoint (\S+)$/;

/** The request that the keeper turns into one call of `revert_session`. */
export const revertTask = (rootFrameId: string, checkpointId: string): string =>
  `Take session ${rootFrameId} back to checkpoint ${checkpointId}`;

interface RevertInput {
  readonly session_id: string;
  readonly checkpoint_id: string;
}

const INPUT = {
  type: 'object',
  additionalProperties: false,
  required: ['session_id', 'checkpoint_id'],
  properties: {
    session_id: { type: 'string', minLength: 1, maxLength: 512 },
    checkpoint_id: { type: 'string', minLength: 1, maxLength: 512 },
  },
} as const;

/**
 * Taking a session and its workspace back to a checkpoint, as a tool: a person decides, the call stands in the ledger,
 * and after a crash the session's own restore operation, which the call's key names, says what happened.
 */
export function revertTool(history: SessionHistory, store: Store): Tool {
  const operationOf = (input: RevertInput, call: ToolCallContext): Promise<RestoreOperation | null> =>
    store.read('app.restore', (tx: ReadTx) =>
      restoreOfId(tx, call.principal, input.session_id, operationIdOf(call.idempotencyKey)),
    );
  return tool({
    name: REVERT_TOOL,
    description: 'Takes a session and its workspace back to a checkpoint. What was done elsewhere is not undone.',
    inputSchema: INPUT,
    effect: 'reconcilable',
    needsApproval: true,
    timeoutMs: REVERT_MS,
    execute: async (given, call) => {
      const input = given as unknown as RevertInput;
      requireFresh(await operationOf(input, call));
      try {
        return await revert(history, input, call);
      } catch (error) {
        const operation = await operationOf(input, call);
        if (operation?.status === 'running') throw error;
        throw new NotDone(error instanceof HoldfastError ? error.message : 'It could not be carried out.', {
          cause: error,
        });
      }
    },
    status: async (given, call) => {
      const input = given as unknown as RevertInput;
      return statusOf(input, await operationOf(input, call));
    },
  });
}

const operationIdOf = (idempotencyKey: string): string => sha256Hex(idempotencyKey).slice(0, 32);

/** A call is delivered again only when it was not carried out; a restore under its key says that it was begun. */
function requireFresh(operation: RestoreOperation | null): void {
  if (operation === null) return;
  if (operation.status === 'rolled_back') throw new NotDone('It was begun and rolled back.');
  throw new Error('It was begun before.');
}

async function revert(history: SessionHistory, input: RevertInput, call: ToolCallContext) {
  const { session_id: root, checkpoint_id: checkpoint } = input;
  const preview = await history.preview(call.principal, root, checkpoint);
  const head = await history.revert(call.principal, root, checkpoint, operationIdOf(call.idempotencyKey));
  return { checkpoint_id: head.checkpointId, reverted_to: checkpoint, ...previewDocument(preview) };
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

function statusOf(input: RevertInput, operation: RestoreOperation | null): ToolStatus {
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
  const asked = TASK.exec(last.text);
  if (!asked) return 'Only one thing can be asked here: to take a session back to a checkpoint.';
  return { calls: [{ toolName: REVERT_TOOL, arguments: { session_id: asked[1], checkpoint_id: asked[2] } }] };
};

/** The keeper as runs know it. */
export const sessionKeeper = (revertSession: Tool): Agent =>
  agentOf({ name: SESSION_KEEPER, model: answer, tools: [revertSession], maxTurns: 2 });
