import type { CallPlace } from '../calls/index.ts';
import { HoldfastError } from '../core/index.ts';
import type { GuardOptions } from '../mcp/index.ts';
import {
  closeModellessRun,
  type ModellessRun,
  modellessRunStanding,
  openModellessRun,
  openModellessRunAnew,
  openNextModellessRun,
} from '../runs/index.ts';
import type { Runtime } from './runtime.ts';

/** The runs of one guard, each with the process id under which it is held. */
export interface GuardRuns extends Pick<GuardOptions, 'place' | 'runs' | 'standing'> {
  /** The runs that are open now. */
  readonly held: () => readonly string[];
  /** Ends every run that is open, one after the other; then throws what the first of them threw. */
  readonly endAll: () => Promise<void>;
}

/** Opens the first run of a guard. Throws PROJECT_NOT_FOUND. */
export async function openGuardRuns(
  { calls, principal, comeBack }: Runtime,
  run: Omit<ModellessRun, 'ownerInstanceId'>,
): Promise<GuardRuns> {
  let owner = calls.workerId;
  const place = await openModellessRun(calls, principal, { ...run, ownerInstanceId: owner });
  const open = new Map([[place, owner]]);
  /** Also of a run that has ended, for calls that were under way in it. */
  const owners = new WeakMap<CallPlace, string>([[place, owner]]);
  const keep = (next: CallPlace): CallPlace => {
    open.set(next, owner);
    owners.set(next, owner);
    return next;
  };
  const runs: GuardOptions['runs'] = {
    next: async (after) => keep(await openNextModellessRun(calls, after, { ...run, ownerInstanceId: owner })),
    anew: async (after) => {
      const lost = owners.get(after) ?? owner;
      if (lost === owner) owner = await comeBack(lost);
      const next = await openModellessRunAnew(calls, after, { ...run, ownerInstanceId: owner }, lost);
      if (next === null) return null;
      open.delete(after);
      return keep(next);
    },
    end: async (one) => {
      const heldBy = open.get(one);
      if (heldBy === undefined) return;
      try {
        await closeModellessRun(calls, one, heldBy);
      } catch (error) {
        // That this process was taken for dead has been told; nothing is left to end in what it had before.
        if (heldBy === owner || !isNotOwned(error)) throw error;
      }
      open.delete(one);
    },
  };
  return {
    place,
    runs,
    standing: (tx, one) => modellessRunStanding(tx, calls, one, owners.get(one) ?? owner),
    held: () => [...open.keys()].flatMap(({ runId }) => runId ?? []),
    endAll: () => endAll([...open.keys()].map((one) => () => runs.end(one))),
  };
}

const isNotOwned = (error: unknown): boolean => error instanceof HoldfastError && error.code === 'RUN_NOT_OWNED';

/** Tries each, one after the other, and then throws what the first of them threw. */
async function endAll(ends: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of ends) await end().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
