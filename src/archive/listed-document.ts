import {
  HoldfastError,
  JSON_PROFILES,
  JsonNumber,
  type JsonObject,
  type JsonProfile,
  type JsonValue,
  readStrictJson,
} from '../core/index.ts';
import { DocumentSplitter } from './document-splitter.ts';

const WHOLE: JsonProfile = JSON_PROFILES.packages;
/** An item of a list stands two levels down. */
const ITEM: JsonProfile = { ...WHOLE, depth: WHOLE.depth - 2 };
const MEMBER: JsonProfile = { ...WHOLE, depth: WHOLE.depth - 1 };

type Chunks = AsyncIterable<Buffer>;

/**
 * A document of which one list is its bulk, without that bulk: of each item there stays what `outline` keeps of it, so
 * that a document of 64 MB takes as much memory as its outlines do. Undefined for what is not one strict JSON object.
 */
export async function readListed(
  content: Chunks,
  list: string,
  outline: (item: JsonValue) => JsonValue,
): Promise<JsonObject | undefined> {
  const items: JsonValue[] = [];
  const members = new Map<string, JsonValue>();
  const splitter = new DocumentSplitter(list);
  try {
    for await (const { key, isItem, value } of piecesOf(content, splitter)) {
      if (isItem) {
        items.push(outline(value));
        if (items.length > WHOLE.items) return undefined;
      } else if (members.has(key)) return undefined;
      else members.set(key, value);
    }
  } catch (error) {
    if (error instanceof HoldfastError && error.code.startsWith('JSON_')) return undefined;
    throw error;
  }
  // Twice the same key, or a list whose key is spelled so that it was not taken apart.
  if (splitter.lists > 1 || (members.has(list) && (splitter.lists > 0 || Array.isArray(members.get(list)))))
    return undefined;
  if (splitter.lists === 1) members.set(list, items);
  return Object.fromEntries(members);
}

/** The items of the list, whole, one after the other. The document has been read before. */
export async function* listItems(content: Chunks, list: string): AsyncGenerator<JsonValue> {
  for await (const { isItem, value } of piecesOf(content, new DocumentSplitter(list))) if (isItem) yield value;
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
        key: isItem ? '' : wordOf(readStrictJson(key, WHOLE)),
        isItem,
        value: readStrictJson(value, isItem ? ITEM : MEMBER),
      };
  splitter.end();
}

/** The splitter lets nothing but a text be a key. */
const wordOf = (key: JsonValue): string => (typeof key === 'string' ? key : '');

/** The fields that are there. */
export function only(record: JsonObject, fields: readonly string[]): JsonObject {
  const kept: JsonObject = {};
  for (const field of fields) {
    const value = record[field];
    if (value !== undefined) kept[field] = own(value);
  }
  return kept;
}

/** A text cut from a larger one would keep all of that in memory; anything but a text or number is wrong here. */
export function own(value: JsonValue): JsonValue {
  if (typeof value === 'string') return Buffer.from(value).toString();
  return typeof value === 'object' && value !== null && !(value instanceof JsonNumber) ? {} : value;
}
