import type { Log } from '../core/index.ts';
import { HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { GatewayContext } from './context.ts';

/**
 * Lets a run go on in the background once nothing of it waits any more; whether it does so in this process. A run of
 * another living process, or of an agent that is not known here, is left to whoever has it. The decision is written down
 * already, so this throws nothing: what keeps the run from going on is told to the log, and to whoever resumes it.
 */
export async function carryOn(gateway: GatewayContext, principal: Principal, run: RunRef): Promise<boolean> {
  try {
    return await goOn(gateway, principal, run);
  } catch (error) {
    if (!(error instanceof HoldfastError && LEFT_TO_OTHERS.has(error.code))) tellFailure(gateway.log, run.runId, error);
    return false;
  }
}

export interface RunRef {
  readonly runId: string;
  readonly rootFrameId: string;
}

const LEFT_TO_OTHERS: ReadonlySet<string> = new Set(['AGENT_UNKNOWN', 'RUN_BUSY', 'RUN_ENDED']);

async function goOn(gateway: GatewayContext, principal: Principal, run: RunRef): Promise<boolean> {
  const { runtime, stopping, log } = gateway;
  if (stopping.aborted || (await runtime.approvals.isRunWaiting(principal, run))) return false;
  if (await isTakenUp(gateway, principal, run.runId)) return true;
  const wasRunning = runtime.runs.running(run.runId) !== undefined;
  const { ended } = await runtime.runs.resume(principal, run.runId);
  // One that was already running may have come to its stand just before this decision: then it is looked at again.
  const again = async (): Promise<void> => {
    const { state } = await ended;
    if (wasRunning && state.status === 'waiting_confirmation') await carryOn(gateway, principal, run);
  };
  again().catch((error: unknown) => tellFailure(log, run.runId, error));
  return true;
}

/**
 * Whether this process takes the run up by itself: where it carries on what is decided, the run has its turn among the
 * others, so that many decisions at once begin no more model turns than `runsCarriedOnAtOnce`.
 */
async function isTakenUp({ runtime: { runs } }: GatewayContext, principal: Principal, runId: string): Promise<boolean> {
  if (!runs.isFollowing) return false;
  const { agent, parent, state } = await runs.get(principal, runId);
  // A run below another is followed only while that one waits; it is taken up here whatever became of it.
  return parent === null && state.status === 'waiting_confirmation' && runs.agents().includes(agent);
}

/** A run that could not be carried out stands as it was stored; the log says why. */
export function tellFailure(log: Log, runId: string, error: unknown): void {
  log.error('gateway.run_failed', { run_id: runId, error: error instanceof Error ? error : undefined });
}
