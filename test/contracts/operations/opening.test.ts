import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { HoldfastError } from '../../../src/core/index.ts';
import { operationsSchema, operationVerdictsSchema } from '../../../src/operations/index.ts';
import { countingObserver } from '../../../src/store/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { openDesk, RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { errorKind } from '../../fixtures/refund-desk/error-kinds.ts';
import { injectAbort } from '../../fixtures/refund-desk/replay/tables.ts';
import { assert, check, contract, temporaryFolder } from '../../support/index.ts';
import { anotherDesk, codeOf, freshDesk, statusRefIn } from './desk.ts';

const TABLES = ['call_bindings', 'downstream_receipts', 'local_receipts', 'operations', 'outbox', 'runtime_metadata'];
const NOTHING = { call_bindings: 0, operations: 0, outbox: 0, downstream_receipts: 0, local_receipts: 0 };

const isKind = (kind: string) => (error: unknown) => errorKind(error) === kind;

contract('OPS-18 OPS-19', 'a new runtime writes ahead and waits for the disk', async (t) => {
  const { desk } = await freshDesk(t);
  const audit = await desk.operations.audit();
  assert.equal(audit.journal_mode, 'wal');
  assert.equal(audit.synchronous, 2);
});

contract('OPS-20', 'the whole audit opens exactly one connection', async (t) => {
  const counts = countingObserver();
  const { desk } = await freshDesk(t, { observer: counts.observe });
  counts.reset();
  await desk.operations.audit();
  assert.equal(counts.count('connection_opened'), 1);
  assert.equal(counts.count('snapshot'), 1);
});

contract('OPS-21 OPS-22 OPS-23 OPS-24', 'a new runtime passes its audit', async (t) => {
  const { desk } = await freshDesk(t);
  const audit = await desk.operations.audit();
  assert.deepEqual(audit.integrity_check, ['ok']);
  assert.deepEqual(audit.foreign_key_violations, []);
  assert.deepEqual(audit.semantic_errors, []);
  assert.equal(audit.passed, true);
});

contract('OPS-25 OPS-26', 'operations alone have exactly six tables, all of them STRICT', async (t) => {
  const { file } = await freshDesk(t);
  const database = new DatabaseSync(file, { readOnly: true });
  t.after(() => database.close());
  const tables = database
    .prepare(
      "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all()
    .sort((a, b) => (String(a['name']) < String(b['name']) ? -1 : 1));
  assert.deepEqual(
    tables.map((row) => row['name']),
    TABLES,
  );
  assert.ok(tables.every((row) => row['strict'] === 1));
});

contract('OPS-27', 'every connection that is handed out keeps foreign keys', async (t) => {
  const { desk } = await freshDesk(t);
  const reading = await desk.store.read('test', (tx) => tx.get('PRAGMA foreign_keys'));
  const writing = await desk.store.write('test', (tx) => tx.get('PRAGMA foreign_keys'));
  assert.deepEqual(
    [reading, writing].map((row) => Object.values(row ?? {})[0]),
    [1, 1],
  );
});

contract('OPS-28', 'memory cannot serve several connections', async () => {
  await assert.rejects(openDesk(':memory:'), isKind('invalid_value'));
});

contract('OPS-29', 'a missing folder is refused and not created', async (t) => {
  const folder = join(await temporaryFolder(t), 'absent');
  await assert.rejects(openDesk(join(folder, 'runtime.db')), isKind('invalid_value'));
  assert.equal(existsSync(folder), false);
});

contract('OPS-30', 'a busy time-out of nothing is refused', async (t) => {
  const file = join(await temporaryFolder(t), 'runtime.db');
  await assert.rejects(openDesk(file, { busyTimeoutMs: 0 }), isKind('invalid_value'));
});

contract('OPS-31', 'a database of another schema version is refused', async (t) => {
  const { desk, file } = await freshDesk(t);
  await desk.store.write('test', (tx) =>
    tx.run("UPDATE runtime_metadata SET metadata_value = 'future' WHERE metadata_key = 'schema_version'"),
  );
  await assert.rejects(openDesk(file), isKind('persistence_contract_error'));
});

contract('OPS-32 OPS-33', 'a lease without owner and end is refused by the table itself', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const result = await desk.operations.dispatch(USER, call, { approvals, now: T0, failure: 'after_intent_commit' });
  assert.equal(codeOf(result), 'OUTCOME_UNKNOWN');
  const shape = "UPDATE outbox SET state = 'processing', lease_owner = NULL, lease_until = NULL";
  await assert.rejects(
    desk.store.write('test', (tx) => tx.run(shape)),
    isKind('sqlite_constraint_error'),
  );
});

contract('OPS-34 OPS-35 OPS-36 OPS-37', 'intent, outbox row and call binding stand or fall together', async (t) => {
  const { desk, file } = await freshDesk(t);
  injectAbort(file, 'outbox', 'insert', 'every row');
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const dispatched = desk.operations.dispatch(USER, call, { approvals, now: T0, failure: 'after_intent_commit' });
  await assert.rejects(dispatched, (error: unknown) => {
    assert.ok(error instanceof HoldfastError && error.code === 'STORE_CONSTRAINT');
    assert.ok(error.cause instanceof Error && 'errcode' in error.cause);
    return true;
  });
  const counts = await desk.operations.counts();
  assert.equal(counts.operations, 0);
  assert.equal(counts.outbox, 0);
  assert.equal(counts.call_bindings, 0);
});

contract('OPS-38', 'a new runtime counts five tables, all empty', async (t) => {
  const { desk } = await freshDesk(t);
  assert.deepEqual(await desk.operations.counts(), NOTHING);
});

check('a refused file is left as it was', async (t) => {
  const { desk, file } = await freshDesk(t);
  const call = refundCall();
  await desk.operations.dispatch(USER, call, { approvals: desk.approve(USER, call, 'valid', T0), now: T0 });
  await desk.store.write('test', (tx) =>
    tx.run("UPDATE runtime_metadata SET metadata_value = 'future' WHERE metadata_key = 'schema_version'"),
  );
  await desk.close();
  const tables = () => {
    const database = new DatabaseSync(file, { readOnly: true });
    const rows = database.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();
    database.close();
    return JSON.stringify(rows);
  };
  const before = tables();
  await assert.rejects(openDesk(file), isKind('persistence_contract_error'));
  assert.equal(tables(), before);
  assert.ok(readdirSync(join(file, '..')).every((name) => name.startsWith('runtime.db')));
});

check(
  'a ledger that was made with the outbox in the order of its events is taken over whole, and goes on',
  async (t) => {
    const file = join(await temporaryFolder(t), 'runtime.db');
    const earlierVerdicts = { ...operationVerdictsSchema, migrations: operationVerdictsSchema.migrations.slice(0, 2) };
    const schemas = [operationsSchema, earlierVerdicts];
    const before = new RefundDesk(await openSqliteStore({ file, schemas }), {});
    const dispatch = async (key: string, failure: 'none' | 'after_intent_commit') => {
      const call = refundCall({ idempotencyKey: key, callId: key, operationId: key, responseId: key });
      const approvals = before.approve(USER, call, 'valid', T0);
      return statusRefIn(await before.operations.dispatch(USER, call, { approvals, now: T0, failure }));
    };
    await dispatch('done', 'none');
    const pending = await dispatch('pending', 'after_intent_commit');
    const outbox = (desk: RefundDesk) =>
      desk.store.read('test', (tx) => tx.all('SELECT * FROM outbox ORDER BY operation_pk'));
    const [found, counts] = [await outbox(before), await before.operations.counts()];
    await before.close();

    const desk = await anotherDesk(t, file, { verdicts: true });
    assert.deepEqual([await outbox(desk), await desk.operations.counts()], [found, counts]);
    assert.equal((await desk.operations.audit()).passed, true);
    assert.equal(await desk.operations.process(pending, { workerId: 'worker', now: T0 + 1 }), 'succeeded');
    assert.equal((await desk.operations.audit()).passed, true);
  },
);

check(
  'an earlier ledger with an outbox row of no operation is taken over with it, and the audit names it',
  async (t) => {
    const file = join(await temporaryFolder(t), 'runtime.db');
    const earlierVerdicts = { ...operationVerdictsSchema, migrations: operationVerdictsSchema.migrations.slice(0, 2) };
    await (await openSqliteStore({ file, schemas: [operationsSchema, earlierVerdicts] })).close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA foreign_keys = OFF');
    database.exec("INSERT INTO outbox VALUES ('outbox_x', 7, '{}', 'pending', NULL, NULL, 0, 1, 1)");
    database.close();
    const desk = await anotherDesk(t, file, { verdicts: true });
    const audit = await desk.operations.audit();
    assert.deepEqual(audit.semantic_errors, ['outbox row 7 belongs to no operation']);
    assert.deepEqual(audit.foreign_key_violations, [['outbox', 7, 'operations', 0]]);
  },
);
