import { fail, LIMITS } from '../../core/index.ts';
import { readSideBranch, SIDE_BRANCH_KEY, sideBranchDocument } from '../side-branch/model.ts';
import type { Driving } from './driving.ts';

export interface NewSideBranch {
  readonly type: string;
  readonly branchId: string;
  /** What the branch is asked to do. */
  readonly instruction: string;
  /** Its budget; the configuration's where none is given. */
  readonly maxTurns?: number;
}

/** Stores the instruction and the branch. Throws `RUN_BRANCH_UNKNOWN`, and `RUN_BUSY` while another branch is open. */
export async function openBranch(driving: Driving, opening: NewSideBranch): Promise<string> {
  const { context, conversation, config, traceId } = driving;
  const { type, branchId } = opening;
  if (!context.sideBranches.has(type)) throw fail('RUN_BRANCH_UNKNOWN', 'No side branch of this kind is registered.');
  const maxTurns = opening.maxTurns ?? config.sideBranchMaxTurns;
  if (!Number.isSafeInteger(maxTurns) || maxTurns < 1 || maxTurns > LIMITS.runSideBranchTurns)
    throw fail('RUN_CONFIG_INVALID', `A side branch has 1 to ${LIMITS.runSideBranchTurns} turns.`);
  const trace = await context.home.traces.getTrace(traceId);
  const open = readSideBranch(trace?.context ?? {});
  if (open !== null)
    throw fail('RUN_BUSY', 'Another side branch of the run is open.', {
      details: { trace_id: traceId, branch_id: open.branchId },
      resolve: 'It is given its turns when the run is carried on: run([], …) of a runner',
    });
  const head = conversation.head;
  const own = { branchType: type, branchId, parentSequence: head };
  const { sequence } = await conversation.add({ role: 'user', content: opening.instruction, ...own });
  const branch = sideBranchDocument({
    type,
    branchId,
    startHeadSequence: head,
    startSequence: sequence,
    startIteration: 0,
    maxTurns,
    turnsUsed: 0,
  });
  await context.home.traces.updateTrace(traceId, (now) => ({ context: { ...now.context, [SIDE_BRANCH_KEY]: branch } }));
  return branchId;
}
