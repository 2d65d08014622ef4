import type { ReadTx } from '../store/index.ts';
import { eventOf } from './events.ts';
import type { AutoEvent } from './model.ts';
import * as sql from './queries.ts';

/** Every event of one audit in a session, visible or not. */
export async function eventsOfAudit(tx: ReadTx, rootFrameId: string, auditId: string): Promise<AutoEvent[]> {
  return (await tx.all(sql.EVENTS_OF_AUDIT, [rootFrameId, auditId])).map(eventOf);
}
