import type { DatabaseSync } from 'node:sqlite';
import { HoldfastError, type JsonObject } from '../../src/core/index.ts';
import {
  acted,
  type AutonomyWorld,
  assessed,
  audits,
  behind,
  bind,
  captured,
  completeAssessment,
  completeRepair,
  group,
  issueReview,
  openAutonomyWorld,
  projected,
  start,
  startRepair,
} from './autonomy-world.ts';
import { assert } from './index.ts';
import { OWNER } from './session-world.ts';

export type Cell = string | number | null;
export type Stored = Record<string, Cell>;

/** A run that was denied a permission, had an issue found, and was paused by a repair that left something behind. */
export async function pausedRun(): Promise<AutonomyWorld> {
  const world = await openAutonomyWorld();
  await start(world);
  await assessed(world, 'a');
  await completeAssessment(world, 'a');
  await issueReview(world);
  await captured(world, 'checkpoint-repair-1');
  await startRepair(world);
  const groups = [await group(world), await group(world)];
  for (const id of groups) await bind(world, id);
  await acted(world, groups[0] ?? '', 'kept', { status: 'completed', output_committed: true });
  await acted(world, groups[1] ?? '', 'lost', { status: 'failed', is_error: true, output_committed: false });
  await completeRepair(world, groups, { status: 'failed' });
  behind(world, disarm);
  return world;
}

/** What somebody does who owns the file: no guard is left. */
export function disarm(db: DatabaseSync): void {
  const triggers = db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all() as { name: string }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  db.exec('PRAGMA foreign_keys = OFF');
  db.exec('PRAGMA ignore_check_constraints = ON');
}

export const rowsOf = (db: DatabaseSync, table: string): Stored[] =>
  db.prepare(`SELECT rowid AS at, * FROM ${table} ORDER BY rowid`).all() as Stored[];

const claimsOf = (value: unknown): unknown => (value instanceof HoldfastError ? 'refused' : value);

/** What every read says now: a refusal is a safe answer too. */
async function claims(world: AutonomyWorld) {
  const run = await projected(world).catch(claimsOf);
  const rows = await audits(world).catch(claimsOf);
  const exported = await world.autonomy.exportProjection(OWNER, world.root, world.root).catch(claimsOf);
  return { run, rows, exported } as { run: JsonObject | 'refused'; rows: JsonObject[] | 'refused'; exported: unknown };
}

/** Nothing is claimed that is better than what was so: paused, denied, issues found, or less than that. */
export async function assertNothingBetter(world: AutonomyWorld, what: string): Promise<'unseen' | 'seen'> {
  const { run, rows, exported } = await claims(world);
  if (run !== 'refused') assert.ok(['paused', 'failed'].includes(run?.['status'] as string) || run === null, what);
  for (const row of rows === 'refused' ? [] : rows) {
    assert.ok([undefined, 'denied'].includes(row['outcome'] as string), `${what}: ${row['outcome'] as string}`);
    assert.ok([undefined, 'completed_with_issues'].includes(row['verdict'] as string), what);
  }
  const safe = run === 'refused' || run?.['status'] === 'failed' || run === null;
  return safe || exported === 'refused' ? 'seen' : 'unseen';
}
