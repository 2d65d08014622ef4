import { canonicalJson, digestJson, fail, isJsonObject, type JsonObject } from '../core/index.ts';
import { getSetting, QUARANTINE_PREFIX, type SessionContext } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { candidateFields, scopeOf } from './documents.ts';
import { HistoryNames, type ImportedNames } from './imported-names.ts';
import {
  type AutoEvent,
  type AutoRun,
  type CandidateFields,
  IMPORTED_KINDS,
  type ImportedKind,
  type RunScope,
} from './model.ts';
import * as sql from './queries.ts';
import { storedJson } from './rows.ts';

/** A history of supervised runs from elsewhere, made harmless and checked whole, and the new names of what it names. */
export interface ImportedHistory extends ImportedNames {
  readonly projection: JsonObject;
}

/** The session that it belongs to from now on. Nothing of it is ever carried on. */
export interface ImportPlace {
  readonly rootFrameId: string;
  readonly projectId: string;
  readonly resumeExecution: false;
}

/**
 * Writes an imported history under new names, every owner of it as `unverified_import`: runs and events where those of
 * this installation are, so that they are shown with their branches, and the rest as documents. Its events are digested
 * again under their new names. Only into a session that is quarantined: NOT_QUARANTINED.
 */
export async function importHistory(
  tx: Tx,
  { ids }: Pick<SessionContext, 'ids'>,
  place: ImportPlace,
  history: ImportedHistory,
): Promise<void> {
  const { rootFrameId } = place;
  if ((await getSetting(tx, rootFrameId, QUARANTINE_PREFIX + rootFrameId)) === null)
    throw fail('NOT_QUARANTINED', 'The session is not quarantined: no history is imported into it.');
  const { projection } = history;
  const names = new HistoryNames(ids, rootFrameId, history);
  const selection = projection['historical_selection'] ?? null;
  if (isJsonObject(selection)) await addRecord(tx, rootFrameId, 'selection', 0, selection);
  const events = objects(projection, 'events').map((event) => eventDocument(names, event));
  const byRun = Map.groupBy(events, (event) => event.run_id);
  for (const record of objects(projection, 'runs')) {
    const run = runRow(names.rename(record), byRun, isJsonObject(selection) ? selection : {});
    await tx.run(sql.RUNS.insert, sql.RUNS.params(run));
    for (const [at, event] of (byRun.get(run.run_id) ?? []).entries())
      await tx.run(sql.EVENTS.insert, sql.EVENTS.params({ ...event, sequence: at + 1 }));
  }
  for (const kind of IMPORTED_KINDS)
    for (const [at, record] of objects(projection, kind).entries())
      await addRecord(tx, rootFrameId, kind, at, { ...names.rename(record), status: 'unverified_import' });
}

const addRecord = (tx: Tx, root: string, kind: ImportedKind, position: number, body: JsonObject): Promise<unknown> =>
  tx.run(sql.ADD_IMPORTED, [root, kind, position, canonicalJson(body)]);

const objects = (of: JsonObject, key: string): JsonObject[] => {
  const list = of[key];
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
};

type ImportedEvent = Omit<AutoEvent, 'event_ordinal' | 'occurred_at' | 'sequence'>;

function eventDocument(names: HistoryNames, record: JsonObject): ImportedEvent {
  const { payload: told, ...kept } = record;
  const renamed = names.rename(isJsonObject(told) ? told : {});
  const ends = record['type'] === 'auto_run_terminal';
  const payload: JsonObject = ends ? { ...renamed, status: 'unverified_import' } : renamed;
  const sealed = digestJson(payload);
  const event = names.rename(kept) as unknown as ImportedEvent;
  return {
    ...event,
    idempotency_key: `import:${event.event_id}`,
    request_sha256: sealed,
    payload,
    payload_sha256: sealed,
  };
}

function runRow(record: JsonObject, events: ReadonlyMap<string, ImportedEvent[]>, selection: JsonObject): AutoRun {
  const text = (field: string): string | null => (typeof record[field] === 'string' ? record[field] : null);
  const scope = scopeOf(record as unknown as RunScope);
  const own = events.get(scope.run_id) ?? [];
  const last = own.at(-1)?.created_at ?? 0;
  const ended = own.at(-1)?.type === 'auto_run_terminal';
  return {
    ...scope,
    ...candidateFields(record as unknown as CandidateFields),
    idempotency_key: `import:${scope.run_id}`,
    mode: record['mode'] as AutoRun['mode'],
    selection,
    budgets: {},
    request_sha256: digestJson(record),
    owner_instance_id: null,
    trust_state: 'quarantined_import',
    status: 'unverified_import',
    state_revision: Math.max(own.length, 1),
    terminal_reason: text('terminal_reason'),
    stop_reason: text('stop_reason'),
    terminal_idempotency_key: null,
    terminal_request_sha256: null,
    source_claimed_status: text('source_claimed_status') ?? text('status'),
    source_terminal_reason: text('source_terminal_reason') ?? (ended ? text('terminal_reason') : null),
    abandoned_at: null,
    abandoned_by_checkpoint_id: null,
    created_at: Number(record['created_at']),
    updated_at: last,
    finished_at: last,
  };
}

/** The documents of imported runs, of one kind, in their order. */
export async function importedRecords(tx: ReadTx, rootFrameId: string, kind: ImportedKind): Promise<JsonObject[]> {
  const rows = await tx.all(sql.IMPORTED_RECORDS, [rootFrameId, kind]);
  return rows.map((row) => storedJson(String(row['body'])) as JsonObject);
}
