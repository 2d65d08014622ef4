import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { join } from 'node:path';
import { type ContextSchema, countingObserver, type StoreCounts, type Tx } from '../../src/store/index.ts';
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A store with one table of numbered notes, and triggers that fail in each way that SQLite knows. */
export const NOTES_SCHEMA: ContextSchema = {
  context: 'notes',
  migrations: [
    {
      number: 1,
      name: 'notes',
      sqlite: `
        CREATE TABLE notes (note_id TEXT PRIMARY KEY, size INTEGER NOT NULL CHECK (size >= 0)) STRICT;
        CREATE TRIGGER abort_it BEFORE INSERT ON notes WHEN new.note_id = 'abort'
        BEGIN SELECT RAISE(ABORT, 'no'); END;
        CREATE TRIGGER undo_all BEFORE INSERT ON notes WHEN new.note_id LIKE 'undo-all%'
        BEGIN SELECT RAISE(ROLLBACK, 'all of it'); END;
      `,
    },
  ],
};

export const ADD_NOTE = 'INSERT INTO notes (note_id, size) VALUES (?, ?)';
export const ALL_NOTES = 'SELECT note_id FROM notes ORDER BY note_id';

export interface NotesStore {
  readonly store: SqliteStore;
  readonly file: string;
  readonly counts: StoreCounts;
  readonly add: (id: string) => Promise<string>;
  readonly ids: () => Promise<string[]>;
}

export function addNote(id: string): (tx: Tx) => Promise<string> {
  return async (tx) => {
    await tx.run(ADD_NOTE, [id, 1]);
    return id;
  };
}

type Extra = Partial<Omit<SqliteStoreOptions, 'file' | 'observer'>> & { readonly file?: string };

/** Opens a notes store in a folder of the test's own; closed when the test ends. */
export async function openNotes(t: TestContext, extra: Extra = {}): Promise<NotesStore> {
  const file = extra.file ?? join(await temporaryFolder(t), 'notes.db');
  const counts = countingObserver();
  const store = await openSqliteStore({ schemas: [NOTES_SCHEMA], ...extra, file, observer: counts.observe });
  t.after(() => store.close());
  return {
    store,
    file,
    counts,
    add: (id) => store.write(`add.${id}`, addNote(id)),
    ids: async () => (await store.read('ids', (tx) => tx.all(ALL_NOTES))).map((row) => String(row['note_id'])),
  };
}

/** A hand on the database behind the program's back. */
export function behindItsBack<T>(file: string, act: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file);
  let result: T | undefined;
  try {
    result = act(database);
    return result;
  } finally {
    if (result instanceof Promise) void result.finally(() => database.close()).catch(() => undefined);
    else database.close();
  }
}

/** The error codes of what was rejected, and the values of what was not. */
export function outcomes(settled: readonly PromiseSettledResult<unknown>[]): unknown[] {
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value;
    const reason = one.reason as { code?: string; message: string };
    return reason.code ?? reason.message;
  });
}
