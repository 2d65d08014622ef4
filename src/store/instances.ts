import { type Clock, fail, LIMITS, requireWithin } from '../core/index.ts';
import type { ContextSchema } from './migration.ts';
import type { ReadTx, Tx } from './port.ts';

/** The processes that have the database open, each with a lease that its heartbeat renews. */
export const instancesSchema: ContextSchema = {
  context: 'instances',
  migrations: [
    {
      number: 1,
      name: 'instances',
      sqlite: `
        CREATE TABLE instances (
          instance_id TEXT PRIMARY KEY CHECK (length(instance_id) > 0),
          started_at_ms INTEGER NOT NULL,
          lease_until_ms INTEGER NOT NULL,
          ended_at_ms INTEGER,
          CHECK (lease_until_ms >= started_at_ms)
        ) STRICT;
        CREATE INDEX instances_by_lease ON instances (lease_until_ms);
        CREATE TRIGGER instance_ends_once BEFORE UPDATE ON instances WHEN old.ended_at_ms IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'an ended instance stays ended'); END;
      `,
    },
  ],
};

export interface Instance {
  readonly instanceId: string;
  readonly startedAtMs: number;
  readonly leaseUntilMs: number;
  readonly endedAtMs: number | null;
}

const REGISTER = 'INSERT INTO instances (instance_id, started_at_ms, lease_until_ms) VALUES (?, ?, ?)';
const BEAT =
  'UPDATE instances SET lease_until_ms = max(lease_until_ms, ?) WHERE instance_id = ? AND ended_at_ms IS NULL AND lease_until_ms > ?';
const END = 'UPDATE instances SET ended_at_ms = ? WHERE instance_id = ? AND ended_at_ms IS NULL';
const FORGET = 'DELETE FROM instances WHERE instance_id = ? AND (ended_at_ms IS NOT NULL OR lease_until_ms <= ?)';
const FORGET_OLD = `DELETE FROM instances WHERE instance_id IN (SELECT instance_id FROM instances
  WHERE ended_at_ms IS NOT NULL OR lease_until_ms <= ? ORDER BY lease_until_ms DESC LIMIT ? OFFSET ?)`;
const COLUMNS =
  'instance_id AS instanceId, started_at_ms AS startedAtMs, lease_until_ms AS leaseUntilMs, ended_at_ms AS endedAtMs';
const LIVE = 'SELECT 1 FROM instances WHERE instance_id = ? AND ended_at_ms IS NULL AND lease_until_ms > ?';
const DEAD = `SELECT ${COLUMNS} FROM instances WHERE ended_at_ms IS NOT NULL OR lease_until_ms <= ? ORDER BY lease_until_ms LIMIT ?`;

function checkLease(leaseMs: number): void {
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 1) throw fail('INVALID_VALUE', 'leaseMs must be a positive integer.');
  requireWithin('instanceLeaseMs', leaseMs);
}

/** Writes down that this process lives, until its lease ends. `leaseMs`: 1 to 600,000. */
export async function registerInstance(
  tx: Tx,
  clock: Clock,
  instance: { instanceId: string; leaseMs: number },
): Promise<void> {
  checkLease(instance.leaseMs);
  const now = clock.nowMs();
  await tx.run(REGISTER, [instance.instanceId, now, now + instance.leaseMs]);
}

/**
 * Renews the lease. One that has ended is never renewed: others may have taken over what it held, so the process goes
 * on only as a new instance. @throws INSTANCE_ENDED
 */
export async function beatInstance(
  tx: Tx,
  clock: Clock,
  instance: { instanceId: string; leaseMs: number },
): Promise<void> {
  checkLease(instance.leaseMs);
  const now = clock.nowMs();
  const { changes } = await tx.run(BEAT, [now + instance.leaseMs, instance.instanceId, now]);
  if (changes !== 1) throw fail('INSTANCE_ENDED', 'The lease of this process has ended.');
}

/** Ends an instance at once: what it held may be taken over. Ending it twice changes nothing. */
export async function endInstance(tx: Tx, clock: Clock, instanceId: string): Promise<void> {
  await tx.run(END, [clock.nowMs(), instanceId]);
}

/** Whether the instance's lease still runs. One that is not there does not live. */
export async function isInstanceLive(tx: ReadTx, clock: Clock, instanceId: string): Promise<boolean> {
  return (await tx.get(LIVE, [instanceId, clock.nowMs()])) !== undefined;
}

/** Instances that ended or whose lease did, the longest dead first. A lease ends at its last millisecond. */
export async function listDeadInstances(
  tx: ReadTx,
  clock: Clock,
  limit: number = LIMITS.deadInstanceEntries,
): Promise<Instance[]> {
  requireWithin('deadInstanceEntries', limit);
  const rows = await tx.all(DEAD, [clock.nowMs(), limit]);
  return rows.map((row) => ({ ...row }) as unknown as Instance);
}

/**
 * Removes the longest dead instances where there are more than `deadInstancesKept`, so many at a time as a sweep takes.
 * One that is not there is as dead as one that is: what names it as its owner is let go of all the same.
 */
export async function forgetOldInstances(tx: Tx, clock: Clock): Promise<void> {
  await tx.run(FORGET_OLD, [clock.nowMs(), LIMITS.deadInstanceEntries, LIMITS.deadInstancesKept]);
}

/** Removes a dead instance once nothing is left of it. Whether it did: a living one stays. */
export async function forgetInstance(tx: Tx, clock: Clock, instanceId: string): Promise<boolean> {
  const { changes } = await tx.run(FORGET, [instanceId, clock.nowMs()]);
  return changes === 1;
}
