import { canonicalJson, compareCodePoints, isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import { type Contents, readContents, workspaceFiles } from './contents.ts';
import { DOCUMENTS, RECORD_LISTS, type RecordList, recordsOf, textOf } from './documents.ts';
import { printable } from './printable.ts';
import type { ArchiveOptions } from './reader.ts';
import type { ByteSource } from './source.ts';

/** How two packages differ in meaning: records by their identities, workspace files by their paths. */
export interface PackageDiff {
  /** True when nothing below differs. Two archives may differ in every byte and still mean the same. */
  readonly same: boolean;
  /** Problems of either package: what could not be read was not compared. */
  readonly problems: { readonly a: readonly string[]; readonly b: readonly string[] };
  readonly differences: readonly Difference[];
}

/** What differs in one list: identities or paths, escaped; of what changed, the fields. */
export interface Difference {
  readonly what: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly { readonly id: string; readonly fields: readonly string[] }[];
}

/** Compares two packages, neither trusted. */
export async function diffPackages(a: ByteSource, b: ByteSource, options: ArchiveOptions = {}): Promise<PackageDiff> {
  const [before, after] = [await readContents(a, options), await readContents(b, options)];
  const differences = [
    ...RECORD_LISTS.map((list) => compare(list.noun, keyed(before, list), keyed(after, list))),
    compare('document settings', settingsOf(before), settingsOf(after)),
    compare('workspace files', await workspaceFiles(before), await workspaceFiles(after)),
    compare('other files', otherFiles(before), otherFiles(after)),
  ].filter(({ added, removed, changed }) => added.length + removed.length + changed.length > 0);
  const problems = { a: before.problems, b: after.problems };
  return {
    same: differences.length === 0 && before.problems.length + after.problems.length === 0,
    problems,
    differences,
  };
}

type Keyed = ReadonlyMap<string, JsonObject>;

/** The names of records that have no identity of their own in the package contract, where they have one at all. */
const OTHER_IDS: Readonly<Record<string, readonly string[]>> = {
  checkpoint_states: ['checkpoint_id'],
  operations: ['operation_id'],
  recovery_journal: ['entry_id'],
  plans: ['plan_id'],
  annotations: ['annotation_id'],
  activity_steps: ['step_id'],
  memories: ['memory_id'],
  project: ['rule_id'],
  conversation: ['rule_id'],
  states: ['scope', 'kind', 'name'],
};

function keyed({ documents }: Contents, list: RecordList): Keyed {
  const fields = list.id === undefined ? OTHER_IDS[list.key] : [list.id];
  const keys = new Map<string, JsonObject>();
  for (const record of recordsOf(documents, list.document, list.key)) {
    const names = fields?.map((field) => textOf(record, field) ?? '').join(' ');
    const key = names?.trim() ? names : canonicalJson(record);
    // A name that occurs twice is a problem of the package; nothing of it is lost here.
    keys.set(keys.has(key) ? `${key} (again, ${keys.size})` : key, record);
  }
  return keys;
}

/** What stands in the documents beside their lists. */
function settingsOf({ documents }: Contents): Keyed {
  const lists = new Set(RECORD_LISTS.map(({ document, key }) => `${document} ${key}`));
  const settings = DOCUMENTS.map((name): [string, JsonObject] => {
    const members = Object.entries(documents.get(name) ?? {}).filter(([key]) => !lists.has(`${name} ${key}`));
    return [name, Object.fromEntries(members)];
  });
  return new Map(settings);
}

const COMPARED_ELSEWHERE = /^(?:workspace\/|artifact-data\/)/;

/** Files that no document describes, by their digest. */
function otherFiles({ manifest }: Contents): Keyed {
  const known = new Set<string>(DOCUMENTS);
  const others = [...manifest.rows.values()].filter(({ path }) => !known.has(path) && !COMPARED_ELSEWHERE.test(path));
  return new Map(others.map(({ path, sha256 }): [string, JsonObject] => [path, { sha256 }]));
}

function compare(what: string, before: Keyed, after: Keyed): Difference {
  const name = (key: string) => printable(key, 120);
  const sorted = (keys: Iterable<string>) => [...keys].sort(compareCodePoints);
  const changed = sorted(before.keys()).flatMap((key) => {
    const now = after.get(key);
    const fields = now ? changedFields(before.get(key) ?? {}, now) : [];
    return fields.length > 0 ? [{ id: name(key), fields }] : [];
  });
  return {
    what,
    added: sorted(after.keys())
      .filter((key) => !before.has(key))
      .map(name),
    removed: sorted(before.keys())
      .filter((key) => !after.has(key))
      .map(name),
    changed,
  };
}

/** Fields that differ; of an object one step further in, since that is where a reader looks next. */
function changedFields(before: JsonObject, after: JsonObject): string[] {
  return keysThatDiffer(before, after).flatMap((key) => {
    const [a, b] = [own(before, key), own(after, key)];
    const inner = isJsonObject(a) && isJsonObject(b) ? keysThatDiffer(a, b).map((field) => `${key}.${field}`) : [key];
    return inner.map((field) => printable(field, 80));
  });
}

/** A stranger's key may be one that every object inherits: only own members count. */
const own = (record: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

function keysThatDiffer(a: JsonObject, b: JsonObject): string[] {
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort(compareCodePoints);
  return keys.filter((key) => {
    const [before, after] = [own(a, key), own(b, key)];
    if (before === undefined || after === undefined) return before !== after;
    return canonicalJson(before) !== canonicalJson(after);
  });
}
