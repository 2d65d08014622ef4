import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { canonicalJson, type JsonObject, sha256Hex } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { assertNothingBetter, type Cell, disarm, pausedRun, rowsOf, type Stored } from '../support/autonomy-attacks.ts';
import { type AutonomyWorld, behind } from '../support/autonomy-world.ts';

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
    } catch (error) {
      if (/locked/.test(String(error))) throw error;
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

check('two rows that change places are seen', async () => {
  await using world = await pausedRun();
  const PLACES: Readonly<Record<string, readonly string[]>> = {
    auto_mode_events: ['event_cursor', 'sequence'],
    repair_execution_groups: ['binding_ordinal'],
    action_events: ['sequence', 'group_id'],
  };
  for (const [table, columns] of Object.entries(PLACES))
    for (const column of columns) {
      const rows = behind(world, (db) => rowsOf(db, table));
      const sealed = behind(world, (db) => rowsOf(db, 'repair_execution_groups')).map((row) => row['action_group_id']);
      const own = table === 'action_events' ? rows.filter((row) => sealed.includes(row['group_id'] ?? '')) : rows;
      const one = own[0];
      const other = own.findLast((row) =>
        column === 'group_id'
          ? row['group_id'] !== one?.['group_id'] && row['sequence'] === one?.['sequence']
          : row['group_id'] === one?.['group_id'],
      );
      if (!one || !other || one[column] === other[column]) continue;
      const swap = (first: Stored, second: Stored): void =>
        behind(world, (db) => {
          disarm(db);
          const put = db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`);
          put.run(typeof first[column] === 'number' ? -1 : 'aside', first['at'] ?? 0);
          put.run(first[column] ?? null, second['at'] ?? 0);
          put.run(second[column] ?? null, first['at'] ?? 0);
        });
      swap(one, other);
      assert.equal(await assertNothingBetter(world, `${table}.${column} swapped`), 'seen', `${table}.${column}`);
      swap({ ...other, at: one['at'] ?? 0 }, { ...one, at: other['at'] ?? 0 });
      assert.equal(await assertNothingBetter(world, `${table}.${column} put back`), 'unseen');
    }
});
