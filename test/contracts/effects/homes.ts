import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { type FileSystem, nodeFileSystem } from '../../../src/core/index.ts';
import { type EffectLog, effectsSchema, loadJournal, openJournal, openLedgerLog } from '../../../src/effects/index.ts';
import { countingObserver } from '../../../src/store/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { RUN, temporaryFolder } from './fixture.ts';

export type StoredRecord = { readonly type: string; readonly record: Readonly<Record<string, unknown>> };

/** One home of a run's log, as the contract suite sees it: opened, dropped and loaded again, looked at from outside. */
export interface Home {
  /** A new object for the run; nothing was read yet. */
  open(): EffectLog;
  /** An object for a run of this name. */
  openRun(runId: string): EffectLog;
  /** The log as a later process finds it. */
  reload(): Promise<EffectLog>;
  /** The stored records in order, read behind the program's back. */
  stored(): readonly StoredRecord[];
  /** How often data was forced to disk so far. */
  forced(): number;
  /** From now on whatever is not a claim cannot be written. */
  breakOtherWrites(): void;
  /** Adds a record behind the program's back, or fails to. */
  forge(type: string, record: Readonly<Record<string, unknown>>): void;
}

export interface HomeKind {
  readonly name: 'files' | 'sql';
  make(t: TestContext, folder?: string): Promise<Home>;
}

export const HOMES: readonly HomeKind[] = [
  { name: 'files', make: (t, folder) => Promise.resolve(fileHome(t, folder ?? temporaryFolder(t))) },
  { name: 'sql', make: (t, folder) => sqlHome(t, folder ?? temporaryFolder(t)) },
];

export function fileHome(t: TestContext, folder: string): Home & { readonly path: string; readonly directory: string } {
  const directory = join(folder, 'fx');
  const path = join(directory, `${RUN}.jsonl`);
  let forced = 0;
  let broken = false;
  const count = (call: (fd: number) => void) => (fd: number) => {
    forced += 1;
    call(fd);
  };
  const files: FileSystem = {
    ...nodeFileSystem,
    fsync: count((fd) => nodeFileSystem.fsync(fd)),
    fdatasync: count((fd) => nodeFileSystem.fdatasync(fd)),
    write(fd, bytes, position) {
      if (broken) throw Object.assign(new Error('disk full'), { code: 'ENOSPC', syscall: 'write' });
      return nodeFileSystem.write(fd, bytes, position);
    },
  };
  const logs: EffectLog[] = [];
  const kept = <T extends EffectLog>(log: T): T => {
    logs.push(log);
    return log;
  };
  t.after(() => Promise.all(logs.map((log) => log.close())));
  return {
    path,
    directory,
    open: () => kept(openJournal(RUN, { directory, files })),
    openRun: (runId) => openJournal(runId, { directory }),
    reload: async () => kept(await loadJournal(RUN, { directory })),
    stored: () => (existsSync(path) ? linesOf(path) : []),
    forced: () => forced,
    breakOtherWrites: () => {
      broken = true;
    },
    forge: (type, record) => appendFileSync(path, `${JSON.stringify({ v: 1, type, record })}\n`),
  };
}

export function linesOf(path: string): StoredRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as StoredRecord);
}

async function sqlHome(t: TestContext, folder: string): Promise<Home> {
  const file = join(folder, 'ledger.db');
  const observer = countingObserver();
  const store = await openSqliteStore({ file, schemas: [effectsSchema], observer: observer.observe });
  const outside = new DatabaseSync(file);
  t.after(async () => {
    outside.close();
    await store.close();
  });
  const log = (): EffectLog => openLedgerLog(store, { tenantId: 'local', runId: RUN });
  return {
    open: log,
    openRun: (runId) => openLedgerLog(store, { tenantId: 'local', runId }),
    reload: async () => log(),
    stored: () => outside.prepare('SELECT * FROM effect_records ORDER BY sequence').all().map(storedRow),
    forced: () => observer.events.filter((event) => event.kind === 'committed' && event.wrote).length,
    breakOtherWrites: () =>
      outside.exec(`CREATE TRIGGER broken BEFORE INSERT ON effect_records WHEN new.type <> 'claim'
        BEGIN SELECT RAISE(ABORT, 'disk full'); END`),
    forge: (type, record) => forgeRow(outside, type, record),
  };
}

const COLUMNS = ['sequence', 'effect_id', 'observation_id', 'execution', 'impact'];

function storedRow(row: Readonly<Record<string, unknown>>): StoredRecord {
  const columns = COLUMNS.filter((name) => row[name] !== null).map((name) => [name, row[name]]);
  const body = JSON.parse(row['body'] as string) as Record<string, unknown>;
  return { type: row['type'] as string, record: { ...body, ...Object.fromEntries(columns) } };
}

/** Someone who can write the database file turns its checks off first. */
function forgeRow(database: DatabaseSync, type: string, record: Readonly<Record<string, unknown>>): void {
  const { sequence, effect_id, observation_id, execution, impact, ...body } = record;
  database.exec('PRAGMA ignore_check_constraints = ON');
  database
    .prepare(
      `INSERT INTO effect_records (tenant_id, run_id, sequence, type, effect_id, observation_id, execution, impact, body)
       VALUES ('local', ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      RUN,
      (sequence ?? 99) as number,
      type,
      (effect_id ?? null) as string | null,
      (observation_id ?? null) as string | null,
      (execution ?? null) as string | null,
      (impact ?? null) as string | null,
      JSON.stringify(body),
    );
}
