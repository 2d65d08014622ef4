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
import { DocumentSplitter, type LargeItems } from './document-splitter.ts';

const WHOLE: JsonProfile = JSON_PROFILES.packages;
const inDepth = (levels: number): JsonProfile => ({ ...WHOLE, depth: WHOLE.depth - levels });
/** An item of a list stands two levels down; a member of a large item three, and an item of the list in it four. */
const PROFILES = { member: inDepth(1), item: inDepth(2), field: inDepth(3), line: inDepth(4) } as const;

type Chunks = AsyncIterable<Buffer>;

/** What becomes of the items of a list, in their order. */
export interface Outlines {
  /** What is kept of an item. */
  readonly whole: (item: JsonValue) => JsonValue;
  /** Who takes the large items, which are never in memory whole. */
  readonly large?: LargeItems & { readonly begin: () => LargeItem };
}

/** One large item as it passes: its members, and what is in its list, line by line. */
export interface LargeItem {
  field(key: string, value: JsonValue): void;
  line(value: JsonValue): void;
  /** What is kept of it; `hasList`: the list was there, taken apart or not. */
  end(hasList: boolean): JsonValue;
}

/**
 * A document of which one list is its bulk, without that bulk: of each item there stays what `outlines` keeps of it, so
 * that a document of 64 MB takes as much memory as its outlines do. Undefined for what is not one strict JSON object.
 */
export async function readListed(content: Chunks, list: string, outlines: Outlines): Promise<JsonObject | undefined> {
  const { whole, large } = outlines;
  const items: JsonValue[] = [];
  const members = new Map<string, JsonValue>();
  const splitter = new DocumentSplitter(list, large);
  let strict = new StrictObject(large?.list ?? '');
  let item: LargeItem | undefined;
  try {
    for await (const { place, key, value, lists } of piecesOf(content, splitter)) {
      if (place === 'field' || place === 'line') {
        item ??= large?.begin();
        if (!strict.takes(place, key, value)) return undefined;
        if (place === 'line') item?.line(value);
        else item?.field(key, value);
      } else if (place === 'member') {
        if (members.has(key)) return undefined;
        members.set(key, value);
      } else {
        if (!strict.ends(lists)) return undefined;
        items.push(lists === null ? whole(value) : ((item ?? large?.begin())?.end(lists > 0) ?? null));
        [item, strict] = [undefined, new StrictObject(large?.list ?? '')];
        if (items.length > WHOLE.items) return undefined;
      }
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

/** Whether the parts of a large item are one object as the strict reader takes it: its keys, its length, its values. */
class StrictObject {
  readonly #list: string;
  readonly #keys = new Set<string>();
  #lines = 0;
  /** The object itself is one. */
  #values = 1;

  constructor(list: string) {
    this.#list = list;
  }

  takes(place: 'field' | 'line', key: string, value: JsonValue): boolean {
    this.#values += valuesIn(value);
    if (place === 'line') this.#lines += 1;
    else if (this.#keys.has(key)) return false;
    else this.#keys.add(key);
    return this.#lines <= WHOLE.items && this.#keys.size <= WHOLE.members && this.#values <= WHOLE.values;
  }

  ends(lists: number | null): boolean {
    if (lists === null) return true;
    return lists + Number(this.#keys.has(this.#list)) <= 1 && this.#values + lists <= WHOLE.values;
  }
}

/** Values in all, as the strict reader counts them. */
function valuesIn(value: JsonValue): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + valuesIn(one), 1);
  if (!isJsonObject(value)) return 1;
  let sum = 1;
  for (const key of Object.keys(value)) sum += valuesIn(value[key] as JsonValue);
  return sum;
}

/** What lies in a list, in its order. The document has been read before. */
export type ListedPiece =
  | { readonly place: 'item'; readonly value: JsonValue }
  | { readonly place: 'field'; readonly key: string; readonly value: JsonValue }
  | { readonly place: 'line'; readonly value: JsonValue }
  | { readonly place: 'end'; readonly hasList: boolean };

/** The items of the list, whole, and the parts of those that are large, each followed by its end. */
export async function* listPieces(content: Chunks, list: string, large: LargeItems): AsyncGenerator<ListedPiece> {
  for await (const { place, key, value, lists } of piecesOf(content, new DocumentSplitter(list, large))) {
    if (place === 'item') yield lists === null ? { place, value } : { place: 'end', hasList: lists > 0 };
    else if (place !== 'member') yield { place, key, value };
  }
}

/** The items of the list, whole, one after the other. The document has been read before. */
export async function* listItems(content: Chunks, list: string): AsyncGenerator<JsonValue> {
  for await (const { place, value } of piecesOf(content, new DocumentSplitter(list))) if (place === 'item') yield value;
}

interface ReadPiece {
  readonly place: keyof typeof PROFILES;
  readonly key: string;
  readonly value: JsonValue;
  /** Of the end of a large item: how often its list was met. Null for all else. */
  readonly lists: number | null;
}

async function* piecesOf(content: Chunks, splitter: DocumentSplitter): AsyncGenerator<ReadPiece> {
  for await (const chunk of content)
    for (const { key, isItem, value, of } of splitter.push(chunk)) {
      if (of !== undefined && value.length === 0) {
        yield { place: 'item', key: '', value: null, lists: of.lists };
        continue;
      }
      const place = of === undefined ? (isItem ? 'item' : 'member') : isItem ? 'line' : 'field';
      yield {
        place,
        key: isItem ? '' : wordOf(readStrictJson(key, WHOLE)),
        value: readStrictJson(value, PROFILES[place]),
        lists: null,
      };
    }
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
