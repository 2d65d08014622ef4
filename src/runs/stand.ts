import { cancelRequests } from '../approvals/index.ts';
import { HoldfastError } from '../core/index.ts';
import type { NewEvent } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { isClosing } from './closing.ts';
import type { Driving, RunsContext } from './context.ts';
import { type GroupEnd, writeResults } from './group.ts';
import { isStopAsked, letGo, moveRun, type RunEnd } from './run-store.ts';

/** Writes down how the run stands now that it cannot go on by itself. */
export async function stand(
  context: RunsContext,
  driving: Driving,
  end: Exclude<GroupEnd, { end: 'ended' }>,
): Promise<void> {
  switch (end.end) {
    case 'waiting':
      return standWaiting(context, driving, end.unwritten);
    case 'unknown':
      return standFailed(context, driving, 'OUTCOME_UNKNOWN', unknownText(end.outcome.reason), end.unwritten);
    case 'stopped': {
      if (isClosing(driving.signal)) return breakOff(context, driving, end.unwritten);
      const finishedAt = context.calls.clock.nowMs();
      return write(context, driving, { status: 'stopped', finishedAt }, end.unwritten);
    }
  }
}

/** The process closes: what is known is written down, and the run goes on where somebody resumes it. */
async function breakOff(context: RunsContext, driving: Driving, unwritten: readonly NewEvent[]): Promise<void> {
  const { run, owner } = driving;
  const { store, clock } = context.calls;
  await store.write('runs.let-go', async (tx) => {
    const now = clock.nowMs();
    await writeResults(tx, context, driving, unwritten);
    if (await isStopAsked(tx, run.runId, owner))
      await moveRun(tx, run, owner, { status: 'stopped', finishedAt: now }, now);
    else await letGo(tx, run, owner, now);
  });
}

const unknownText = (reason: string): string => `The outcome of a call is unknown: ${reason}`;

/** A run that is no longer this process's stands as whoever had it since has left it. */
async function standWaiting(context: RunsContext, driving: Driving, unwritten: readonly NewEvent[]): Promise<void> {
  try {
    await write(context, driving, { status: 'waiting_confirmation' }, unwritten);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'RUN_NOT_OWNED')) throw error;
  }
}

export function standFailed(
  context: RunsContext,
  driving: Driving,
  code: string,
  message: string,
  unwritten: readonly NewEvent[],
): Promise<void> {
  return write(context, driving, { status: 'failed', code, message }, unwritten);
}

async function write(
  context: RunsContext,
  driving: Driving,
  to: RunEnd,
  unwritten: readonly NewEvent[],
): Promise<void> {
  await context.calls.store.write('runs.stand', async (tx) => {
    await writeResults(tx, context, driving, unwritten);
    await comeToStand(tx, context, driving, to);
  });
}

/** In the caller's transaction; what waits in a run that was asked to stop meanwhile is taken back with it. */
export async function comeToStand(
  tx: Tx,
  { calls }: RunsContext,
  { run, owner }: Pick<Driving, 'run' | 'owner'>,
  to: RunEnd,
): Promise<void> {
  const came = await moveRun(tx, run, owner, to, calls.clock.nowMs());
  if (to.status !== 'waiting_confirmation' || came === to.status) return;
  const { principal, place, runId } = run;
  await cancelRequests(
    tx,
    calls.sessions,
    principal,
    { rootFrameId: place.rootFrameId, runId },
    'The run was stopped.',
  );
}
