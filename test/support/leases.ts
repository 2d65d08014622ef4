import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * As if the leases of all processes that have a data folder open had come to their end, except those of these instances:
 * who was killed is known to be dead, and who sleeps is taken for it, without anybody's waiting.
 */
export function endLeases(dataDir: string, ...living: readonly string[]): void {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'), { timeout: 10_000 });
  try {
    db.prepare(
      `UPDATE instances SET lease_until_ms = started_at_ms
      WHERE ended_at_ms IS NULL AND instance_id NOT IN (SELECT value FROM json_each(?))`,
    ).run(JSON.stringify(living));
  } finally {
    db.close();
  }
}
