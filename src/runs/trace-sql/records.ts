import { canonicalJson, type Clock, fail, isSha256Hex, LIMITS, requireWithin, sha256Hex } from '../../core/index.ts';
import type { ReadTx, Tx } from '../../store/index.ts';
import { corrupt, readGoals } from '../trace/documents.ts';
import { checkTraceId, placeOfMessage } from '../trace/ids.ts';
import {
  type Attachment,
  type AttachmentInput,
  type GoalTree,
  type IntegrityReport,
  type NewTrace,
  type PageRequest,
  type Trace,
  type TraceChange,
  type TraceEvent,
  type TraceFilter,
  type TraceMessage,
  UNFINISHED,
} from '../trace/model.ts';
import type { ChangeOf } from '../trace/port.ts';
import {
  attachmentName,
  checkAttachmentName,
  checkedChange,
  checkedEvent,
  checkedGoals,
  checkedMessage,
  checkedStatuses,
  newTrace,
  pageAfter,
  pageAfterId,
  pageLimit,
} from '../trace/records.ts';
import * as sql from './queries.ts';
import { changedColumns, eventOf, messageColumns, messageOf, traceOf } from './rows.ts';

/** Whose traces: those of one project of a tenant. Another project's are not there. */
export interface TraceScope {
  readonly tenantId: string;
  readonly projectId: string;
}

/** Makes a trace: one statement. Throws `TRACE_RECORD_EXISTS`, `TRACE_RECORD_INVALID`, `TRACE_ID_INVALID`. */
export async function insertTrace(tx: Tx, scope: TraceScope, input: NewTrace, clock: Clock): Promise<Trace> {
  const made = newTrace(input, clock);
  const columns = [made.traceId, made.mode, ...changedColumns(made), made.createdAt, made.updatedAt, finishedAt(made)];
  const { changes } = await tx.run(sql.INSERT_TRACE, [scope.tenantId, scope.projectId, ...columns]);
  if (changes !== 1) throw fail('TRACE_RECORD_EXISTS', 'trace_id already exists.');
  return made;
}

const finishedAt = (trace: Trace): number | null =>
  trace.status === 'completed' || trace.status === 'stopped' ? trace.updatedAt : null;

export async function findTrace(tx: ReadTx, scope: TraceScope, traceId: string): Promise<Trace | null> {
  const row = await tx.get(sql.TRACE, [scope.tenantId, scope.projectId, checkTraceId(traceId)]);
  return row === undefined ? null : traceOf(row);
}

export async function requireTrace(tx: ReadTx, scope: TraceScope, traceId: string): Promise<Trace> {
  const trace = await findTrace(tx, scope, traceId);
  if (trace === null) throw fail('TRACE_NOT_FOUND', 'There is no such trace.');
  return trace;
}

/** A page in the order of ids. Asked for the unfinished ones, it reads no others. */
export async function pageOfTraces(tx: ReadTx, scope: TraceScope, filter: TraceFilter): Promise<readonly Trace[]> {
  const limit = pageLimit(filter);
  const from = [scope.tenantId, scope.projectId, pageAfterId(filter)];
  const status = checkedStatuses(filter);
  if (status === undefined) return (await tx.all(sql.PAGE_OF_TRACES, [...from, limit])).map(traceOf);
  if (status.length === UNFINISHED.length && UNFINISHED.every((word) => status.includes(word)))
    return (await tx.all(sql.PAGE_OF_UNFINISHED, [...from, limit])).map(traceOf);
  return (await tx.all(sql.PAGE_OF_TRACES_IN, [...from, JSON.stringify(status), limit])).map(traceOf);
}

/** Changes fields of a trace: two statements. Throws `TRACE_NOT_FOUND`, `TRACE_RECORD_INVALID`. */
export async function changeTrace(
  tx: Tx,
  scope: TraceScope,
  traceId: string,
  change: ChangeOf<Trace, TraceChange>,
  clock: Clock,
): Promise<Trace> {
  const now = await requireTrace(tx, scope, traceId);
  const wanted = typeof change === 'function' ? change(now) : change;
  if (wanted === null) return now;
  const next = { ...now, ...checkedChange(wanted), updatedAt: Math.max(now.updatedAt, clock.nowMs()) };
  const where = [scope.tenantId, scope.projectId, traceId];
  await tx.run(sql.UPDATE_TRACE, [...changedColumns(next), next.updatedAt, finishedAt(next), ...where]);
  return next;
}

/** Adds a message with its event and what both count: three statements. Throws as `TraceStore.addMessage`. */
export async function insertMessage(tx: Tx, scope: TraceScope, given: TraceMessage, clock: Clock): Promise<void> {
  const message = checkedMessage(given);
  const { traceId, sequence } = message;
  const counted = await tx.get<{ last_event_id: number }>(sql.COUNT_MESSAGE, [
    sequence,
    message.promptTokens ?? 0,
    clock.nowMs(),
    scope.tenantId,
    scope.projectId,
    traceId,
    LIMITS.traceMessages,
  ]);
  if (counted === undefined) throw await uncounted(tx, scope, traceId, 'traceMessages');
  const { changes } = await tx.run(sql.INSERT_MESSAGE, messageColumns(message));
  if (changes !== 1) throw fail('TRACE_RECORD_EXISTS', 'message_id already exists.');
  const data = { message_id: message.messageId, sequence, role: message.role };
  await insertNumbered(tx, traceId, counted.last_event_id, { type: 'message_added', data }, message.createdAt);
}

/** Adds an event: two statements. Answers its number. */
export async function insertEvent(
  tx: Tx,
  scope: TraceScope,
  traceId: string,
  event: Pick<TraceEvent, 'type' | 'data'>,
  clock: Clock,
): Promise<number> {
  const checked = checkedEvent(event.type, event.data);
  const where = [scope.tenantId, scope.projectId, checkTraceId(traceId), LIMITS.traceEvents];
  const counted = await tx.get<{ last_event_id: number }>(sql.COUNT_EVENT, [clock.nowMs(), ...where]);
  if (counted === undefined) throw await uncounted(tx, scope, traceId, 'traceEvents');
  await insertNumbered(tx, traceId, counted.last_event_id, checked, clock.nowMs());
  return counted.last_event_id;
}

async function insertNumbered(
  tx: Tx,
  traceId: string,
  eventId: number,
  event: Pick<TraceEvent, 'type' | 'data'>,
  now: number,
): Promise<void> {
  const params = [traceId, eventId, event.type, canonicalJson(event.data), now];
  const { changes } = await tx.run(sql.INSERT_EVENT, params);
  if (changes !== 1) throw corrupt('its counters are behind its events');
}

async function uncounted(
  tx: ReadTx,
  scope: TraceScope,
  traceId: string,
  limit: 'traceMessages' | 'traceEvents',
): Promise<Error> {
  await requireTrace(tx, scope, traceId);
  const max = LIMITS[limit];
  return fail('LIMIT_REACHED', `The limit ${limit} is ${max} items.`, { details: { limit, max } });
}

/** The message of an id; null where there is none. Throws `TRACE_ID_INVALID`. */
export async function findMessage(tx: ReadTx, scope: TraceScope, messageId: string): Promise<TraceMessage | null> {
  const place = placeOfMessage(messageId);
  if (place === null) return null;
  if ((await findTrace(tx, scope, place.traceId)) === null) return null;
  const row = await tx.get(sql.MESSAGE, [place.traceId, place.sequence]);
  return row === undefined ? null : messageOf(row);
}

/** Messages in the order of their sequences. */
export async function pageOfMessages(
  tx: ReadTx,
  scope: TraceScope,
  traceId: string,
  page: PageRequest<number>,
): Promise<readonly TraceMessage[]> {
  await requireTrace(tx, scope, traceId);
  const limit = pageLimit(page, LIMITS.traceMessages);
  return (await tx.all(sql.PAGE_OF_MESSAGES, [traceId, pageAfter(page), limit])).map(messageOf);
}

/** Events in the order of their numbers; a gap is `TRACE_CORRUPT`. */
export async function pageOfEvents(
  tx: ReadTx,
  scope: TraceScope,
  traceId: string,
  page: PageRequest<number>,
): Promise<readonly TraceEvent[]> {
  await requireTrace(tx, scope, traceId);
  const after = pageAfter(page);
  const rows = await tx.all(sql.PAGE_OF_EVENTS, [traceId, after, pageLimit(page)]);
  const events = rows.map(eventOf);
  if (events.some((event, i) => event.eventId !== after + i + 1)) throw corrupt('events are missing');
  return events;
}

export async function findGoals(tx: ReadTx, scope: TraceScope, traceId: string): Promise<GoalTree | null> {
  await requireTrace(tx, scope, traceId);
  const row = await tx.get<{ tree: string }>(sql.GOALS, [traceId]);
  return row === undefined ? null : readGoals(row.tree);
}

export async function putGoals(
  tx: Tx,
  scope: TraceScope,
  traceId: string,
  tree: GoalTree,
  clock: Clock,
): Promise<void> {
  const checked = checkedGoals(tree);
  await requireTrace(tx, scope, traceId);
  await tx.run(sql.PUT_GOALS, [traceId, canonicalJson(checked), clock.nowMs()]);
}

/** Keeps bytes beside a message. Throws as `TraceStore.writeMessageAttachment`. */
export async function insertAttachment(
  tx: Tx,
  scope: TraceScope,
  of: { readonly traceId: string; readonly messageId: string },
  input: AttachmentInput,
  clock: Clock,
): Promise<Attachment> {
  const place = placeOfMessage(of.messageId);
  const name = attachmentName(place?.sequence ?? 0, input.suffix);
  requireWithin('traceAttachmentBytes', input.data.byteLength);
  const { traceId } = await requireTrace(tx, scope, of.traceId);
  if (place?.traceId !== traceId || (await findMessage(tx, scope, of.messageId)) === null)
    throw fail('TRACE_NOT_FOUND', 'The trace has no such message.');
  const sha256 = sha256Hex(input.data);
  const params = [traceId, name, input.data, sha256, clock.nowMs()];
  const { changes } = await tx.run(sql.INSERT_ATTACHMENT, params);
  if (changes !== 1) throw fail('TRACE_RECORD_EXISTS', 'The message has such an attachment already.');
  return { traceId, name, bytes: input.data.byteLength, sha256, path: null };
}

export async function findAttachment(
  tx: ReadTx,
  scope: TraceScope,
  traceId: string,
  name: string,
): Promise<Uint8Array | null> {
  checkAttachmentName(name);
  await requireTrace(tx, scope, traceId);
  const row = await tx.get<{ bytes: Uint8Array; sha256: string }>(sql.ATTACHMENT, [traceId, name]);
  if (row === undefined) return null;
  if (!isSha256Hex(row.sha256) || sha256Hex(row.bytes) !== row.sha256) throw corrupt('an attachment was changed');
  return row.bytes;
}

/** Counts again what is stored and puts the counters right. */
export async function recountTrace(tx: Tx, scope: TraceScope, traceId: string, clock: Clock): Promise<IntegrityReport> {
  await requireTrace(tx, scope, traceId);
  const row = await tx.get<{ messages: number; last_sequence: number; tokens: number; last_event_id: number }>(
    sql.COUNTED,
    [traceId, traceId],
  );
  if (row === undefined) throw corrupt('it cannot be counted');
  const { messages, last_sequence, last_event_id } = row;
  const counters = { totalMessages: messages, lastSequence: last_sequence, lastEventId: last_event_id };
  await changeTrace(tx, scope, traceId, { ...counters, totalPromptTokens: row.tokens }, clock);
  return { messages, last_sequence, last_event_id };
}
