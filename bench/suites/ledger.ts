import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { systemIds } from '../../src/core/index.ts';
import type { ContextSchema, SqlParams, Tx } from '../../src/store/index.ts';

const TABLES = `
  CREATE TABLE entries (
    entry_id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('pending', 'done')),
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE marks (
    mark_id TEXT PRIMARY KEY,
    entry_id TEXT NOT NULL REFERENCES entries (entry_id),
    note TEXT NOT NULL
  ) STRICT;
`;

/** A ledger as plain as it gets, so that what is measured is the way to it. */
export const ledgerSchema: ContextSchema = {
  context: 'bench',
  migrations: [{ number: 1, name: 'ledger', sqlite: TABLES }],
};

export const INSERT = 'INSERT INTO entries (entry_id, state, payload) VALUES (?, ?, ?)';
export const FINISH = "UPDATE entries SET state = 'done' WHERE entry_id = ? AND state = 'pending'";

export const PAYLOAD = JSON.stringify({ order: 'A-1', amount: 1200, note: 'x'.repeat(160) });

export type Step = readonly ['run' | 'get', string, SqlParams];

/** Two statements: write it down, and finish it. */
export function twoSteps(): Step[] {
  const id = systemIds.next();
  return [
    ['run', INSERT, [id, 'pending', PAYLOAD]],
    ['run', FINISH, [id]],
  ];
}

export async function inBody(tx: Tx, steps: readonly Step[]): Promise<void> {
  for (const [verb, sql, params] of steps) await tx[verb](sql, params);
}

/** The same database in plain synchronous code, as durable as the store's. */
export class PlainLedger {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;

  constructor(file: string, tables: string = TABLES) {
    this.database = new DatabaseSync(file);
    this.database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-8192');
    this.database.exec(tables);
    this.#begin = this.database.prepare('BEGIN IMMEDIATE');
    this.#commit = this.database.prepare('COMMIT');
  }

  group(bodies: readonly (readonly Step[])[]): void {
    this.#begin.run();
    for (const steps of bodies) for (const [verb, sql, params] of steps) this.#prepared(sql)[verb](...params);
    this.#commit.run();
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  close(): void {
    this.database.close();
  }
}
