import { systemIds } from '../../src/core/index.ts';
import type { ContextSchema } from '../../src/store/index.ts';
import type { Step } from './ledger.ts';

const CONTEXT_TABLES = `
  CREATE TABLE entries (
    entry_id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL CHECK (length(tenant_id) > 0),
    subject_id TEXT NOT NULL CHECK (length(subject_id) > 0),
    tool TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_sha256 TEXT NOT NULL CHECK (length(request_sha256) = 64),
    state TEXT NOT NULL CHECK (state IN ('pending', 'done')),
    payload TEXT NOT NULL CHECK (json_valid(payload)),
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    CHECK ((state = 'done') = (finished_at IS NOT NULL))
  ) STRICT;
  CREATE UNIQUE INDEX entries_by_key ON entries (tenant_id, subject_id, tool, idempotency_key);
  CREATE INDEX entries_pending ON entries (created_at) WHERE state = 'pending';
  CREATE TRIGGER entries_keep BEFORE UPDATE ON entries
  WHEN new.entry_id IS NOT old.entry_id OR new.request_sha256 IS NOT old.request_sha256 OR new.payload IS NOT old.payload
  BEGIN SELECT RAISE(ABORT, 'an entry keeps what was asked'); END;
  CREATE TABLE marks (
    mark_id TEXT PRIMARY KEY,
    entry_id TEXT NOT NULL REFERENCES entries (entry_id),
    kind TEXT NOT NULL CHECK (length(kind) > 0),
    note TEXT NOT NULL CHECK (json_valid(note))
  ) STRICT;
  CREATE INDEX marks_of_entry ON marks (entry_id, mark_id);
`;

/** Tables of the kind that the contexts have: checks, a unique key, a partial index, a trigger that keeps rows. */
export const contextSchema: ContextSchema = {
  context: 'bench',
  migrations: [{ number: 1, name: 'ledger', sqlite: CONTEXT_TABLES }],
};

const INSERT =
  'INSERT INTO entries (entry_id, tenant_id, subject_id, tool, idempotency_key, request_sha256, state, payload, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)';
const FINISH = "UPDATE entries SET state = 'done', finished_at = ? WHERE entry_id = ? AND state = 'pending'";
const FIND = 'SELECT state, payload, attempts, finished_at FROM entries WHERE entry_id = ?';
const ATTEMPT = 'UPDATE entries SET attempts = attempts + 1 WHERE entry_id = ?';
const MARK = 'INSERT INTO marks (mark_id, entry_id, kind, note) VALUES (?, ?, ?, ?)';
const MARKS = 'SELECT mark_id, kind, note FROM marks WHERE entry_id = ? ORDER BY mark_id LIMIT 1';

const PAYLOAD = JSON.stringify({ order: 'A-1', amount: 1200, reason: 'damaged', note: 'x'.repeat(360) });
const NOTE = JSON.stringify({ kind: 'mark', by: 'policy', note: 'x'.repeat(120) });
const DIGEST = '0123456789abcdef'.repeat(4);
const NOW = 1_784_419_200;

/** Writes down what is about to be done. */
export function intent(id: string): Step {
  return ['run', INSERT, [id, 'tenant-a', 'user-1', 'send_letter', id, DIGEST, 'pending', PAYLOAD, NOW]];
}

/** Writes down that it was done. */
function receipt(id: string): Step {
  return ['run', FINISH, [NOW, id]];
}

/** Two statements: write it down, and finish it. */
export function twoSteps(): Step[] {
  const id = systemIds.next();
  return [intent(id), receipt(id)];
}

/** Twelve statements, as a call with its approval, claim and ledger lines would make: four reads, eight writes. */
export function twelveSteps(): Step[] {
  const id = systemIds.next();
  const mark = (): Step => ['run', MARK, [systemIds.next(), id, 'called', NOTE]];
  const find: Step = ['get', FIND, [id]];
  const attempt: Step = ['run', ATTEMPT, [id]];
  return [
    find,
    intent(id),
    find,
    mark(),
    mark(),
    mark(),
    mark(),
    attempt,
    ['get', MARKS, [id]],
    attempt,
    find,
    receipt(id),
  ];
}
