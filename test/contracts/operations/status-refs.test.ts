import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { operationsSchema, operationVerdictsSchema, Principal } from '../../../src/operations/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { assert, check, temporaryFolder } from '../../support/index.ts';
import { anotherDesk, freshDesk, statusRefIn } from './desk.ts';

const BATCH = 4_096;
const PERSON = new Principal('tenant-a', 'controller-1');
const ABSENT = `status_${'0'.repeat(32)}`;

async function stopped(desk: RefundDesk, key: string): Promise<string> {
  const call = refundCall({ idempotencyKey: key, callId: key, operationId: key, responseId: key });
  const approvals = desk.approve(USER, call, 'valid', T0);
  return statusRefIn(
    await desk.operations.dispatch(USER, call, { approvals, now: T0, failure: 'after_intent_commit' }),
  );
}

/** Gives the newest operation another number, as if so many had come before it. */
function renumber(file: string, from: number, to: number): void {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  for (const table of ['operations', 'outbox'])
    database.prepare(`UPDATE ${table} SET operation_pk = ? WHERE operation_pk = ?`).run(to, from);
  const payload = `json_set(payload_json, '$.operation_pk', operation_pk)`;
  database.prepare(`UPDATE outbox SET payload_json = ${payload} WHERE operation_pk = ?`).run(to);
  database.close();
}

const isFound = (desk: RefundDesk, statusRef: string) =>
  desk.operations.show(PERSON, statusRef, T0).then(
    (view) => view.statusRef === statusRef,
    (error: { code?: string }) => {
      if (error.code !== 'OPERATION_NOT_FOUND') throw error;
      return false;
    },
  );

const rowsOf = async (desk: RefundDesk, table: string) =>
  (await desk.store.read('test', (tx) => tx.all(`SELECT * FROM ${table}`))).map((row) => ({ ...row }));

/** Operations 1 and 2, then the last three of a first batch, and the first of the second. */
async function acrossBatches(t: TestContext) {
  const { desk, file } = await freshDesk(t, { verdicts: true });
  const refs = [await stopped(desk, 'a'), await stopped(desk, 'b')];
  renumber(file, 2, BATCH - 3);
  for (const key of ['c', 'd']) refs.push(await stopped(desk, key));
  const before = await rowsOf(desk, 'operation_status_refs');
  refs.push(await stopped(desk, 'e'));
  const ordered = (await rowsOf(desk, 'operation_status_refs')).map((row) => row['operation_pk']);
  refs.push(await stopped(desk, 'f'));
  return { desk, file, refs, before, ordered };
}

check('an operation is found by its reference before, at and after the end of a batch', async (t) => {
  const { desk, refs, before, ordered } = await acrossBatches(t);
  assert.deepEqual(before, []);
  const numbers = [1, BATCH - 3, BATCH - 2, BATCH - 1, BATCH];
  assert.deepEqual(
    [...ordered].sort((a, b) => Number(a) - Number(b)),
    numbers,
  );
  assert.deepEqual(await rowsOf(desk, 'operation_ref_batches'), [{ through_pk: BATCH }]);
  for (const statusRef of refs) {
    assert.equal(await isFound(desk, statusRef), true);
    assert.equal(await desk.store.read('test', (tx) => desk.operations.isOver(tx, statusRef)), false);
  }
  assert.equal(await isFound(desk, ABSENT), false);
});

check('a batch goes back with its commit, and the next operation with that number makes it', async (t) => {
  const { desk, file } = await freshDesk(t, { verdicts: true });
  await stopped(desk, 'a');
  renumber(file, 1, BATCH - 1);
  const abort = "BEFORE INSERT ON operation_ref_batches BEGIN SELECT RAISE(ABORT, 'no batch'); END";
  const database = new DatabaseSync(file);
  database.exec(`CREATE TRIGGER no_batch ${abort}`);
  await assert.rejects(stopped(desk, 'b'));
  assert.deepEqual(await rowsOf(desk, 'operation_status_refs'), []);
  assert.equal((await desk.operations.counts()).operations, 1);
  database.exec('DROP TRIGGER no_batch');
  database.close();
  const statusRef = await stopped(desk, 'b');
  assert.deepEqual(await rowsOf(desk, 'operation_ref_batches'), [{ through_pk: BATCH }]);
  assert.equal(await isFound(desk, statusRef), true);
});

const DAMAGES: readonly (readonly [what: string, sql: string, (refs: readonly string[]) => readonly string[]])[] = [
  [
    'an ordered reference is gone',
    'DELETE FROM operation_status_refs WHERE operation_pk = 1',
    ([ref]) => [`operation ${ref}: its status reference is not among those in order`],
  ],
  [
    'an ordered reference leads elsewhere',
    `INSERT INTO operation_status_refs VALUES (zeroblob(16), 1)`,
    () => ['a status reference leads to operation 1, which has another'],
  ],
  [
    'the last batch ends beyond all operations',
    'UPDATE operation_ref_batches SET through_pk = 1 << 60',
    (refs) => [
      `operation ${refs[5]}: its status reference is not among those in order`,
      `the last batch of status references does not end at ${2n ** 60n}`,
    ],
  ],
  [
    'the last batch ends before what is in order',
    'UPDATE operation_ref_batches SET through_pk = 7',
    () => ['the last batch of status references does not end at 7'],
  ],
  [
    'the batches are gone',
    'DELETE FROM operation_ref_batches',
    () => ['the last batch of status references does not end at 0'],
  ],
];

for (const [what, sql, expected] of DAMAGES)
  check(`an audit sees that ${what}`, async (t) => {
    const { desk, refs } = await acrossBatches(t);
    const outOfPlace = (await desk.operations.audit()).semantic_errors;
    await desk.store.write('test', (tx) => tx.run(sql));
    const { semantic_errors: found, passed } = await desk.operations.audit();
    assert.equal(passed, false);
    assert.deepEqual(found.slice(outOfPlace.length), expected(refs));
  });

check('an audit names what no index keeps apart: two with one reference, two local receipts with one id', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const refs: string[] = [];
  for (const key of ['a', 'b']) {
    const call = refundCall({ idempotencyKey: key, callId: key, operationId: key, responseId: key });
    refs.push(
      statusRefIn(
        await desk.operations.dispatch(USER, call, { approvals: desk.approve(USER, call, 'valid', T0), now: T0 }),
      ),
    );
  }
  for (const column of ['receipt_id', 'downstream_request_id', 'status_ref']) {
    assert.equal((await desk.operations.audit()).passed, true);
    const table = column === 'status_ref' ? 'operations' : 'local_receipts';
    const of = (pk: number) => `(SELECT ${column} FROM ${table} WHERE operation_pk = ${pk})`;
    const [kept] = await desk.store.read('test', (tx) => tx.all<{ of: string }>(`SELECT ${of(2)} AS of`));
    const set = `UPDATE ${table} SET ${column} = ? WHERE operation_pk = 2`;
    await desk.store.write('test', (tx) => tx.run(set.replace('?', of(1))));
    const { semantic_errors: found } = await desk.operations.audit();
    assert.equal(found.length, 1);
    assert.match(found[0] ?? '', new RegExp(`operation ${refs[column === 'status_ref' ? 0 : 1]}: `));
    await desk.store.write('test', (tx) => tx.run(set, [kept?.of ?? '']));
  }
});

check('a reference that was damaged keeps no batch from being ordered, and the audit names it', async (t) => {
  const { desk, file } = await freshDesk(t, { verdicts: true });
  await stopped(desk, 'a');
  renumber(file, 1, BATCH - 2);
  await stopped(desk, 'b');
  const database = new DatabaseSync(file);
  database.exec('PRAGMA ignore_check_constraints = ON');
  database.exec(`UPDATE operations SET status_ref = 'status_broken' WHERE operation_pk = ${BATCH - 1}`);
  database.close();
  const statusRef = await stopped(desk, 'c');
  assert.equal(await isFound(desk, statusRef), true);
  const { semantic_errors: found } = await desk.operations.audit();
  assert.ok(found.includes('operation status_broken: its status reference is not among those in order'));
});

check('a ledger with an index over references is taken over whole, and goes on', async (t) => {
  const file = join(await temporaryFolder(t), 'runtime.db');
  const earlier = { ...operationVerdictsSchema, migrations: operationVerdictsSchema.migrations.slice(0, 4) };
  const before = new RefundDesk(await openSqliteStore({ file, schemas: [operationsSchema, earlier] }), {});
  const dispatch = async (key: string, failure: 'none' | 'after_claim') => {
    const call = refundCall({ idempotencyKey: key, callId: key, operationId: key, responseId: key });
    const approvals = before.approve(USER, call, 'valid', T0);
    return statusRefIn(await before.operations.dispatch(USER, call, { approvals, now: T0, failure }));
  };
  const refs = [
    await dispatch('done', 'none'),
    await dispatch('open', 'after_claim'),
    await dispatch('said', 'after_claim'),
  ];
  await before.store.write('test', async (tx) => {
    await tx.run(`INSERT INTO operation_verdicts VALUES (3, 'not_done', 'person', 'controller-1', 'seen', ${T0 + 90})`);
    await tx.run(`INSERT INTO operation_other_answers VALUES (1, 1, 'r', 'q', '{}', 'p', 's', 'o', ${T0 + 1})`);
  });
  const tables = ['operations', 'outbox', 'local_receipts', 'operation_verdicts', 'operation_other_answers'];
  const everything = (desk: RefundDesk) => Promise.all(tables.map((table) => rowsOf(desk, table)));
  const found = await everything(before);
  await before.close();

  const desk = await anotherDesk(t, file, { verdicts: true });
  assert.deepEqual(await everything(desk), found);
  for (const statusRef of refs) assert.equal(await isFound(desk, statusRef), true);
  assert.equal((await desk.operations.audit()).passed, true);
  assert.equal(await desk.operations.process(refs[1] ?? '', { workerId: 'w', now: T0 + 90 }), 'succeeded');
  assert.equal(await isFound(desk, await stopped(desk, 'next')), true);
  for (const sql of ["UPDATE operation_verdicts SET reason = ''", 'DELETE FROM operation_other_answers'])
    await assert.rejects(desk.store.write('test', (tx) => tx.run(sql)));
});

check('a ledger with a damaged reference is taken over with it, and the audit names it', async (t) => {
  const file = join(await temporaryFolder(t), 'runtime.db');
  const earlier = { ...operationVerdictsSchema, migrations: operationVerdictsSchema.migrations.slice(0, 4) };
  const before = new RefundDesk(await openSqliteStore({ file, schemas: [operationsSchema, earlier] }), {});
  await stopped(before, 'sick');
  const sound = await stopped(before, 'sound');
  await before.close();
  const database = new DatabaseSync(file);
  database.exec('PRAGMA ignore_check_constraints = ON');
  database.exec("UPDATE operations SET status_ref = 'status_broken' WHERE operation_pk = 1");
  database.close();
  const desk = await anotherDesk(t, file, { verdicts: true });
  assert.equal(await isFound(desk, sound), true);
  const { semantic_errors: found } = await desk.operations.audit();
  assert.ok(found.includes('operation status_broken: its status reference is not among those in order'));
});

check('thousands of operations of many callers at once are each found by their reference', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const refs: string[] = [];
  for (let at = 0; at < BATCH + 100; at += 256) {
    const keys = Array.from({ length: 256 }, (_, i) => `k${at + i}`);
    refs.push(...(await Promise.all(keys.map((key) => stopped(desk, key)))));
  }
  assert.deepEqual(await rowsOf(desk, 'operation_ref_batches'), [{ through_pk: BATCH }]);
  const some = refs.filter((_, i) => i % 97 === 0 || (i > BATCH - 3 && i < BATCH + 3));
  for (const statusRef of some) assert.equal(await isFound(desk, statusRef), true);
  assert.equal((await desk.operations.audit()).passed, true);
});

const setBatches = (desk: RefundDesk, ...through: readonly number[]) =>
  desk.store.write('test', async (tx) => {
    await tx.run('DELETE FROM operation_ref_batches');
    for (const pk of through) await tx.run('INSERT INTO operation_ref_batches VALUES (?)', [pk]);
  });

for (const [what, through] of [
  ['raised beyond all operations', [1_000_000]],
  ['raised a little', [BATCH + 2]],
  ['lowered', [BATCH - 2]],
  ['gone', []],
] as const)
  check(`where the end of the batches was ${what}, no operation is hidden, now or by the next batch`, async (t) => {
    const { desk, file, refs } = await acrossBatches(t);
    await setBatches(desk, ...through);
    for (const statusRef of refs) assert.equal(await isFound(desk, statusRef), true);
    renumber(file, BATCH + 1, 2 * BATCH - 1);
    for (const key of ['g', 'h']) refs.push(await stopped(desk, key));
    for (const statusRef of refs) assert.equal(await isFound(desk, statusRef), true);
    const ordered = await rowsOf(desk, 'operation_status_refs');
    assert.deepEqual([ordered.length, (await desk.operations.counts()).operations], [7, 8]);
  });

check('an operation that has the number of one that was ordered and is gone is found', async (t) => {
  const { desk, file } = await freshDesk(t, { verdicts: true });
  await stopped(desk, 'a');
  renumber(file, 1, BATCH - 1);
  await stopped(desk, 'b');
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  for (const table of ['outbox', 'operations'])
    database.exec(`DELETE FROM ${table} WHERE operation_pk >= ${BATCH - 1}`);
  database.close();
  for (const key of ['c', 'd', 'e']) assert.equal(await isFound(desk, await stopped(desk, key)), true);
});

check('a reference that leads elsewhere as well hides nothing', async (t) => {
  const { desk, refs } = await acrossBatches(t);
  for (const statusRef of [refs[1], refs[5]]) {
    const ref = Buffer.from(String(statusRef).slice(7), 'hex');
    await desk.store.write('test', (tx) => tx.run('INSERT INTO operation_status_refs VALUES (?, 1)', [ref]));
    assert.equal(await isFound(desk, String(statusRef)), true);
  }
});

/** So many copies of operation 1 under other references; what is proved of an operation does not fit them. */
function copies(file: string, many: number): void {
  const database = new DatabaseSync(file);
  const columns = database
    .prepare("SELECT name FROM pragma_table_info('operations')")
    .all()
    .map((row) => String(row['name']));
  const changed: Readonly<Record<string, string>> = {
    operation_pk: 'n.value',
    idempotency_key: "'copy-' || n.value",
    status_ref: "format('status_%032x', n.value)",
  };
  const values = columns.map((column) => changed[column] ?? column).join();
  database.exec(`WITH RECURSIVE n (value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM n WHERE value < ${many})
    INSERT INTO operations (${columns.join()}) SELECT ${values} FROM operations, n WHERE operation_pk = 1`);
  database.close();
}

const median = (of: readonly number[]) => [...of].sort((a, b) => a - b)[of.length >> 1] ?? 0;

check("another tenant's reference takes as long as one that is not there, ordered and new", async (t) => {
  const { desk, file } = await freshDesk(t, { verdicts: true });
  const ordered = await stopped(desk, 'a');
  await desk.store.write('test', async (tx) => {
    await tx.run('INSERT INTO operation_status_refs VALUES (?, 1)', [Buffer.from(ordered.slice(7), 'hex')]);
    await tx.run('INSERT INTO operation_ref_batches VALUES (1)');
  });
  copies(file, BATCH - 2);
  const asked = [ordered, await stopped(desk, 'b'), ABSENT];
  const theirs = new Principal('tenant-b', 'controller-1');
  const times = asked.map((): number[] => []);
  for (let round = 0; round < 60; round += 1)
    for (const [at, statusRef] of asked.entries()) {
      const before = performance.now();
      await assert.rejects(desk.operations.show(theirs, statusRef, T0), { code: 'OPERATION_NOT_FOUND' });
      times[at]?.push(performance.now() - before);
    }
  const [first = 0, second = 0, absent = 0] = times.map(median);
  t.diagnostic(`${first} ${second} ${absent}`);
  for (const found of [first, second]) assert.ok(found > absent / 3 && found < absent * 3, `${found} beside ${absent}`);
});
