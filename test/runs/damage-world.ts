import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { Holdfast, type HoldfastOptions } from '../../src/index.ts';
import { disarm } from '../support/autonomy-attacks.ts';
import { assert, builtProgram, temporaryFolder } from '../support/index.ts';

const PROGRAM = builtProgram(join(import.meta.dirname, '..', 'faults', 'run-windows', 'program.ts'));
/** Once the lease of whoever was killed is over, and those of its operations too. */
const LATER_MS = 120_000;

/** A data folder in which a process was killed at this place; see the program. */
export async function killedAt(t: TestContext, ...args: readonly string[]): Promise<string> {
  const dataDir = join(await temporaryFolder(t), 'data');
  await killAgain(dataDir, ...args);
  return dataDir;
}

/** Kills one more there: with a WHAT that resumes, at a time when whoever was killed before is known to be dead. */
export async function killAgain(dataDir: string, ...args: readonly string[]): Promise<void> {
  const command = ['--disable-warning=ExperimentalWarning', PROGRAM, dataDir, ...args];
  const [, by] = await once(spawn(process.execPath, command, { stdio: 'ignore' }), 'exit');
  assert.equal(by, 'SIGKILL', `${args.join(' ')} was to be killed`);
}

/** Opened when everybody who died is known to be dead. */
export async function openLater(t: TestContext, dataDir: string, options: HoldfastOptions = {}): Promise<Holdfast> {
  const holdfast = await Holdfast.open({ dataDir, clock: { nowMs: () => Date.now() + LATER_MS }, ...options });
  t.after(() => holdfast.close());
  return holdfast;
}

export function inDatabase<T>(dataDir: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Changes rows behind the program's back, whatever guards them. */
export function tamper(dataDir: string, ...texts: readonly string[]): void {
  inDatabase(dataDir, (db) => {
    disarm(db);
    db.exec('PRAGMA foreign_keys = OFF');
    for (const text of texts) db.exec(text);
  });
}

/** The rows of a table as they are now; answers how they are put back, as from a backup. */
export function saved(dataDir: string, table: string, traceId?: string): () => void {
  const where = traceId === undefined ? '' : ` WHERE trace_id = '${traceId}'`;
  const rows = inDatabase(dataDir, (db) => db.prepare(`SELECT * FROM ${table}${where}`).all());
  return () =>
    inDatabase(dataDir, (db) => {
      disarm(db);
      for (const row of rows) {
        const columns = Object.keys(row);
        const text = `INSERT OR REPLACE INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`;
        db.prepare(text).run(...Object.values(row));
      }
    });
}

const GROUPS = `SELECT g.group_id FROM action_groups g JOIN traces t ON t.turn_id = g.turn_id
  AND t.root_frame_id = g.root_frame_id WHERE t.trace_id = ?`;
const OPERATIONS = `SELECT operation_pk FROM operations WHERE first_response_id IN (${GROUPS})`;
const ROWS = [
  'SELECT * FROM traces WHERE trace_id = ?',
  `SELECT * FROM operations WHERE operation_pk IN (${OPERATIONS})`,
  `SELECT * FROM outbox WHERE operation_pk IN (${OPERATIONS})`,
  `SELECT * FROM local_receipts WHERE operation_pk IN (${OPERATIONS})`,
  'SELECT * FROM permission_requests WHERE run_id = ?',
  'SELECT * FROM effect_records WHERE run_id = ?',
  `SELECT * FROM action_events WHERE group_id IN (${GROUPS}) ORDER BY event_id`,
  `SELECT m.* FROM messages m JOIN traces t ON t.root_frame_id = m.root_frame_id WHERE t.trace_id = ? ORDER BY m.seq`,
  'SELECT * FROM feed WHERE reference = ?',
];

/** Everything that is stored about a run. */
export function rowsOf(dataDir: string, runId: string): string {
  return inDatabase(dataDir, (db) => {
    const rows = ROWS.map((text) => {
      const statement = db.prepare(text);
      statement.setReadBigInts(true);
      return statement.all(runId);
    });
    return JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
  });
}

/** The newest run that has this agent. */
export function runOfAgent(dataDir: string, agent: string): string {
  const found = inDatabase(dataDir, (db) =>
    db.prepare('SELECT trace_id FROM traces WHERE agent = ? ORDER BY trace_id DESC').get(agent),
  );
  return String(found?.['trace_id']);
}
