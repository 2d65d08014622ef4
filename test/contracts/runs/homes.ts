import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { type FileSystem, nodeFileSystem, systemClock } from '../../../src/core/index.ts';
import {
  FileTraceStore,
  type MessageParts,
  newMessage,
  runsSchema,
  SqlTraceStore,
  type TraceMessage,
  type TraceStore,
} from '../../../src/runs/index.ts';
import { sessionsSchema } from '../../../src/sessions/index.ts';
import { addProject, LOCAL_PRINCIPAL, STORE_SCHEMAS } from '../../../src/store/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { temporaryFolder } from '../../support/index.ts';
import { newDatabase } from '../../support/new-database.ts';

export const TRACE = 'trace@safe-1';
const SCHEMAS = [...STORE_SCHEMAS, sessionsSchema, runsSchema];

/** One home of traces as the suite sees it: used, and looked at from outside. */
export interface TraceHome {
  readonly store: TraceStore;
  /** The stored document or row of a trace, read behind the program's back. */
  stored(traceId: string): Record<string, unknown>;
  /** Puts a text in the place of a goal tree. */
  breakGoals(traceId: string, text: string): void;
  /** Puts a trace there whose stored form is damaged. */
  addCorrupt(traceId: string): void;
  /** From now on the stored trace itself cannot be replaced. */
  breakReplacing(): Error;
}

export interface TraceHomeKind {
  readonly name: 'files' | 'sql';
  make(t: TestContext): Promise<TraceHome>;
}

export const TRACE_HOMES: readonly TraceHomeKind[] = [
  { name: 'files', make: async (t) => fileHome(await temporaryFolder(t)) },
  { name: 'sql', make: sqlHome },
];

/** A home with the one trace of the contracts. */
export async function withTrace(kind: TraceHomeKind, t: TestContext): Promise<TraceHome> {
  const home = await kind.make(t);
  await home.store.createTrace({ traceId: TRACE, mode: 'agent', task: 'test' });
  return home;
}

export const message = (parts: Partial<MessageParts> & { readonly sequence: number }): TraceMessage =>
  newMessage({ traceId: TRACE, role: 'user', content: `message-${parts.sequence}`, ...parts }, systemClock);

export function fileHome(folder: string): TraceHome & { readonly store: FileTraceStore; readonly folder: string } {
  let fault: Error | undefined;
  const files: FileSystem = {
    ...nodeFileSystem,
    rename(from, to) {
      if (fault !== undefined && to.endsWith('meta.json')) throw fault;
      nodeFileSystem.rename(from, to);
    },
  };
  const base = join(folder, 'traces');
  const pathOf = (traceId: string, name: string): string => join(base, traceId, name);
  return {
    folder: base,
    store: new FileTraceStore({ folder: base, files }),
    stored: (traceId) => JSON.parse(readFileSync(pathOf(traceId, 'meta.json'), 'utf8')) as Record<string, unknown>,
    breakGoals: (traceId, text) => writeFileSync(pathOf(traceId, 'goal.json'), text),
    addCorrupt(traceId) {
      mkdirSync(join(base, traceId));
      writeFileSync(pathOf(traceId, 'meta.json'), '[]');
    },
    breakReplacing() {
      fault = Object.assign(new Error('injected'), { code: 'EIO', syscall: 'rename' });
      return fault;
    },
  };
}

async function sqlHome(t: TestContext): Promise<TraceHome> {
  const file = join(await temporaryFolder(t), 'runs.db');
  await newDatabase(file, SCHEMAS);
  const store = await openSqliteStore({ file, schemas: SCHEMAS });
  await store.write('test.project', (tx) =>
    addProject(tx, systemClock, LOCAL_PRINCIPAL, { projectId: 'p1', name: 'Project' }),
  );
  const outside = new DatabaseSync(file);
  outside.exec('PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = ON');
  t.after(async () => {
    outside.close();
    await store.close();
  });
  const row = (traceId: string) => ({ ...outside.prepare('SELECT * FROM traces WHERE trace_id = ?').get(traceId) });
  return {
    store: new SqlTraceStore(store, { tenantId: 'local', projectId: 'p1' }, systemClock),
    stored: row,
    breakGoals: (traceId, text) =>
      void outside.prepare('UPDATE trace_goals SET tree = ? WHERE trace_id = ?').run(text, traceId),
    addCorrupt: (traceId) =>
      outside.exec(`INSERT INTO traces (trace_id, tenant_id, project_id, mode, context, status, created_at, updated_at)
        VALUES ('${traceId}', 'local', 'p1', 'agent', '[]', 'running', 1, 1)`),
    breakReplacing() {
      outside.exec(`CREATE TRIGGER broken BEFORE UPDATE ON traces BEGIN SELECT RAISE(ABORT, 'fault'); END`);
      return new Error('fault');
    },
  };
}
