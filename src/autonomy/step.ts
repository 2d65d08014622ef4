import type { Principal } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { advance } from './advance.ts';
import type { AutonomyContext } from './context.ts';
import type { Told } from './documents.ts';
import { wrongPhase } from './errors.ts';
import { appendAutoEvent } from './events.ts';
import type { AutoEvent, AutoEventType, AutoRun } from './model.ts';
import * as sql from './queries.ts';

/** Writes one event, and the run as it is after it, where the event changes it. */
export async function takeStep(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
  type: AutoEventType,
  told: Told,
): Promise<{ readonly run: AutoRun; readonly event: AutoEvent }> {
  const event = await appendAutoEvent(tx, context.sessions, principal, run, type, told);
  const next = advance(run, event);
  if (next !== run) {
    const params = [...sql.RUN_CHANGES.params(next), run.run_id, run.status, run.state_revision];
    const { changes } = await tx.run(sql.UPDATE_RUN, params);
    if (changes !== 1) throw wrongPhase('This step', run.status);
  }
  return { run: next, event };
}
