import { canonicalJson, fail, isJsonObject, JSON_PROFILES, type JsonObject, readStrictJson } from '../core/index.ts';
import type { ReadTx, Row, Tx } from '../store/index.ts';

/** A member of a record as text; empty where it is none. */
export const wordOf = (record: JsonObject, key: string): string => {
  const value = record[key];
  return typeof value === 'string' ? value : '';
};

/** What a session is made of beside its history. */
export const RECORD_KINDS = [
  'cell',
  'generation',
  'environment_snapshot',
  'artifact',
  'artifact_version',
  'completion_delivery',
  'lineage_edge',
  'plan',
  'review_step',
  'annotation',
  'memory',
  'capability_state',
  'checkpoint_state',
  'operation',
  'recovery_entry',
] as const;

export type RecordKind = (typeof RECORD_KINDS)[number];

/** One record, in the shape in which it travels. */
export interface SessionRecord {
  readonly id: string;
  readonly body: JsonObject;
  /** For an artifact version: the file that holds its bytes, under the session's folder of imports. */
  readonly bytesName?: string;
}

const INSERT = `INSERT INTO session_records (root_frame_id, kind, position, record_id, body, bytes_name)
VALUES (?, ?, (SELECT COALESCE(MAX(position) + 1, 0) FROM session_records WHERE root_frame_id = ? AND kind = ?), ?, ?, ?)`;
const PAGE = `SELECT position, record_id, body, bytes_name FROM session_records
WHERE root_frame_id = ? AND kind = ? AND position > ? ORDER BY position LIMIT ?`;
const COUNTS = `SELECT kind, COUNT(*) AS records FROM session_records WHERE root_frame_id = ? GROUP BY kind`;
const MARK = `SELECT kind, COUNT(*) AS records, MAX(position) AS last FROM session_records WHERE root_frame_id = ?
GROUP BY kind ORDER BY kind`;
const ERASE = `DELETE FROM session_records WHERE root_frame_id = ?`;

/** Adds a record after those of its kind. The identity of a record is its session's alone: STORE_CONSTRAINT twice. */
export async function addRecord(tx: Tx, root: string, kind: RecordKind, record: SessionRecord): Promise<void> {
  const { id, body, bytesName } = record;
  await tx.run(INSERT, [root, kind, root, kind, id, canonicalJson(body), bytesName ?? null]);
}

const PAGE_ROWS = 500;

/** Every record of a kind, in order, read page by page in the caller's transaction. */
export async function* recordsOfKind(tx: ReadTx, root: string, kind: RecordKind): AsyncGenerator<SessionRecord> {
  for (let after = -1; ; ) {
    const rows = await tx.all(PAGE, [root, kind, after, PAGE_ROWS]);
    for (const row of rows) yield recordOf(row);
    if (rows.length < PAGE_ROWS) return;
    after = Number(rows.at(-1)?.['position']);
  }
}

/** All of them at once, for kinds that are few. */
export async function listRecords(tx: ReadTx, root: string, kind: RecordKind): Promise<SessionRecord[]> {
  const all: SessionRecord[] = [];
  for await (const record of recordsOfKind(tx, root, kind)) all.push(record);
  return all;
}

function recordOf(row: Row): SessionRecord {
  const body = readStrictJson(String(row['body']), JSON_PROFILES.packages);
  if (!isJsonObject(body)) throw fail('SESSION_CORRUPT', 'A stored record of the session is not an object.');
  const name = row['bytes_name'];
  return { id: String(row['record_id']), body, ...(name == null ? {} : { bytesName: String(name) }) };
}

/** How many records of each kind a session has. */
export async function countRecords(tx: ReadTx, root: string): Promise<ReadonlyMap<RecordKind, number>> {
  const rows = await tx.all(COUNTS, [root]);
  return new Map(rows.map((row) => [String(row['kind']) as RecordKind, Number(row['records'])]));
}

/** A text that changes when records are added. */
export async function recordsMark(tx: ReadTx, root: string): Promise<string> {
  const rows = await tx.all(MARK, [root]);
  return rows.map((row) => `${String(row['kind'])} ${Number(row['records'])} ${Number(row['last'])}`).join('\n');
}

export async function eraseRecords(tx: Tx, root: string): Promise<void> {
  await tx.run(ERASE, [root]);
}
