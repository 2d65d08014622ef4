import { existsSync } from 'node:fs';
import { checkSchemas } from '../migration-digest.ts';
import type { ContextSchema } from '../migration.ts';
import { openConnection } from './connection.ts';
import { loadDriver } from './driver.ts';
import { storeError } from './driver-errors.ts';
import { checkLocation } from './location.ts';
import { pendingSteps } from './migrations.ts';

/** What opening a database file would do to it. */
export interface FileInspection {
  readonly state: 'absent' | 'behind' | 'current';
  /** The migrations that opening would apply, in their order. */
  readonly pending: readonly { readonly context: string; readonly number: number; readonly name: string }[];
}

/** The last process that leaves holds the whole file until its log is copied back. */
const LEAVING_MS = 5_000;

/**
 * Looks at a database file without changing it. Where another process is just leaving it, it waits for that, at most
 * five seconds, and blocks this process meanwhile. @throws what opening it would throw: STORE_FOREIGN, STORE_NEWER,
 * STORE_ALTERED, STORE_SCHEMA_VERSION, STORE_CANNOT_OPEN, STORE_BUSY, INVALID_VALUE
 */
export function inspectSqliteFile(options: {
  readonly file: string;
  readonly schemas: readonly ContextSchema[];
}): FileInspection {
  const { schemas } = options;
  checkSchemas(schemas);
  const path = checkLocation(options.file);
  const driver = loadDriver();
  if (!existsSync(path)) return { state: 'absent', pending: [] };
  try {
    const database = openConnection(driver, path, LEAVING_MS);
    try {
      const pending = pendingSteps(database, schemas).map(({ context, migration: { number, name } }) => ({
        context,
        number,
        name,
      }));
      return { state: pending.length > 0 ? 'behind' : 'current', pending };
    } finally {
      database.close();
    }
  } catch (error) {
    throw storeError(error);
  }
}
