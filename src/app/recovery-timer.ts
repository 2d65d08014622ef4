import type { Autonomy } from '../autonomy/index.ts';
import type { DamagedRun, Runs } from '../runs/index.ts';

export interface RecoveryTimer {
  readonly runs: Pick<Runs, 'recoverOthers'>;
  readonly autonomy: Pick<Autonomy, 'sweep'>;
  /** Every id that this process has had. */
  readonly ids: readonly string[];
  /** The lease of a process: whatever dies is known to be dead after it, so a look for each is enough. */
  readonly everyMs: number;
  /** The damaged ones that were told already. */
  readonly damaged: readonly DamagedRun[];
  readonly onDamage?: ((run: DamagedRun) => void) | undefined;
}

/**
 * The one timer of a process that lets go of what others leave that die while this one lives, or had died just before it
 * opened, so that their leases still ran: as at the opening, and never of its own. Answers how it is stopped.
 */
export function startRecovery(of: RecoveryTimer): () => Promise<void> {
  const told = new Set(of.damaged.map(({ runId }) => runId));
  let under: Promise<void> | undefined;
  const timer = setInterval(() => {
    under ??= recoverOnce(of, told).finally(() => (under = undefined));
  }, of.everyMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await under;
  };
}

async function recoverOnce({ runs, autonomy, ids, onDamage }: RecoveryTimer, told: Set<string>): Promise<void> {
  try {
    const { damaged } = await runs.recoverOthers();
    for (const run of damaged.filter(({ runId }) => !told.has(runId))) {
      told.add(run.runId);
      onDamage?.(run);
    }
    await autonomy.sweep(...ids);
  } catch {
    // A busy or failing store is met again at the next look, or when the folder is opened.
  }
}
