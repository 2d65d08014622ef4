import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import { isCount, objectsOf } from './documents.ts';
import { LedgerNames } from './ledger-names.ts';
import { listItems, only, own, readListed } from './listed-document.ts';

const GROUPS = 'groups';

type Chunks = AsyncIterable<Buffer>;

/**
 * The ledger of a package without its bulk. Of each action group only what says who it is, where it stands and what it
 * refers to is kept. Undefined for what is not one strict JSON object; `see` is given every group whole, as it passes.
 */
export async function readLedger(content: Chunks, see: (group: JsonValue) => void): Promise<JsonObject | undefined> {
  const names = new LedgerNames();
  const document = await readListed(content, GROUPS, (group) => {
    see(group);
    return outlineOf(group, names);
  });
  if (document) NAMES.set(document, names);
  return document;
}

const NAMES = new WeakMap<JsonObject, LedgerNames>();

/** The names in a ledger that `readLedger` gave; none in anything else. */
export const namesOfLedger = (document: JsonObject | undefined): LedgerNames =>
  (document && NAMES.get(document)) ?? new LedgerNames();

/** The action groups of a ledger, whole, one after the other. The document has been read before. */
export async function* ledgerGroups(content: Chunks): AsyncGenerator<JsonObject> {
  for await (const group of listItems(content, GROUPS)) if (isJsonObject(group)) yield group;
}

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
