import { type ErrorFamily, fail, HoldfastError } from '../core/index.ts';

/** What ends work that was going on; whatever else is refused says what was wrong with the request. */
const CUTS_SHORT: ReadonlySet<ErrorFamily> = new Set(['state', 'storage', 'storage_integrity', 'corruption']);

/** Errors that name a run, with what was met: the run above it says the same of itself. */
const MET = new WeakMap<Error, HoldfastError>();

/**
 * Does something for a run in which calls may have started. An error that cuts it short says which run that is and what
 * shows how it stands: whoever tries the same again without looking may have it carried out twice. The error keeps its
 * code, and is the `cause`.
 */
export async function namingRun<T>(runId: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw nameRun(error, runId);
  }
}

function nameRun(error: unknown, runId: string): unknown {
  if (!(error instanceof HoldfastError) || error.details?.['run_id'] === runId) return error;
  const met = MET.get(error) ?? error;
  if (!CUTS_SHORT.has(met.family)) return error;
  const named = fail(met.code, `${met.message} What had started in run ${runId} is unknown until it is known.`, {
    cause: met,
    details: { ...met.details, run_id: runId },
    resolve: `See what is known of it before anything is tried again: holdfast runs show ${runId}. ${met.resolve}`,
  });
  MET.set(named, met);
  return named;
}
