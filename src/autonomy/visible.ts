import { type Segment, type SessionBranch, visibleSegments } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import * as sql from './queries.ts';

/** What a branch shows of the run log: its segments in order, and whether an event lies in them. */
export interface VisibleLog {
  readonly segments: readonly Segment[];
  shows(event: { readonly branch_id: string; readonly event_cursor: number }): boolean;
}

export async function visibleLog(tx: ReadTx, branch: SessionBranch): Promise<VisibleLog> {
  const segments = await visibleSegments(tx, branch, 'autoEvent');
  return {
    segments,
    shows: ({ branch_id, event_cursor }) =>
      segments.some(
        ({ branchId, after, upTo }) => branchId === branch_id && event_cursor > after && event_cursor <= upTo,
      ),
  };
}

/** The newest event that a branch shows. */
export interface Tail {
  readonly eventId: string;
  readonly cursor: number;
  readonly runId: string;
}

export async function tailOf(tx: ReadTx, log: VisibleLog): Promise<Tail | null> {
  for (const { branchId, after, upTo } of log.segments.toReversed()) {
    const row = await tx.get(sql.LAST_IN_SEGMENT, [branchId, after, upTo]);
    if (row)
      return { eventId: String(row['event_id']), cursor: Number(row['event_cursor']), runId: String(row['run_id']) };
  }
  return null;
}

/** Whether the last event of the run is the newest one that its branch shows. */
export async function isAtTail(tx: ReadTx, log: VisibleLog, runId: string): Promise<boolean> {
  const tail = await tailOf(tx, log);
  if (tail?.runId !== runId) return false;
  return (await tx.get(sql.LAST_OF_RUN, [runId]))?.['event_id'] === tail.eventId;
}
