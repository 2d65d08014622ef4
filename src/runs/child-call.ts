import type { CallOutcome, PreparedCall } from '../calls/index.ts';
import { HoldfastError, type JsonObject, LIMITS, sentence } from '../core/index.ts';
import type { ReadTx } from '../store/index.ts';
import { type Tool, tool } from '../tools/index.ts';
import type { Driving, RunsContext } from './context.ts';
import { cutOf, type CutReason } from './cut-reply.ts';
import { branchGroups } from './history.ts';
import type { ChildCall, RunRecord } from './model.ts';
import { runTree } from './run-store.ts';
import { newestReplyOfTurn } from './turn-history.ts';

/**
 * The tool by which an agent gives a task to another: `ask_<name>`. It reads, as it changes nothing itself: whatever
 * the other's run does passes the gates as a call of its own. Throws TOOL_INVALID for a name that no tool may have.
 */
export function childTool(agent: string, purpose: string): Tool {
  return tool({
    name: `ask_${agent}`,
    description: purpose,
    inputSchema: {
      type: 'object',
      properties: { task: { type: 'string', minLength: 1, maxLength: LIMITS.runTaskCodePoints } },
      required: ['task'],
      additionalProperties: false,
    },
    effect: 'read',
    execute: () => {
      throw new Error('This call is carried out by the run that makes it.');
    },
  });
}

/** The task in a call of such a tool; its schema has let it through. */
export function taskOf(call: PreparedCall): string {
  const { input } = call;
  const task: unknown = typeof input === 'object' && input !== null && 'task' in input ? input.task : '';
  return typeof task === 'string' ? task : '';
}

/** How a call is named in the record of the run that it began. */
export const childCallKey = ({ groupId, callId }: Pick<ChildCall, 'groupId' | 'callId'>): string =>
  `${groupId}/${callId}`;

/**
 * Carries out the child run of a call and answers what became of it; null while it waits or belongs to another living
 * process. A child that may have done what is unknown leaves its call unknown too.
 */
export async function childOutcome(
  context: RunsContext,
  driving: Driving,
  asked: ChildCall,
): Promise<CallOutcome | null> {
  try {
    const child = await driving.carryOutChild(driving, asked);
    if (child === null) return null;
    const { unknown, cut } = await context.calls.store.read('runs.child', async (tx) => {
      const last = await newestReplyOfTurn(tx, child.principal, child.place);
      return { unknown: await hasUnknown(tx, child), cut: last && cutOf(last) };
    });
    return outcomeOf(child, unknown, cut);
  } catch (error) {
    if (!(error instanceof HoldfastError) || !REFUSALS.has(error.code)) throw error;
    return { state: 'not_started', code: error.code, reason: error.message, resolve: error.resolve };
  }
}

/** What refuses a child run before anything of it is there. */
const REFUSALS: ReadonlySet<string> = new Set(['INVALID_VALUE', 'LIMIT_REACHED']);

function outcomeOf({ runId, agent, state }: RunRecord, unknown: boolean, cut: CutReason | null): CallOutcome | null {
  const resolve = `holdfast runs show ${runId}`;
  switch (state.status) {
    case 'completed':
      return {
        state: 'done',
        output: { run_id: runId, text: state.text, ...toldCut(cut) },
        verified: false,
        settledBy: null,
      };
    case 'running':
    case 'waiting_confirmation':
      return null;
    case 'failed':
    case 'stopped': {
      const why = state.status === 'failed' ? `failed: ${state.message}` : 'was stopped.';
      const reason = `The run of ${agent} ${why}`.slice(0, LIMITS.callReasonCharacters).toWellFormed();
      if (unknown) return { state: 'unknown', code: 'OUTCOME_UNKNOWN', reason, statusRef: null, resolve };
      return {
        state: 'not_done',
        code: 'RUN_CHILD_ENDED',
        reason: `${sentence(reason)} What it did before stands.`,
        settledBy: null,
      };
    }
  }
}

/** For the model as much as for the record: half an answer must not read as a whole one. */
const toldCut = (cut: CutReason | null): JsonObject =>
  cut === null ? {} : { cut, note: `Its last reply was cut (${cut}): the text may not be whole.` };

/** In the run or in any below it: one that was stopped may not have been told of those that it had begun. */
async function hasUnknown(tx: ReadTx, { principal, runId }: RunRecord): Promise<boolean> {
  for (const { place } of await runTree(tx, principal, runId)) {
    const groups = await branchGroups(tx, principal, place.rootFrameId, place.branchId);
    if (groups.some(({ calls }) => calls.some(({ outcome }) => outcome?.state === 'unknown'))) return true;
  }
  return false;
}
