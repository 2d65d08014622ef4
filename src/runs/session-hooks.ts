import type { SessionContext, SessionHooks } from '../sessions/index.ts';
import * as sql from './run-queries.ts';
import { apart, exact, readRun, runBusy } from './run-store.ts';
import { stopOne } from './stop-run.ts';

const DROP_GOALS = `DELETE FROM trace_goals WHERE trace_id IN (SELECT trace_id FROM traces WHERE root_frame_id = ?)`;
const DROP_TRACES = `DELETE FROM traces WHERE root_frame_id = ?`;

/**
 * What this room does when a session goes: the records of its runs go with it, and the runs below them, which have
 * sessions of their own, are stopped: nobody waits for them any more, and nothing holds them to what the run above might
 * spend. A session stays while a living process carries out a run of it or below it: RUN_BUSY. Wired where the rooms are
 * joined.
 */
export function runSessionHooks(context: () => SessionContext): SessionHooks {
  return {
    async keepsOf(tx, rootFrameId) {
      const carried = await tx.get(sql.UNDER_WAY_OF_SESSION, [rootFrameId, context().clock.nowMs()]);
      if (carried) throw runBusy(String(carried['trace_id']), 'A living process carries out a run of this session.');
      return [];
    },
    async onDelete(tx, rootFrameId) {
      const below = await tx.all(exact(sql.UNENDED_BELOW_SESSION), [rootFrameId, rootFrameId]);
      const sessions = context();
      for (const run of apart(below.map(readRun)).items)
        await stopOne(tx, { clock: sessions.clock, sessions }, run.principal, run);
      await tx.run(DROP_GOALS, [rootFrameId]);
      await tx.run(DROP_TRACES, [rootFrameId]);
    },
  };
}
