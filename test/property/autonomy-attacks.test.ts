import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { canonicalJson, HoldfastError, type JsonObject, sha256Hex } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
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
} from '../support/autonomy-world.ts';
import { OWNER } from '../support/session-world.ts';

const TABLES = [
  'auto_mode_runs',
  'auto_mode_events',
  'review_runs',
  'review_findings',
  'repair_runs',
  'repair_execution_groups',
  'permission_review_assessments',
  'action_events',
  'permission_requests',
] as const;

type Cell = string | number | null;
type Stored = Record<string, Cell>;

/** A run that was denied a permission, had an issue found, and was paused by a repair that left something behind. */
async function pausedRun(): Promise<AutonomyWorld> {
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
function disarm(db: DatabaseSync): void {
  const triggers = db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all() as { name: string }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  db.exec('PRAGMA foreign_keys = OFF');
  db.exec('PRAGMA ignore_check_constraints = ON');
}

const rowsOf = (db: DatabaseSync, table: string): Stored[] =>
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
async function assertNothingBetter(world: AutonomyWorld, what: string): Promise<'unseen' | 'seen'> {
  const { run, rows, exported } = await claims(world);
  if (run !== 'refused') assert.ok(['paused', 'failed'].includes(run?.['status'] as string) || run === null, what);
  for (const row of rows === 'refused' ? [] : rows) {
    assert.ok([undefined, 'denied'].includes(row['outcome'] as string), `${what}: ${row['outcome'] as string}`);
    assert.ok([undefined, 'completed_with_issues'].includes(row['verdict'] as string), what);
  }
  const safe = run === 'refused' || run?.['status'] === 'failed' || run === null;
  return safe || exported === 'refused' ? 'seen' : 'unseen';
}

const BETTER: Readonly<Record<string, Cell>> = {
  status: 'completed',
  verdict: 'pass',
  outcome: 'allow_once',
  risk: 'low',
  severity: 'info',
  terminal_reason: 'done',
  mode: 'off',
};

/** Another value for a cell: the one an attacker would like, or else a near one. */
function edited(table: string, column: string, value: Cell): Cell {
  if (column === 'status' && table === 'auto_mode_runs') return 'verified';
  if (column === 'status' && table === 'review_findings') return 'addressed_pending_review';
  const wish = BETTER[column];
  if (wish !== undefined && wish !== value) return wish;
  if (typeof value === 'number') return value + 1;
  if (value === null) return column.endsWith('_at') ? 1 : 'x';
  if (column === 'approver') return value.replace('owner', 'anyone');
  if (value.startsWith('{'))
    return value.replace('denied', 'allow_once').replace('failed', 'completed').replace(/"/, '"a":1,"');
  return /^[0-9a-f]{64}$/.test(value) ? value.replace(/^./, (c) => (c === '0' ? '1' : '0')) : `${value}x`;
}

/** Columns of which nothing is claimed: whoever edits them gains nothing, and nothing shows it but a keyed head. */
const UNCLAIMED: ReadonlySet<string> = new Set([
  'auto_mode_runs.owner_instance_id',
  'auto_mode_runs.abandoned_at',
  'auto_mode_runs.abandoned_by_checkpoint_id',
  'auto_mode_events.event_id',
  'review_findings.created_at',
  'review_findings.updated_at',
  'repair_execution_groups.idempotency_key',
  'action_events.root_frame_id',
  'action_events.position',
]);

/** What decides and consumes a request is `approvals/`' own; an assessment rests on what was asked alone. */
const DECIDING =
  /^permission_requests\.(state|scope|pattern|message|resol|superseded|consumed|revoked|continuation|payload|tenant_id)/;

interface Target {
  readonly table: string;
  readonly row: Stored;
  readonly column: string;
}

/** Every cell of the run; of the action ledger only what is sealed, since the rest says nothing about it. */
function targetsOf(world: AutonomyWorld): Target[] {
  return behind(world, (db) => {
    const sealed = rowsOf(db, 'repair_execution_groups').map((row) => row['action_group_id']);
    return TABLES.flatMap((table) =>
      rowsOf(db, table)
        .filter((row) => table !== 'action_events' || sealed.includes(row['group_id'] ?? ''))
        .flatMap((row) =>
          Object.keys(row)
            .filter((column) => column !== 'at')
            .map((column) => ({ table, row, column })),
        ),
    );
  });
}

/** Edits a cell around the program; false when a unique key or the type of the column refused it. */
function put(world: AutonomyWorld, { table, row, column }: Target, value: Cell): boolean {
  return behind(world, (db) => {
    disarm(db);
    try {
      db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(value, row['at'] ?? 0);
      return true;
    } catch {
      return false;
    }
  });
}

check('every column of a finished run, edited, is seen, or claims nothing', async () => {
  await using world = await pausedRun();
  assert.equal(await assertNothingBetter(world, 'before'), 'unseen');
  const byColumn = Map.groupBy(targetsOf(world), ({ table, column }) => `${table}.${column}`);
  let turn = 0;
  for (const [name, targets] of byColumn) {
    turn += 1;
    const target = targets[turn % targets.length] as Target;
    const value = edited(target.table, target.column, target.row[target.column] ?? null);
    if (!put(world, target, value)) continue;
    const seen = await assertNothingBetter(world, `${name} = ${String(value)}`);
    if (!UNCLAIMED.has(name) && !DECIDING.test(name)) assert.equal(seen, 'seen', `${name} = ${String(value)}`);
    put(world, target, target.row[target.column] ?? null);
  }
  assert.equal(await assertNothingBetter(world, 'after'), 'unseen');
});

check('no random edits together make any claim better', async () => {
  await using world = await pausedRun();
  const target = fc.constantFrom(...targetsOf(world));
  const value = fc.oneof(
    fc.constantFrom<Cell[]>('verified', 'completed', 'pass', 'allow_once', 'low', 'started', null, 0, 1),
    fc.string({ maxLength: 5 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(target, value), { minLength: 2, maxLength: 4 }), async (edits) => {
      for (const [cell, to] of edits) put(world, cell, to);
      await assertNothingBetter(
        world,
        edits.map(([cell, to]) => `${cell.table}.${cell.column}=${String(to)}`).join(' '),
      );
      for (const [cell] of edits.toReversed()) put(world, cell, cell.row[cell.column] ?? null);
      for (const [cell] of edits) put(world, cell, cell.row[cell.column] ?? null);
    }),
    { numRuns: 40 },
  );
  assert.equal(await assertNothingBetter(world, 'after'), 'unseen');
});

check(
  'an event rewritten with its digest, and its owner with it, is seen unless every digest is made again',
  async () => {
    await using world = await pausedRun();
    const rows = behind(world, (db) => rowsOf(db, 'auto_mode_events'));
    for (const row of rows) {
      const payload = JSON.parse(String(row['payload_json'])) as JsonObject;
      for (const name of Object.keys(payload)) {
        const value = payload[name];
        if (typeof value !== 'string' && typeof value !== 'number') continue;
        const text = canonicalJson({ ...payload, [name]: edited('', name, value) as string });
        const put = (json: string) =>
          behind(world, (db) =>
            db
              .prepare('UPDATE auto_mode_events SET payload_json = ?, payload_sha256 = ? WHERE rowid = ?')
              .run(json, sha256Hex(json), row['at'] ?? 0),
          );
        put(text);
        assert.equal(await assertNothingBetter(world, `${String(row['type'])}.${name}`), 'seen', name);
        put(String(row['payload_json']));
      }
    }
    assert.equal(await assertNothingBetter(world, 'after'), 'unseen');
  },
);

const insertText = (table: string, row: Stored): string => {
  const columns = Object.keys(row).filter((column) => column !== 'at');
  return `INSERT INTO ${table} (rowid, ${columns.join(', ')}) VALUES (?, ${columns.map(() => '?').join(', ')})`;
};
const insertRow = (db: DatabaseSync, table: string, row: Stored): void => {
  const { at, ...cells } = row;
  db.prepare(insertText(table, row)).run(at ?? 0, ...Object.values(cells));
};

check('a row that is deleted or duplicated is seen', async () => {
  await using world = await pausedRun();
  const OWN = TABLES.filter((table) => table !== 'permission_requests');
  for (const table of OWN)
    for (const row of behind(world, (db) => rowsOf(db, table))) {
      behind(world, (db) => {
        disarm(db);
        db.prepare(`DELETE FROM ${table} WHERE rowid = ?`).run(row['at'] ?? 0);
      });
      assert.equal(await assertNothingBetter(world, `${table} without a row`), 'seen', table);
      behind(world, (db) => {
        disarm(db);
        insertRow(db, table, row);
      });
      const copied = behind(world, (db) => {
        disarm(db);
        return duplicate(db, table, row);
      });
      if (!copied) continue;
      assert.equal(await assertNothingBetter(world, `${table} with a copy`), 'seen', table);
      behind(world, (db) => {
        disarm(db);
        db.prepare(`DELETE FROM ${table} WHERE rowid = ?`).run(COPY_AT);
      });
    }
  assert.equal(await assertNothingBetter(world, 'after'), 'unseen');
});

const COPY_AT = 1_000_000;

/** A copy under fresh ids, keys and places, as somebody would add it who knows the unique rules. */
function duplicate(db: DatabaseSync, table: string, row: Stored): boolean {
  const fresh =
    /(^(event|finding|review_run|repair_run|assessment|audit|decision|run|execution|action_group)_id$|key$|fingerprint)/;
  const places = /^(event_cursor|sequence|position|finding_ordinal|binding_ordinal)$/;
  const owner = table === 'auto_mode_runs' ? /^$/ : /^(run_id|execution_id)$/;
  const parent =
    table === 'review_findings' ? /^review_run_id$/ : table === 'repair_execution_groups' ? /^repair_run_id$/ : /^$/;
  const copy = Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (column === 'at') return [column, COPY_AT];
      if (owner.test(column) || parent.test(column)) return [column, value];
      if (places.test(column)) return [column, Number(value) + 1000];
      return [column, fresh.test(column) && typeof value === 'string' ? `${value}-copy` : value];
    }),
  );
  try {
    insertRow(db, table, copy);
    return true;
  } catch {
    return false;
  }
}
