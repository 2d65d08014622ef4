import {
  HoldfastError,
  isJsonObject,
  JSON_PROFILES,
  JsonNumber,
  type JsonObject,
  type JsonProfile,
  type JsonValue,
  readStrictJson,
} from '../core/index.ts';
import { DocumentSplitter } from './document-splitter.ts';
import { isCount, objectsOf } from './documents.ts';
import { LedgerNames } from './ledger-names.ts';

const GROUPS = 'groups';
const WHOLE: JsonProfile = JSON_PROFILES.packages;
/** A group stands two levels down. */
const ITEM: JsonProfile = { ...WHOLE, depth: WHOLE.depth - 2 };
const MEMBER: JsonProfile = { ...WHOLE, depth: WHOLE.depth - 1 };

type Chunks = AsyncIterable<Buffer>;

/**
 * The ledger of a package without its bulk. Of each action group only what says who it is, where it stands and what it
 * refers to is kept: a ledger of 64 MB then takes as much memory as its names do. Undefined for what is not one strict
 * JSON object; `see` is given every group whole, as it passes.
 */
export async function readLedger(content: Chunks, see: (group: JsonValue) => void): Promise<JsonObject | undefined> {
  const names = new LedgerNames();
  const groups: JsonValue[] = [];
  const members = new Map<string, JsonValue>();
  const splitter = new DocumentSplitter(GROUPS);
  try {
    for await (const { key, isItem, value } of piecesOf(content, splitter)) {
      if (isItem) {
        see(value);
        groups.push(outlineOf(value, names));
        if (groups.length > WHOLE.items) return undefined;
      } else if (members.has(key)) return undefined;
      else members.set(key, value);
    }
  } catch (error) {
    if (error instanceof HoldfastError && error.code.startsWith('JSON_')) return undefined;
    throw error;
  }
  // Twice the same key, or a list whose key is spelled so that it was not taken apart.
  if (splitter.lists > 1 || (members.has(GROUPS) && (splitter.lists > 0 || Array.isArray(members.get(GROUPS)))))
    return undefined;
  if (splitter.lists === 1) members.set(GROUPS, groups);
  const document: JsonObject = Object.fromEntries(members);
  NAMES.set(document, names);
  return document;
}

const NAMES = new WeakMap<JsonObject, LedgerNames>();

/** The names in a ledger that `readLedger` gave; none in anything else. */
export const namesOfLedger = (document: JsonObject | undefined): LedgerNames =>
  (document && NAMES.get(document)) ?? new LedgerNames();

/** The action groups of a ledger, whole, one after the other. The document has been read before. */
export async function* ledgerGroups(content: Chunks): AsyncGenerator<JsonObject> {
  for await (const { isItem, value } of piecesOf(content, new DocumentSplitter(GROUPS)))
    if (isItem && isJsonObject(value)) yield value;
}

interface ReadPiece {
  readonly key: string;
  readonly isItem: boolean;
  readonly value: JsonValue;
}

async function* piecesOf(content: Chunks, splitter: DocumentSplitter): AsyncGenerator<ReadPiece> {
  for await (const chunk of content)
    for (const { key, isItem, value } of splitter.push(chunk))
      yield {
        key: isItem ? GROUPS : wordOf(readStrictJson(key, WHOLE)),
        isItem,
        value: readStrictJson(value, isItem ? ITEM : MEMBER),
      };
  splitter.end();
}

/** The splitter lets nothing but a text be a key. */
const wordOf = (key: JsonValue): string => (typeof key === 'string' ? key : '');

const GROUP_FIELDS = ['group_id', 'branch_id', 'turn_id', 'ordinal'] as const;

/**
 * What stays of a group; what is no group stays as it is, to be refused. Of its events: how many they are
 * (`event_count`, missing where there is no list of objects), whether each has a sequence of its own (`in_sequence`) and
 * which groups compactions cover (`covers`). Their names are noted.
 */
function outlineOf(group: JsonValue, names: LedgerNames): JsonValue {
  if (!isJsonObject(group)) return null;
  const { events, assistant_message: message } = group;
  const calls = isJsonObject(message) ? message['tool_calls'] : undefined;
  for (const call of objectsOf(calls)) names.noteCall(call);
  const all = objectsOf(events);
  for (const event of all) names.noteEvent(event);
  const isList = Array.isArray(events) && all.length === events.length;
  return {
    ...only(group, GROUP_FIELDS),
    ...(isList ? { event_count: all.length, in_sequence: areInSequence(all), covers: coveredBy(all) } : {}),
  };
}

function areInSequence(events: readonly JsonObject[]): boolean {
  const sequences = new Set(events.map(({ sequence }) => sequence));
  return sequences.size === events.length && events.every(({ sequence }) => isCount(sequence));
}

function coveredBy(events: readonly JsonObject[]): JsonValue[] {
  return events.flatMap(({ type, result }) => {
    const covered = type === 'compaction' && isJsonObject(result) ? result['covered_through_group_id'] : undefined;
    return covered === undefined ? [] : [own(covered)];
  });
}

/** The fields that are there. */
function only(record: JsonObject, fields: readonly string[]): JsonObject {
  const kept: JsonObject = {};
  for (const field of fields) {
    const value = record[field];
    if (value !== undefined) kept[field] = own(value);
  }
  return kept;
}

/** A text cut from a larger one would keep all of that in memory; anything but a text or number is wrong here. */
function own(value: JsonValue): JsonValue {
  if (typeof value === 'string') return Buffer.from(value).toString();
  return typeof value === 'object' && value !== null && !(value instanceof JsonNumber) ? {} : value;
}
