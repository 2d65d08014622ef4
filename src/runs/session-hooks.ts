import type { Clock } from '../core/index.ts';
import type { SessionHooks } from '../sessions/index.ts';
import { runBusy } from './run-store.ts';

const UNDER_WAY = `SELECT trace_id FROM traces WHERE root_frame_id = ? AND status = 'running'
  AND EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = traces.owner_instance_id
    AND i.ended_at_ms IS NULL AND i.lease_until_ms > ?) LIMIT 1`;
const DROP_GOALS = `DELETE FROM trace_goals WHERE trace_id IN (SELECT trace_id FROM traces WHERE root_frame_id = ?)`;
const DROP_TRACES = `DELETE FROM traces WHERE root_frame_id = ?`;

/**
 * What this room does when a session goes: the records of its runs go with it. A session in which a living process
 * carries a run out stays: RUN_BUSY. Wired where the rooms are joined.
 */
export function runSessionHooks(clock: Clock): SessionHooks {
  return {
    async keepsOf(tx, rootFrameId) {
      const carried = await tx.get(UNDER_WAY, [rootFrameId, clock.nowMs()]);
      if (carried) throw runBusy(String(carried['trace_id']), 'A living process carries out a run of this session.');
      return [];
    },
    async onDelete(tx, rootFrameId) {
      await tx.run(DROP_GOALS, [rootFrameId]);
      await tx.run(DROP_TRACES, [rootFrameId]);
    },
  };
}
