import {
  fail,
  isJsonObject,
  type JsonNumber,
  type JsonObject,
  type JsonValue,
  screenInjection,
} from '../../core/index.ts';
import { type LedgerPart, sessionMessages } from '../../archive/index.ts';
import { isReplyState } from '../../runs/index.ts';
import type { ActionEvent, ActionGroup, ExecutionAttempt, Message } from '../../sessions/index.ts';
import { withoutProof } from './delivery-text.ts';
import { Fields, fieldsOf, wrongField } from './fields.ts';
import { type Identities, type IdentityKind, mapMembers } from './identities.ts';
import type { PlannedGroup } from './plan-model.ts';
import type { PackageReader } from './reader.ts';

/** What stands in an imported message until the delivery that it tells of is bound. */
export const PENDING_TEXT = 'Completion delivery is pending package verification.';
export const PENDING_FLAG = 'completion_delivery_import_pending';

/** Counts the texts that were found to instruct. */
export class InjectionScreen {
  flags = 0;

  /** The text, with a warning in front where it tries to instruct. */
  text(text: string): { readonly text: string; readonly flagged: boolean } {
    const screened = screenInjection(text);
    if (screened.flagged) this.flags += 1;
    return screened;
  }
}

/** The messages in their order, numbered anew from 1. Those of deliveries are placeholders. */
export class MessagePlan {
  readonly #reader: PackageReader;
  readonly #ids: Identities;
  readonly #delivered: ReadonlySet<string>;
  /** The place of each message of the document; null where they stand in their order. */
  readonly #places: Uint32Array | null;

  constructor(reader: PackageReader, ids: Identities, delivered: ReadonlySet<string>) {
    this.#reader = reader;
    this.#ids = ids;
    this.#delivered = delivered;
    const rows = fieldsOf(reader.records('session.json', 'messages'), 'a message');
    this.#places = placesOf(rows.map((row) => row.count('seq') ?? 0));
  }

  /**
   * The messages as they will be written, read from the package one after the other: they are never in memory all,
   * unless they stand in another order in their document. The same at every call.
   */
  async *messages(screen: InjectionScreen): AsyncGenerator<Message> {
    const records = sessionMessages(this.#reader.pkg.passing('session.json'));
    let at = 0;
    const others: Message[] = [];
    for await (const record of records) {
      const message = this.#message(record, (this.#places?.[at] ?? at) + 1, screen);
      at += 1;
      if (this.#places === null) yield message;
      else others[message.seq - 1] = message;
    }
    yield* others;
  }

  /** Refuses what a message cannot be written from, before anything is written, and screens its texts. */
  async check(screen: InjectionScreen): Promise<void> {
    for await (const _message of this.messages(screen));
  }

  #message(record: JsonObject, seq: number, screen: InjectionScreen): Message {
    const row = new Fields(record, 'a message');
    const old = row.needText('message_id');
    const branch = row.filled('branch_id');
    const content = row.needText('content');
    const isDelivered = this.#delivered.has(old);
    const shown = isDelivered ? { text: PENDING_TEXT, flagged: false } : screen.text(content);
    return {
      messageId: this.#ids.take('message', old),
      rootFrameId: this.#ids.root,
      branchId: branch === null ? this.#ids.root : this.#ids.need('branch', branch, 'a message'),
      seq,
      role: row.text('role') === 'user' ? 'user' : 'assistant',
      content: shown.text,
      metadata: isDelivered ? { [PENDING_FLAG]: true } : metadataOf(row, shown.flagged),
      groupId: null,
      eventId: null,
      createdAt: row.count('created_at') ?? 0,
    };
  }
}

/** Where each stands once they are sorted, equals in the order in which they came; null where they are sorted. */
function placesOf(numbers: readonly number[]): Uint32Array | null {
  if (numbers.every((number, i) => i === 0 || (numbers[i - 1] as number) <= number)) return null;
  const order = [...numbers.keys()].sort((a, b) => (numbers[a] as number) - (numbers[b] as number));
  const places = new Uint32Array(numbers.length);
  for (const [place, from] of order.entries()) places[from] = place;
  return places;
}

/** A message's metadata without what only the source could prove; a claimed delivery never comes through here. */
export function metadataOf(row: Fields, flagged: boolean): JsonValue {
  const source = row.object('metadata');
  if (source === null && !flagged) return null;
  const { [PENDING_FLAG]: _pending, completion_delivery: _envelope, ...kept } = source ?? {};
  return { ...withoutProof(kept), ...(flagged ? { injection_flagged: true } : {}) };
}

/** Kinds whose names a provider's own state may repeat. */
const WIRE_KINDS: readonly IdentityKind[] = ['wire', 'call', 'action', 'event', 'group', 'turn', 'message'];

/** The ledger: branch by branch, parents first, so that what came later on a branch stands later in the session. */
export class LedgerPlan {
  readonly #reader: PackageReader;
  readonly #ids: Identities;
  /** How many lines of the ledger stand before each group, in the order in which groups are written. */
  readonly #before = new Map<string, number>();
  #isInOrder = true;
  /** For each branch: ordinals, and the position of the last line of the group. */
  readonly #ends = new Map<string, { readonly ordinal: number; readonly position: number }[]>();

  constructor(reader: PackageReader, ids: Identities) {
    this.#reader = reader;
    this.#ids = ids;
  }

  /** Names everything and gives every group its place. `branches` are old names, parents first. */
  lay(branches: readonly string[]): void {
    const rows = fieldsOf(this.#reader.records('ledger.json', 'groups'), 'an action group');
    this.#allocate(rows);
    const byBranch = Map.groupBy(rows, (row) => row.text('branch_id'));
    let position = 0;
    for (const branch of branches) {
      const ends: { ordinal: number; position: number }[] = [];
      const own = byBranch.get(branch) ?? [];
      for (const row of own.toSorted((a, b) => a.needCount('ordinal') - b.needCount('ordinal'))) {
        this.#before.set(row.needText('group_id'), position);
        position += 1 + row.needCount('event_count');
        ends.push({ ordinal: row.needCount('ordinal'), position });
      }
      this.#ends.set(branch, ends);
    }
    const laid = this.#before.keys();
    this.#isInOrder = rows.every((row) => row.text('group_id') === laid.next().value);
  }

  /**
   * The groups as they will be written, in the order of the ledger, read from the package one after the other, and large
   * ones in parts: neither a ledger nor a group is ever in memory whole, unless it stands in another order in its
   * document. The same at every call.
   */
  async *groups(screen: InjectionScreen): AsyncGenerator<PlannedGroup> {
    const parts = this.#parts(screen);
    if (this.#isInOrder) yield* parts;
    else yield* await sorted(parts);
  }

  async *#parts(screen: InjectionScreen): AsyncGenerator<PlannedGroup> {
    let place: EventPlace | null = null;
    for await (const part of this.#reader.ledgerParts()) {
      const group = part.group === null ? null : this.#group(part.group, screen);
      if (group !== null) place = { groupId: group.groupId, position: group.position + 1, screen };
      else if (place === null) continue;
      const events = this.#events(part, place as EventPlace);
      place = { ...(place as EventPlace), position: (place as EventPlace).position + events.length };
      yield { group, events };
    }
  }

  #events({ group, events }: LedgerPart, place: EventPlace): ActionEvent[] {
    // What is no list of objects was refused before.
    const rows = fieldsOf(
      group === null ? events : new Fields(group, 'an action group').objects('events'),
      'an action event',
    );
    return rows
      .toSorted((a, b) => a.needCount('sequence') - b.needCount('sequence'))
      .map((event, i) => this.#event(event, { ...place, position: place.position + i }));
  }

  /** Refuses what a group cannot be written from, before anything is written, and screens its texts. */
  async check(screen: InjectionScreen): Promise<void> {
    for await (const _group of this.groups(screen));
  }

  /** Names of groups, turns, events and calls are known before any text that may repeat them is looked at. */
  #allocate(rows: readonly Fields[]): void {
    for (const row of rows) {
      this.#ids.take('group', row.needText('group_id'));
      const turn = row.filled('turn_id');
      if (turn !== null) this.#ids.take('turn', turn);
    }
    const { tables, wrong } = this.#reader.ledgerNames;
    if (wrong !== null) throw wrongField(wrong.field, wrong.noun);
    for (const kind of ['event', 'action', 'call', 'wire'] as const) this.#ids.adopt(kind, tables[kind]);
    this.#alike(tables.call);
  }

  /** One word may name an action, a call and its wire id at the source: it stays one word. */
  #alike(calls: Iterable<string>): void {
    for (const old of calls)
      for (const kind of ['action', 'wire'] as const)
        if (this.#ids.has(kind, old)) this.#ids.bind(kind, old, this.#ids.take('call', old));
  }

  #group(record: JsonObject, screen: InjectionScreen): ActionGroup {
    const row = new Fields(record, 'an action group');
    const before = this.#before.get(row.needText('group_id')) ?? 0;
    const ids = this.#ids;
    const content = row.text('assistant_content');
    const groupId = ids.take('group', row.needText('group_id'));
    return {
      groupId,
      rootFrameId: ids.root,
      branchId: ids.need('branch', row.value('branch_id'), 'an action group'),
      turnId: ids.take('turn', row.filled('turn_id') ?? `turn of ${row.needText('group_id')}`),
      ordinal: row.needCount('ordinal'),
      position: before + 1,
      kind: row.filled('kind') ?? 'unknown',
      provider: row.text('provider'),
      model: row.text('model'),
      wireState: this.#wireState(row.value('wire_state')),
      assistantContent: content === null ? null : screen.text(content).text,
      assistantMessage: this.#message(row.object('assistant_message'), screen),
      usage: row.object('usage'),
      costUsd: costOf(row.value('cost_usd')),
      sealedAt: null,
      createdAt: row.count('created_at') ?? 0,
    };
  }

  /** What a model here is given back of its own replies never comes from elsewhere. */
  #wireState(state: JsonValue): JsonValue {
    return isReplyState(state) ? null : this.#ids.rename(state, WIRE_KINDS);
  }

  #message(message: JsonObject | null, screen: InjectionScreen): JsonValue {
    if (message === null) return null;
    const renamed = this.#ids.rename(message, WIRE_KINDS) as JsonObject;
    const { content } = renamed;
    return typeof content === 'string' ? { ...renamed, content: screen.text(content).text } : renamed;
  }

  #event(row: Fields, { groupId, position, screen }: EventPlace): ActionEvent {
    const ids = this.#ids;
    const named = (kind: IdentityKind, field: string): string | null => {
      const old = row.filled(field);
      return old === null ? null : ids.take(kind, old);
    };
    const type = row.needText('type');
    return {
      eventId: named('event', 'event_id') ?? ids.take('event', `${groupId} ${row.needCount('sequence')}`),
      groupId,
      rootFrameId: ids.root,
      sequence: row.needCount('sequence'),
      position,
      type,
      actionId: named('action', 'action_id'),
      toolCallId: named('call', 'tool_call_id'),
      wireId: named('wire', 'wire_id'),
      canonicalArguments: row.value('canonical_arguments'),
      rawArguments: row.textOrJson('raw_arguments'),
      result: this.#result(type, row.value('result'), screen),
      sideEffectClass: row.text('side_effect_class'),
      resourceKeys: row.texts('resource_keys'),
      createdAt: row.count('created_at') ?? 0,
    };
  }

  #result(type: string, result: JsonValue, screen: InjectionScreen): JsonValue {
    if (!isJsonObject(result)) return result;
    if (type === 'compaction') return this.#compaction(result, screen);
    return mapMembers(result, (value, key) => {
      if (key === 'tool_call_id') return this.#ids.find('call', value) ?? value;
      return key === 'wire_id' ? (this.#ids.find('wire', value) ?? value) : value;
    });
  }

  /** A compaction names a group of this package; its archive stays where it was made; its note is a stranger's. */
  #compaction(result: JsonObject, screen: InjectionScreen): JsonObject {
    const covered = result['covered_through_group_id'] ?? null;
    const note = result['handoff'];
    return {
      ...result,
      covered_through_group_id: this.#ids.needIfPresent('group', covered, 'a compaction'),
      archive_id: null,
      ...(Object.hasOwn(result, 'kept_group_ids')
        ? { kept_group_ids: this.#ids.rename(result['kept_group_ids'] ?? null, ['group']) }
        : {}),
      ...(typeof note === 'string' ? { handoff: screen.text(note).text } : {}),
    };
  }

  /** A checkpoint's action cursor, which counts groups of its branch, as a position of the session's ledger. */
  positionAt(branch: string, ordinal: number | null): number | null {
    if (ordinal === null) return null;
    const ends = this.#ends.get(branch) ?? [];
    return ends[notAbove(ends, (end) => end.ordinal, ordinal) - 1]?.position ?? null;
  }
}

/** The parts by the places of their groups, each group's own in their order. */
async function sorted(parts: AsyncIterable<PlannedGroup>): Promise<PlannedGroup[]> {
  const groups: { readonly position: number; readonly parts: PlannedGroup[] }[] = [];
  for await (const part of parts)
    if (part.group === null) groups.at(-1)?.parts.push(part);
    else groups.push({ position: part.group.position, parts: [part] });
  return groups.toSorted((a, b) => a.position - b.position).flatMap((group) => group.parts);
}

interface EventPlace {
  readonly groupId: string;
  readonly position: number;
  readonly screen: InjectionScreen;
}

function costOf(value: JsonValue): number | null {
  if (value === null) return null;
  const cost = typeof value === 'object' ? (value as JsonNumber).value : value;
  if (typeof cost === 'number' && Number.isFinite(cost) && cost >= 0) return cost;
  throw fail('PACKAGE_DOCUMENT_INVALID', 'The field cost_usd of an action group is missing or of a wrong type.');
}

export function planAttempts(reader: PackageReader, ids: Identities, revisions: CellRevisions): ExecutionAttempt[] {
  const rows = fieldsOf(reader.records('ledger.json', 'execution_attempts'), 'an execution attempt');
  return rows.map((row) => {
    const cell = row.needText('producing_cell_id');
    const from = 'an execution attempt';
    const finishedAt = row.count('finished_at');
    return {
      attemptId: ids.take('attempt', row.needText('attempt_id')),
      groupId: ids.need('group', row.value('group_id'), from),
      producingCellId: ids.need('cell', cell, from),
      attemptOrdinal: row.needCount('attempt_ordinal'),
      stateRevision: revisions.of(cell),
      generationId: ids.needIfPresent('generation', row.value('generation_id'), from),
      ownerInstanceId: null,
      allocatedAt: row.needCount('allocated_at'),
      startedAt: row.count('started_at'),
      responseAt: row.count('response_at'),
      captureAt: row.count('capture_at'),
      finishedAt: finishedAt ?? (row.filled('terminal_state') === null ? null : row.needCount('allocated_at')),
      terminalState: row.filled('terminal_state') ?? (finishedAt === null ? null : 'unknown'),
      error: row.textOrJson('error'),
      replayedFromCellId: ids.find('cell', row.value('replayed_from_cell_id')),
    };
  });
}

/** Cells are numbered anew from 1 in the order of their revisions at the source. */
export class CellRevisions {
  readonly #byCell = new Map<string, number>();
  readonly #sources: readonly number[];

  constructor(cells: readonly Fields[]) {
    const revision = (cell: Fields): number => cell.count('state_revision') ?? cell.needCount('cell_index');
    const ordered = cells.toSorted((a, b) => revision(a) - revision(b));
    this.#sources = ordered.map(revision);
    for (const [index, cell] of ordered.entries()) this.#byCell.set(cell.needText('producing_cell_id'), index + 1);
  }

  of(cell: string): number {
    return this.#byCell.get(cell) ?? 1;
  }

  /** The highest new revision whose source is not above the cursor; 0 for none. */
  at(cursor: number | null): number | null {
    return cursor === null ? null : notAbove(this.#sources, (source) => source, cursor);
  }
}

/** How many of a sorted list are not above a value. */
function notAbove<T>(sorted: readonly T[], of: (item: T) => number, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(sorted[middle] as T) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
