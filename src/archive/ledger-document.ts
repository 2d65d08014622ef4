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
  const groups: JsonValue[] = [];
  const members = new Map<string, JsonValue>();
  const splitter = new DocumentSplitter(GROUPS);
  try {
    for await (const { key, isItem, value } of piecesOf(content, splitter)) {
      if (isItem) {
        see(value);
        groups.push(outlineOf(value));
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
  return Object.fromEntries(members);
}

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
const EVENT_FIELDS = ['event_id', 'sequence', 'type', 'action_id', 'tool_call_id', 'wire_id'] as const;
const CALL_FIELDS = ['id', 'wire_id'] as const;

/** What stays of a group; what is no group stays as it is, to be refused. */
function outlineOf(group: JsonValue): JsonValue {
  if (!isJsonObject(group)) return null;
  const { events, assistant_message: message } = group;
  const calls = isJsonObject(message) ? message['tool_calls'] : undefined;
  return {
    ...only(group, GROUP_FIELDS),
    ...(events === undefined ? {} : { events: outlineOfList(events, eventOutline) }),
    ...(Array.isArray(calls)
      ? { assistant_message: { tool_calls: outlineOfList(calls, (call) => only(call, CALL_FIELDS)) } }
      : {}),
  };
}

function outlineOfList(list: JsonValue, outline: (item: JsonObject) => JsonObject): JsonValue {
  return Array.isArray(list) ? list.map((item) => (isJsonObject(item) ? outline(item) : null)) : null;
}

function eventOutline(event: JsonObject): JsonObject {
  const { result } = event;
  const covered = isJsonObject(result) ? result['covered_through_group_id'] : undefined;
  const refers = event['type'] === 'compaction' && covered !== undefined;
  return {
    ...only(event, EVENT_FIELDS),
    ...(refers ? { result: { covered_through_group_id: own(covered) } } : {}),
  };
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

const WORDS = new Map(['proposed', 'permission', 'started', 'result', 'compaction'].map((word) => [word, word]));

/** A text cut from a larger one would keep all of that in memory; anything but a text or number is wrong here. */
function own(value: JsonValue): JsonValue {
  if (typeof value === 'string') return WORDS.get(value) ?? Buffer.from(value).toString();
  return typeof value === 'object' && value !== null && !(value instanceof JsonNumber) ? {} : value;
}
