import type { ReadTx } from '../store/index.ts';
import type { Principal } from './model.ts';

const OF_TENANT = 'root_frame_id IN (SELECT root_frame_id FROM sessions WHERE tenant_id = ?)';

/** By what stands before the dot of an entry's kind: where its reference is looked up. */
const PLACES: ReadonlyMap<string, string> = new Map([
  ['session', 'SELECT root_frame_id FROM sessions WHERE root_frame_id = ? AND tenant_id = ?'],
  ['branch', `SELECT root_frame_id FROM session_branches WHERE branch_id = ? AND ${OF_TENANT}`],
  ['action_group', `SELECT root_frame_id FROM action_groups WHERE group_id = ? AND ${OF_TENANT}`],
  ['action_event', `SELECT root_frame_id FROM action_events WHERE event_id = ? AND ${OF_TENANT}`],
  ['checkpoint', `SELECT root_frame_id FROM session_checkpoints WHERE checkpoint_id = ? AND ${OF_TENANT}`],
  ['restore', `SELECT root_frame_id FROM restore_operations WHERE operation_id = ? AND ${OF_TENANT}`],
]);

/** The session that an entry of the feed tells of, for kinds that this room writes; null for others, and where it is gone. */
export async function sessionOfEntry(
  tx: ReadTx,
  principal: Principal,
  entry: { readonly kind: string; readonly reference: string },
): Promise<string | null> {
  const place = PLACES.get(entry.kind.slice(0, entry.kind.indexOf('.')));
  const row = place && (await tx.get(place, [entry.reference, principal.tenant]));
  return row ? String(row['root_frame_id']) : null;
}
