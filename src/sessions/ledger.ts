import {
  type Clock,
  canonicalJson,
  fail,
  type Ids,
  isJsonObject,
  type JsonValue,
  requireWithin,
} from '../core/index.ts';
import { appendFeed, type SqlValue, type Tx } from '../store/index.ts';
import { checkId, checkJsonText, checkLongText, checkWord } from './bounds.ts';
import { admitAll, type SessionHooks } from './hooks.ts';
import type { ActionEventType, ActionGroupKind, Principal } from './model.ts';
import {
  eventPlace,
  firstPlace,
  groupPlace,
  isGoodIn,
  isInNewGroup,
  type LedgerPlace,
  placeAfter,
} from './ledger-place.ts';
import { INSERT_EVENT, INSERT_GROUP, INSERT_MESSAGE, NEXT_MESSAGE, SEAL_GROUP } from './queries.ts';
import { type Rendering, renderEvent, renderGroup } from './rendering.ts';
import { jsonOrNull } from './rows.ts';

/** What the functions of this room need of the world; made once, in the composition root. */
export interface SessionContext {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly hooks: readonly SessionHooks[];
}

/** How a line may come into the ledger. */
export interface LedgerEntry {
  /** Refuse unless this ticket is held and its lease has not ended. */
  readonly ticketId?: string;
  /** The importer writes history into a session that is still quarantined, without messages. */
  readonly imported?: { readonly id: string; readonly createdAt: number };
}

export interface NewGroup extends LedgerEntry {
  /** A fresh id, where the caller has to know it before; else one is made. */
  readonly groupId?: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly turnId: string;
  readonly kind: ActionGroupKind;
  readonly provider?: string;
  readonly model?: string;
  readonly wireState?: JsonValue;
  readonly assistantContent?: string;
  readonly assistantMessage?: JsonValue;
  readonly usage?: JsonValue;
  readonly costUsd?: number;
}

export interface NewEvent extends LedgerEntry {
  readonly groupId: string;
  readonly type: ActionEventType;
  readonly actionId?: string;
  readonly toolCallId?: string;
  readonly wireId?: string;
  readonly canonicalArguments?: JsonValue;
  readonly rawArguments?: string;
  readonly result?: JsonValue;
  readonly sideEffectClass?: string;
  readonly resourceKeys?: readonly string[];
  /**
   * The `next` of the line that this same transaction wrote last in this session: whether the session may be written to
   * was asked there, and is not asked again. Looked for all the same where it is not of this transaction and group, or
   * where a ticket is asked for; a place that is taken is refused by the table.
   */
  readonly at?: LedgerPlace | undefined;
  /** What the feed says of it; null where the caller writes one entry for the whole transaction itself. */
  readonly feed?: { readonly kind: string; readonly reference: string } | null;
}

/** Where a line was put. `messageSeq` is there when the line shows and its message was written with it. */
export interface Written {
  readonly id: string;
  readonly position: number;
  readonly messageSeq: number | null;
  /** Where the group's next event stands, for an event that this transaction writes before anything else: see `NewEvent`. */
  readonly next: LedgerPlace;
}

export interface WrittenGroup extends Written {
  readonly ordinal: number;
}

export interface WrittenEvent extends Written {
  readonly sequence: number;
}

/** Types that only report something that had begun. They are admitted where new authority no longer is. */
const OBSERVING: ReadonlySet<string> = new Set([
  'result',
  'observation',
  'completed',
  'failed',
  'denied',
  'timed_out',
  'cancelled',
  'permission_revoked',
]);

/** True when the event gives no new authority: an observation, or a permission resolved to anything but allow. */
export function observes(event: Pick<NewEvent, 'type' | 'result'>): boolean {
  if (event.type !== 'permission_resolved') return OBSERVING.has(event.type);
  return isJsonObject(event.result) && event.result['state'] !== 'allowed';
}

/**
 * Opens an action group at the end of its branch, and the message it shows, in the caller's transaction.
 * Refuses with BRANCH_NOT_FOUND, SESSION_QUARANTINED, SESSION_REVERTING, TICKET_LOST, INVALID_VALUE, LIMIT_REACHED, or
 * what a hook throws. Four statements and a feed entry, or two less when the group shows nothing.
 */
export async function openGroup(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  group: NewGroup,
): Promise<WrittenGroup> {
  checkGroup(group);
  const { rootFrameId, branchId, turnId, kind } = group;
  await admitAll(tx, context.hooks, { what: 'group', rootFrameId, branchId, turnId, kind });
  const now = group.imported?.createdAt ?? context.clock.nowMs();
  const id = group.imported?.id ?? group.groupId ?? context.ids.next();
  const place = await groupPlace(tx, principal, group, context.clock.nowMs());
  await tx.run(INSERT_GROUP, groupParams(group, id, now, place));
  const shown = group.imported
    ? undefined
    : renderGroup({
        kind,
        turnId,
        assistantContent: group.assistantContent ?? null,
        assistantMessage: group.assistantMessage ?? null,
      });
  const messageSeq = await show(tx, context, shown, { rootFrameId, branchId, groupId: id, eventId: null, now });
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'action_group.opened', reference: id });
  return { id, ordinal: place.number, position: place.position, messageSeq, next: firstPlace(tx, id, place) };
}

/**
 * Appends one event to a group, and the message it shows, in the caller's transaction.
 * Refuses with ACTION_GROUP_NOT_FOUND, SESSION_QUARANTINED, SESSION_REVERTING, TICKET_LOST, INVALID_VALUE,
 * LIMIT_REACHED, or what a hook throws. Two statements, one where its place is given; a result of a call that shows costs
 * one more, and a feed entry.
 */
export async function appendEvent(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  event: NewEvent,
): Promise<WrittenEvent> {
  checkEvent(event);
  const { groupId, type } = event;
  const late = observes(event);
  const actionId = event.actionId ?? null;
  const toolCallId = event.toolCallId ?? null;
  const known = knownPlace(tx, event);
  const groupIsNew = known !== undefined && isInNewGroup(known);
  await admitAll(tx, context.hooks, { what: 'event', groupId, type, actionId, toolCallId, observes: late, groupIsNew });
  const now = event.imported?.createdAt ?? context.clock.nowMs();
  const id = event.imported?.id ?? context.ids.next();
  const shown = event.imported ? undefined : renderEvent({ type, toolCallId, result: event.result ?? null });
  const place = known ?? (await placeOfEvent(tx, context, principal, event, late, shown !== undefined));
  await tx.run(INSERT_EVENT, eventParams(event, id, now, place));
  const messageSeq = await show(tx, context, shown, { ...place, groupId, eventId: id, now });
  if (event.feed !== null) {
    const entry = event.feed ?? { kind: `action_event.${type}`, reference: id };
    await appendFeed(tx, { tenantId: principal.tenant, ...entry });
  }
  return {
    id,
    sequence: place.number,
    position: place.position,
    messageSeq,
    next: placeAfter(tx, groupId, place),
  };
}

/** Where an event stands, where its caller knows it from this transaction. */
function knownPlace(tx: Tx, { at, groupId, ticketId }: NewEvent): LedgerPlace | undefined {
  return at !== undefined && ticketId === undefined && isGoodIn(tx, groupId, at) ? at : undefined;
}

function placeOfEvent(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  { groupId, ticketId, imported }: NewEvent,
  observes: boolean,
  shows: boolean,
): Promise<LedgerPlace> {
  return eventPlace(tx, principal, { groupId, ticketId, imported, observes, shows }, context.clock.nowMs());
}

function groupParams(group: NewGroup, id: string, now: number, place: LedgerPlace): SqlValue[] {
  return [
    id,
    place.rootFrameId,
    place.branchId,
    group.turnId,
    place.number,
    place.position,
    group.kind,
    group.provider ?? null,
    group.model ?? null,
    stored(group.wireState),
    group.assistantContent ?? null,
    stored(group.assistantMessage),
    stored(group.usage),
    group.costUsd ?? null,
    now,
  ];
}

function eventParams(event: NewEvent, id: string, now: number, place: LedgerPlace): SqlValue[] {
  return [
    id,
    event.groupId,
    place.rootFrameId,
    place.number,
    place.position,
    event.type,
    event.actionId ?? null,
    event.toolCallId ?? null,
    event.wireId ?? null,
    stored(event.canonicalArguments),
    event.rawArguments ?? null,
    stored(event.result),
    event.sideEffectClass ?? null,
    event.resourceKeys ? canonicalJson([...event.resourceKeys]) : null,
    now,
  ];
}

const stored = (value: JsonValue | undefined): string | null => checkJsonText(jsonOrNull(value));

function checkGroup(group: NewGroup): void {
  checkId('turn_id', group.turnId);
  checkWord('kind', group.kind);
  if (group.imported) checkId('group_id', group.imported.id);
  checkLongText('provider', group.provider);
  checkLongText('model', group.model);
  checkLongText('assistant_content', group.assistantContent);
}

function checkEvent(event: NewEvent): void {
  checkWord('type', event.type);
  if (event.imported) checkId('event_id', event.imported.id);
  const { actionId, toolCallId, wireId, sideEffectClass } = event;
  if (actionId !== undefined) checkId('action_id', actionId);
  if (toolCallId !== undefined) checkId('tool_call_id', toolCallId);
  if (wireId !== undefined) checkId('wire_id', wireId);
  if (sideEffectClass !== undefined) checkId('side_effect_class', sideEffectClass);
  checkLongText('raw_arguments', event.rawArguments);
  requireWithin('sessionResourceKeys', event.resourceKeys?.length ?? 0);
}

interface ShownAt {
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly groupId: string;
  readonly eventId: string | null;
  readonly now: number;
  /** The message's number, where it was looked for with the line's place. */
  readonly messageSeq?: number;
}

async function show(
  tx: Tx,
  context: SessionContext,
  shown: Rendering | undefined,
  at: ShownAt,
): Promise<number | null> {
  if (!shown) return null;
  const seq = at.messageSeq ?? Number((await tx.get(NEXT_MESSAGE, [at.rootFrameId]))?.['seq']);
  await tx.run(INSERT_MESSAGE, [
    context.ids.next(),
    at.rootFrameId,
    at.branchId,
    seq,
    shown.role,
    shown.content,
    stored(shown.metadata),
    at.groupId,
    at.eventId,
    at.now,
  ]);
  return seq;
}

/** Closes a group for good: after this its events are guarded by whoever sealed it. ACTION_GROUP_SEALED the second time. */
export async function sealGroup(tx: Tx, groupId: string, atMs: number): Promise<void> {
  const { changes } = await tx.run(SEAL_GROUP, [atMs, groupId]);
  if (changes !== 1) throw fail('ACTION_GROUP_SEALED', 'The action group is sealed already, or there is none.');
}
