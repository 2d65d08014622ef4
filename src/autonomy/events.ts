import { canonicalJson, digestJson, LIMITS, requireWithin } from '../core/index.ts';
import type { Principal, SessionContext } from '../sessions/index.ts';
import { appendFeed, type ReadTx, type Row, type Tx } from '../store/index.ts';
import { scopeOf, type Told } from './documents.ts';
import { keyConflict, requireProof } from './errors.ts';
import type { AutoEvent, AutoEventType, RunScope, Transition } from './model.ts';
import * as sql from './queries.ts';

/** An event of a row, held against its own digest: a payload that was edited alone is AUTO_PROOF_FAILED. */
export function eventOf(row: Row): AutoEvent {
  const event = sql.EVENTS.read(row);
  requireProof(
    digestJson(event.payload) === event.payload_sha256,
    'event payload',
    'a payload is not what its digest says',
  );
  return { ...event, event_ordinal: event.event_cursor, occurred_at: event.created_at };
}

/** Appends one line to the log of a run, and to the feed. */
export async function appendAutoEvent(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  scope: RunScope,
  type: AutoEventType,
  told: Told,
): Promise<AutoEvent> {
  const { run_id, root_frame_id, branch_id, turn_id, execution_id } = scope;
  const event_id = `auto-event-${context.ids.next().slice(-20)}`;
  const payload_sha256 = digestJson(told.payload);
  const place = [event_id, run_id, root_frame_id, branch_id, turn_id, execution_id, root_frame_id, run_id];
  const line = [told.key, type, told.request, canonicalJson(told.payload), payload_sha256, told.at];
  const row = (await tx.get(sql.INSERT_EVENT, [...place, ...line])) ?? {};
  await appendFeed(tx, { tenantId: principal.tenant, kind: `auto_run.${type}`, reference: run_id });
  const event_cursor = Number(row['event_cursor']);
  return {
    ...scopeOf(scope),
    event_id,
    event_cursor,
    sequence: Number(row['sequence']),
    idempotency_key: told.key,
    type,
    request_sha256: told.request,
    payload: told.payload,
    payload_sha256,
    created_at: told.at,
    event_ordinal: event_cursor,
    occurred_at: told.at,
  };
}

/** The event of an earlier request with this key, or null. AUTO_KEY_CONFLICT when it was another request. */
export async function replayedEvent(
  tx: ReadTx,
  runId: string,
  key: string,
  type: AutoEventType,
  request: string,
): Promise<AutoEvent | null> {
  const row = await tx.get(sql.EVENT_BY_KEY, [runId, key]);
  if (!row) return null;
  const event = eventOf(row);
  if (event.type !== type || event.request_sha256 !== request) throw keyConflict();
  return event;
}

/** Every event of a run in its order. LIMIT_REACHED. */
export async function eventsOfRun(tx: ReadTx, runId: string): Promise<AutoEvent[]> {
  return bounded(await tx.all(sql.EVENTS_OF_RUN, [runId, LIMITS.autoEventsPerRead + 1]));
}

/** Every event of a session in the order of its cursor. LIMIT_REACHED. */
export async function eventsOfRoot(tx: ReadTx, rootFrameId: string): Promise<AutoEvent[]> {
  return bounded(await tx.all(sql.EVENTS_OF_ROOT, [rootFrameId, LIMITS.autoEventsPerRead + 1]));
}

function bounded(rows: Row[]): AutoEvent[] {
  requireWithin('autoEventsPerRead', rows.length);
  return rows.map(eventOf);
}

export async function rootCursor(tx: ReadTx, rootFrameId: string): Promise<number> {
  return Number((await tx.get(sql.ROOT_CURSOR, [rootFrameId]))?.['event_cursor']);
}

/** What a step answers with. */
export const transition = <T>(owner: T, event: AutoEvent, created: boolean): Transition<T> => ({
  ...owner,
  event,
  event_id: event.event_id,
  event_cursor: event.event_cursor,
  created,
});
