import type { DatabaseSync } from 'node:sqlite';
import { requireText } from '../core/index.ts';
import type { ContextSchema, ReadTx, Store } from '../store/index.ts';

/** The one row of an operator's word over a whole data folder. */
export const controlsSchema: ContextSchema = {
  context: 'controls',
  migrations: [
    {
      number: 1,
      name: 'pause',
      sqlite: `
        CREATE TABLE controls (
          control TEXT PRIMARY KEY CHECK (control IN ('paused')),
          reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000)
        ) STRICT;
      `,
    },
  ],
};

const READ = `SELECT reason FROM controls WHERE control = 'paused'`;
const PAUSE = `INSERT INTO controls (control, reason) VALUES ('paused', ?)
  ON CONFLICT (control) DO UPDATE SET reason = excluded.reason`;
const UNPAUSE = `DELETE FROM controls WHERE control = 'paused'`;

/** Why writes are paused in this data folder, by whatever process; null where they are not. */
export async function pausedBecause(tx: ReadTx): Promise<string | null> {
  const row = await tx.get(READ);
  return row ? String(row['reason']) : null;
}

const MOST_REASON = 2000;

/**
 * Lets no write start in this data folder, in whatever process, until `unpause`. What has started goes on. INVALID_VALUE
 * for a reason that is blank or has more than 2,000 characters: then nothing is paused.
 */
export async function pause(store: Store, reason: string): Promise<void> {
  requireText('reason', reason, MOST_REASON);
  await store.write('controls.pause', async (tx) => void (await tx.run(PAUSE, [reason])));
}

const RESTORED =
  'this folder was restored from a backup, and what happened in the world since is not in it: compare with the other side first';

/**
 * Pauses the database of a backup that is being restored, and is up to date: it has forgotten what was carried out since,
 * and would carry it out again.
 */
export function pauseRestored(database: DatabaseSync): void {
  database.prepare(PAUSE).run(RESTORED);
}

/** Lets writes start again. */
export async function unpause(store: Store): Promise<void> {
  await store.write('controls.unpause', async (tx) => void (await tx.run(UNPAUSE)));
}
