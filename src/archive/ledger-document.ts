import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import { isCount, objectsOf } from './documents.ts';
import { LedgerNames } from './ledger-names.ts';
import { type LargeItem, listPieces, only, own, readListed } from './listed-document.ts';

const GROUPS = 'groups';
/** A group from about this size on is taken apart itself: its events pass one by one. */
const LARGE_GROUP = { list: 'events', from: 1024 * 1024 } as const;

type Chunks = AsyncIterable<Buffer>;

/**
 * The ledger of a package without its bulk. Of each action group only what says who it is, where it stands and what it
 * refers to is kept; of a large one, whose events are in order, all but its events. Undefined for what is not one strict
 * JSON object; `see` is given every group whole as it passes, and of large ones every member and event by itself.
 */
export async function readLedger(content: Chunks, see: (seen: JsonValue) => void): Promise<JsonObject | undefined> {
  const names = new LedgerNames();
  const heads = new Map<number, JsonObject>();
  let number = -1;
  const document = await readListed(content, GROUPS, {
    whole: (group) => {
      number += 1;
      see(group);
      return outlineOf(group, names);
    },
    large: {
      ...LARGE_GROUP,
      begin: () => {
        number += 1;
        return new LargeGroup(names, see, (head) => heads.set(number, head));
      },
    },
  });
  if (document) NOTED.set(document, { names, heads });
  return document;
}

interface Noted {
  readonly names: LedgerNames;
  /** By the number of the group: what a large group says beside its events. */
  readonly heads: ReadonlyMap<number, JsonObject>;
}

const NOTED = new WeakMap<JsonObject, Noted>();

/** The names in a ledger that `readLedger` gave; none in anything else. */
export const namesOfLedger = (document: JsonObject | undefined): LedgerNames =>
  (document && NOTED.get(document)?.names) ?? new LedgerNames();

/** A group with its events, or, where a group is large, its events after it, some at a time. */
export interface LedgerPart {
  /** Null: the events are of the group before. */
  readonly group: JsonObject | null;
  readonly events: readonly JsonObject[];
}

/** How many events of a large group are in memory at a time. */
const EVENTS_AT_A_TIME = 100;

/**
 * The action groups of a ledger, one after the other, each with its events: those of a large group a few at a time, in
 * their order. `document` is what `readLedger` gave of this very content.
 */
export async function* ledgerParts(content: Chunks, document: JsonObject | undefined): AsyncGenerator<LedgerPart> {
  const heads = (document && NOTED.get(document)?.heads) ?? new Map<number, JsonObject>();
  let number = 0;
  let isBegun = false;
  let members = new Map<string, JsonValue>();
  let lines: JsonValue[] = [];
  for await (const piece of listPieces(content, GROUPS, LARGE_GROUP)) {
    const head = heads.get(number);
    if (piece.place !== 'item' && head && !isBegun) {
      isBegun = true;
      yield { group: head, events: [] };
    }
    if (piece.place === 'field') {
      if (!head) members.set(piece.key, piece.value);
    } else if (piece.place === 'line') {
      if (lines.push(piece.value) < EVENTS_AT_A_TIME || !head) continue;
      yield { group: null, events: objectsOf(lines) };
      lines = [];
    } else {
      if (piece.place === 'item') yield* partOf(piece.value);
      else if (head) yield { group: null, events: objectsOf(lines) };
      else yield* partOf(Object.fromEntries(piece.hasList ? members.set(LARGE_GROUP.list, lines) : members));
      number += 1;
      [isBegun, members, lines] = [false, new Map(), []];
    }
  }
}

function* partOf(group: JsonValue): Generator<LedgerPart> {
  if (isJsonObject(group)) yield { group, events: objectsOf(group['events']) };
}

const GROUP_FIELDS = ['group_id', 'branch_id', 'turn_id', 'ordinal'] as const;

/**
 * What stays of a group; what is no group stays as it is, to be refused. Of its events: how many they are
 * (`event_count`, missing where there is no list of objects), whether they are numbered from 0 on (`in_sequence`) and
 * which groups compactions cover (`covers`). Their names are noted.
 */
function outlineOf(group: JsonValue, names: LedgerNames): JsonValue {
  if (!isJsonObject(group)) return null;
  const { events, assistant_message: message } = group;
  noteCalls(message, names);
  const told = new Events(names);
  for (const event of Array.isArray(events) ? events : []) told.take(event);
  return { ...only(group, GROUP_FIELDS), ...(Array.isArray(events) ? told.outline() : {}) };
}

function noteCalls(message: JsonValue | undefined, names: LedgerNames): void {
  const calls = isJsonObject(message) ? message['tool_calls'] : undefined;
  for (const call of objectsOf(calls)) names.noteCall(call);
}

/** The events of one group, as they pass. */
class Events {
  readonly #names: LedgerNames;
  readonly #sequences = new Set<JsonValue | undefined>();
  readonly #covers: JsonValue[] = [];
  #count = 0;
  #areObjects = true;
  #areCounts = true;
  #last = -1;
  #highest = -1;
  /** Whether each has a higher sequence than the one before. */
  areInOrder = true;

  constructor(names: LedgerNames) {
    this.#names = names;
  }

  take(event: JsonValue): void {
    if (!isJsonObject(event)) {
      this.#areObjects = false;
      return;
    }
    this.#names.noteEvent(event);
    this.#count += 1;
    const { sequence, type, result } = event;
    this.#sequences.add(sequence);
    this.#areCounts &&= isCount(sequence);
    this.areInOrder &&= isCount(sequence) && sequence > this.#last;
    if (isCount(sequence)) {
      this.#last = sequence;
      this.#highest = Math.max(this.#highest, sequence);
    }
    const covered = type === 'compaction' && isJsonObject(result) ? result['covered_through_group_id'] : undefined;
    if (covered !== undefined) this.#covers.push(own(covered));
  }

  outline(): JsonObject {
    if (!this.#areObjects) return {};
    const areTheirOwn = this.#areCounts && this.#sequences.size === this.#count;
    const inSequence = areTheirOwn && this.#highest === this.#count - 1;
    return { event_count: this.#count, in_sequence: inSequence, covers: this.#covers };
  }
}

/** A large group as it passes. */
class LargeGroup implements LargeItem {
  readonly #names: LedgerNames;
  readonly #see: (seen: JsonValue) => void;
  readonly #keep: (head: JsonObject) => void;
  readonly #members = new Map<string, JsonValue>();
  readonly #events: Events;

  /** `keep` is given what it says beside its events, where these are in order. */
  constructor(names: LedgerNames, see: (seen: JsonValue) => void, keep: (head: JsonObject) => void) {
    this.#names = names;
    this.#see = see;
    this.#keep = keep;
    this.#events = new Events(names);
  }

  field(key: string, value: JsonValue): void {
    this.#see(Object.fromEntries([[key, value]]));
    this.#members.set(key, value);
  }

  line(value: JsonValue): void {
    this.#see(value);
    this.#events.take(value);
  }

  end(hasList: boolean): JsonValue {
    const head = Object.fromEntries(this.#members);
    if (!hasList) return outlineOf(head, this.#names);
    noteCalls(head['assistant_message'], this.#names);
    const outline = this.#events.outline();
    if (this.#events.areInOrder && outline['event_count'] !== undefined) this.#keep(head);
    return { ...only(head, GROUP_FIELDS), ...outline };
  }
}
