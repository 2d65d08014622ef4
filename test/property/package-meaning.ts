import { importedDecision } from '../../src/approvals/index.ts';
import {
  canonicalJson,
  digestJson,
  type JsonObject,
  type JsonValue,
  JSON_PROFILES,
  readStrictJson,
  screenInjection,
} from '../../src/core/index.ts';
import { type Files } from '../archive/support/packages.ts';
import { summaryOf } from '../contracts/packages/summary.ts';

type Item = Record<string, unknown>;

/** The facts of a package: what it says, without names, and without what an import rewrites on purpose and marks. */
export function meaningOf(files: Files): string[] {
  const documents = (name: string): JsonObject =>
    readStrictJson(files.get(name) as Buffer, JSON_PROFILES.packages) as JsonObject;
  const summary = summaryOf(documents);
  const facts = Object.entries(SETTLED).flatMap(([key, settle]) =>
    settle(summary[key] as never, ranksOf(documents('notebook.json'))).map(
      (fact) => `${key} ${canonicalJson(fact as JsonValue)}`,
    ),
  );
  return [...facts, ...runFacts(documents('review.json')['auto_mode'])].sort();
}

/** Revisions as places: cells are numbered anew. */
function ranksOf(notebook: JsonObject): (revision: unknown) => number {
  const revisions = (notebook['cells'] as JsonObject[])
    .map((cell) => Number(cell['state_revision'] ?? cell['cell_index']))
    .sort((a, b) => a - b);
  return (revision) => revisions.filter((one) => one <= Number(revision)).length;
}

type Ranks = (revision: unknown) => number;
type Settle = (value: never, rank: Ranks) => unknown[];

const without = (item: Item, ...keys: string[]): Item =>
  Object.fromEntries(Object.entries(item).filter(([key]) => !keys.includes(key)));

/** Saying a thing twice says it. */
const once = (items: unknown[]): unknown[] => [
  ...new Map(items.map((item) => [canonicalJson(item as JsonValue), item])).values(),
];

const PLANS = new Set(['draft', 'paused', 'completed', 'failed', 'discarded']);
const STEPS: Record<string, string> = { done: 'done', completed: 'done', ok: 'done', error: 'error', failed: 'error' };

function numbered(items: readonly Item[], field: string): Item[] {
  const values = items.map((item) => Number(item[field])).sort((a, b) => a - b);
  return items.map((item) => ({ ...item, [field]: values.indexOf(Number(item[field])) }));
}

const SETTLED: Readonly<Record<string, Settle>> = {
  active_branch: (name: string) => [name],
  action_groups: (groups: Item[]) => groups.filter((group) => group['kind'] !== 'session_import'),
  annotations: (items: Item[]) =>
    items.map((item) => ({ ...item, status: item['status'] === 'reserved' ? 'open' : item['status'] })),
  branches: (items: Item[]) => items,
  cells: (cells: Item[], rank) =>
    cells.map((cell) => ({
      ...without(cell, 'replay_policy', 'files_read', 'files_written'),
      revision: rank(cell['revision']),
    })),
  checkpoints: (items: Item[], rank) =>
    items.map((item) => {
      const [action, message, cell] = item['cursors'] as number[];
      const cursors = [action ?? 0, message ?? 0, rank(cell ?? 0)];
      return { ...without(item, 'decisions', 'environment_pins', 'recipe_status'), cursors };
    }),
  execution_attempts: (items: Item[], rank) =>
    items.map((item) => ({ ...without(item, 'state_revision'), cell_revision: rank(item['cell_revision']) })),
  lineage: once,
  memories: (items: unknown[]) => items,
  messages: (items: Item[]) =>
    numbered(items, 'seq').map((item) => {
      const { content } = item;
      const flagged = item['flagged'] === true || (typeof content === 'string' && screenInjection(content).flagged);
      const role = item['role'] === 'user' ? 'user' : 'assistant';
      return { ...without(item, 'metadata_text'), role, flagged, content: flagged ? null : content };
    }),
  operations: (items: unknown[]) => items,
  permissions: (rules: unknown[][]) =>
    once(rules.map(([scope, tool, pattern, decision]) => [scope, tool, pattern, importedDecision(String(decision))])),
  plans: (items: Item[]) =>
    items.map((item) => {
      const status = String(item['status']);
      return { ...item, status: status === 'executing' ? 'paused' : PLANS.has(status) ? status : 'draft' };
    }),
  recovery_journal: (items: unknown[]) => items,
  activity_steps: (steps: unknown[][]) =>
    steps.filter(([kind]) => kind === 'review').map(([kind, status]) => [kind, STEPS[String(status)] ?? 'stopped']),
  capabilities: (items: unknown[][]) => items.map(([scope, kind, name]) => [scope, kind, name]),
  checkpoint_states: (items: Item[]) => items.map((item) => without(item, 'trust_state')),
  artifacts: (items: Item[], rank) =>
    items.map((item) => {
      // A version whose bytes did not travel is named by its package and not kept.
      const versions = (item['versions'] as Item[]).filter((version) => version['sha256'] !== null);
      const ranked = versions.map((version) => ({
        ...version,
        producing_revision: version['producing_revision'] === null ? null : rank(version['producing_revision']),
      }));
      return { ...item, versions: ranked };
    }),
};

/** What runs did, in what order, with what result; who claimed what of how they ended. */
function runFacts(history: JsonValue | undefined): string[] {
  const list = (key: string): JsonObject[] => ((history as JsonObject | null | undefined)?.[key] ?? []) as JsonObject[];
  const bare = (record: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(record).filter(
        ([key]) => !/_ids?$|^payload_sha256$|^status$|^trust_state$|^evidence_refs$|reason$|^source_/.test(key),
      ),
    );
  const runs = list('runs').map((run) => ({
    ...without(bare(run), 'finished_at'),
    claimed: run['source_claimed_status'] ?? run['status'],
    why: run['source_terminal_reason'] ?? run['terminal_reason'],
  }));
  const events = list('events').map((event) => ({ ...bare(event), payload: bare(event['payload'] as JsonObject) }));
  const others = ['review_runs', 'findings', 'repair_runs', 'permission_assessments'].flatMap((key) =>
    list(key).map(bare),
  );
  return [...runs, ...events, ...others].map((fact) => `auto_mode ${canonicalJson(fact as JsonValue)}`);
}

/** Digests inside the documents made to fit what they now say, as someone does who knows the format. */
export function sealInside(files: Files): void {
  const change = (name: string, seal: (document: JsonObject) => void): void => {
    const document = readStrictJson(files.get(name) as Buffer, JSON_PROFILES.packages) as JsonObject;
    seal(document);
    files.set(name, Buffer.from(canonicalJson(document)));
  };
  const objects = (value: JsonValue | undefined): JsonObject[] =>
    Array.isArray(value) ? (value.filter((one) => typeof one === 'object' && one !== null) as JsonObject[]) : [];
  const seal = (record: JsonObject, of: string, as: string): void => {
    if (record[of] !== undefined && typeof record[as] === 'string') record[as] = digestJson(record[of] ?? null);
  };
  change('snapshots.json', (document) => {
    for (const state of objects(document['checkpoint_states'])) seal(state, 'state', 'state_sha256');
  });
  change('review.json', (document) => {
    const history = document['auto_mode'] as JsonObject | undefined;
    for (const event of objects(history?.['events'])) seal(event, 'payload', 'payload_sha256');
  });
  change('artifacts.json', (document) => {
    for (const delivery of objects(document['completion_deliveries'])) seal(delivery, 'manifest', 'manifest_sha256');
  });
}

/** What one of two says and the other does not. */
export function differences(one: readonly string[], other: readonly string[]): [string[], string[]] {
  const left = [...one];
  const right: string[] = [];
  for (const fact of other) {
    const at = left.indexOf(fact);
    if (at < 0) right.push(fact);
    else left.splice(at, 1);
  }
  return [left, right];
}
