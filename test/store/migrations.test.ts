import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContextSchema } from '../../src/store/index.ts';
import { inspectSqliteFile, openSqliteStore } from '../../src/store/sqlite/index.ts';
import { armFaults } from '../support/faults.ts';
import { assert, check } from '../support/index.ts';
import { behindItsBack } from '../support/notes-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function migration(number: number, sqlite: string, needs: { context: string; number: number }[] = []) {
  return { number, name: `step ${number}`, sqlite, needs };
}

const A1 = migration(1, 'CREATE TABLE a1 (x INTEGER) STRICT');
const A2 = migration(2, 'CREATE TABLE a2 (x INTEGER) STRICT; CREATE INDEX a2_x ON a2 (x)');
const A3 = migration(3, 'INSERT INTO b1 VALUES (3)', [{ context: 'b', number: 1 }]);
const B1 = migration(1, 'CREATE TABLE b1 (x INTEGER) STRICT', [{ context: 'a', number: 2 }]);

function context(name: string, ...migrations: ContextSchema['migrations']): ContextSchema {
  return { context: name, migrations };
}

async function openAndClose(file: string, schemas: readonly ContextSchema[]): Promise<void> {
  await (await openSqliteStore({ file, schemas })).close();
}

function tables(file: string): string[] {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
  return behindItsBack(file, (database) => database.prepare(sql).all()).map((row) => String(row['name']));
}

function metadata(file: string): Record<string, string> {
  const rows = behindItsBack(file, (database) => database.prepare('SELECT * FROM runtime_metadata').all());
  return Object.fromEntries(rows.map((row) => [String(row['metadata_key']), String(row['metadata_value'])]));
}

async function place(t: Parameters<typeof temporaryFolder>[0]): Promise<string> {
  return join(await temporaryFolder(t), 'a.db');
}

check('a context opened alone has its own tables and the one of bookkeeping, no more', async (t) => {
  const file = await place(t);
  await openAndClose(file, [context('a', A1)]);
  assert.deepEqual(tables(file), ['a1', 'runtime_metadata']);
});

check('each applied migration is recorded with its name and the SHA-256 of number, name and text', async (t) => {
  const file = await place(t);
  await openAndClose(file, [context('a', migration(1, 'CREATE TABLE t (x INTEGER) STRICT'))]);
  assert.deepEqual(metadata(file), {
    'migration:a:0001': '50a336af021116443444e604986a11a4f1ba6aad139631881e4362c69ef26f5d step 1',
  });
});

check('later migrations are added to an older database, across contexts in the order of their needs', async (t) => {
  const file = await place(t);
  await openAndClose(file, [context('a', A1)]);
  const schemas = [context('b', B1), context('a', A1, A2, A3)];
  assert.deepEqual(inspectSqliteFile({ file, schemas }), {
    state: 'behind',
    pending: [
      { context: 'a', number: 2, name: 'step 2' },
      { context: 'b', number: 1, name: 'step 1' },
      { context: 'a', number: 3, name: 'step 3' },
    ],
  });
  await openAndClose(file, schemas);
  assert.deepEqual(tables(file), ['a1', 'a2', 'b1', 'runtime_metadata']);
  assert.deepEqual(inspectSqliteFile({ file, schemas }), { state: 'current', pending: [] });
});

check('a need that is absent or goes in a circle is an invalid value, and no file is made', async (t) => {
  const file = await place(t);
  const circle = [
    context('a', migration(1, 'SELECT 1', [{ context: 'b', number: 1 }])),
    context('b', migration(1, 'SELECT 1', [{ context: 'a', number: 1 }])),
  ];
  await assert.rejects(openSqliteStore({ file, schemas: circle }), { code: 'INVALID_VALUE' });
  await assert.rejects(openSqliteStore({ file, schemas: [context('b', B1)] }), { code: 'INVALID_VALUE' });
});

check('contexts have one name each, number from 1 without gaps, and one at most fixes the version', async (t) => {
  const file = await place(t);
  const wrong = [
    [context('a', A1), context('a', A1)],
    [context('a', A2)],
    [context('a', A1, { ...A2, number: 3 })],
    [context('A b', A1)],
    [
      { ...context('a', A1), schemaVersion: 'x' },
      { ...context('b', A1), schemaVersion: 'y' },
    ],
  ];
  for (const schemas of wrong) await assert.rejects(openSqliteStore({ file, schemas }), { code: 'INVALID_VALUE' });
});

const KNOWN = [context('a', A1, A2)];

async function refusedAndUntouched(file: string, schemas: readonly ContextSchema[], code: string): Promise<void> {
  const before = readFileSync(file).toString('base64');
  await assert.rejects(openSqliteStore({ file, schemas }), { code });
  assert.throws(() => inspectSqliteFile({ file, schemas }), { code });
  assert.equal(readFileSync(file).toString('base64'), before);
}

check('a database with a later migration or a context of a newer build is refused, unchanged', async (t) => {
  const file = await place(t);
  await openAndClose(file, KNOWN);
  await refusedAndUntouched(file, [context('a', A1)], 'STORE_NEWER');
  await refusedAndUntouched(file, [context('b', migration(1, 'CREATE TABLE b (x INTEGER) STRICT'))], 'STORE_NEWER');
});

check('a database whose migrations had another text or name is refused, unchanged', async (t) => {
  const file = await place(t);
  await openAndClose(file, KNOWN);
  await refusedAndUntouched(file, [context('a', { ...A1, sqlite: `${A1.sqlite} ` }, A2)], 'STORE_ALTERED');
  await refusedAndUntouched(file, [context('a', A1, { ...A2, name: 'renamed' })], 'STORE_ALTERED');
  behindItsBack(file, (database) =>
    database.exec("UPDATE runtime_metadata SET metadata_value = 'x' WHERE metadata_key = 'migration:a:0002'"),
  );
  await refusedAndUntouched(file, KNOWN, 'STORE_ALTERED');
});

check('a database that lacks a migration before one that it has is refused, unchanged', async (t) => {
  const file = await place(t);
  await openAndClose(file, KNOWN);
  behindItsBack(file, (database) =>
    database.exec("DELETE FROM runtime_metadata WHERE metadata_key = 'migration:a:0001'"),
  );
  await refusedAndUntouched(file, KNOWN, 'STORE_ALTERED');
});

check('another schema version is refused before any table is made', async (t) => {
  const file = await place(t);
  const schemas = [{ ...context('a', A1), schemaVersion: 'contract-v3' }];
  await openAndClose(file, schemas);
  assert.equal(metadata(file)['schema_version'], 'contract-v3');
  const newer = [{ ...context('a', A1, A2), schemaVersion: 'contract-v3' }];
  const set = (text: string) => behindItsBack(file, (database) => database.exec(text));
  set("UPDATE runtime_metadata SET metadata_value = 'future' WHERE metadata_key = 'schema_version'");
  await refusedAndUntouched(file, newer, 'STORE_SCHEMA_VERSION');
  set("DELETE FROM runtime_metadata WHERE metadata_key = 'schema_version'");
  await refusedAndUntouched(file, newer, 'STORE_SCHEMA_VERSION');
  assert.deepEqual(tables(file), ['a1', 'runtime_metadata']);
  set("INSERT INTO runtime_metadata VALUES ('schema_version', 'contract-v3')");
  await refusedAndUntouched(file, [context('a', A1)], 'STORE_SCHEMA_VERSION');
  await openAndClose(file, newer);
  assert.deepEqual(tables(file), ['a1', 'a2', 'runtime_metadata']);
});

check('a migration that fails leaves none of those that came with it', async (t) => {
  const file = await place(t);
  await openAndClose(file, [context('a', A1)]);
  const broken = [
    context('a', A1, A2, migration(3, 'CREATE TABLE a3 (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1)')),
  ];
  await assert.rejects(openSqliteStore({ file, schemas: broken }), {
    code: 'STORE_SQL_FAILED',
    details: { context: 'a', migration: 3 },
  });
  assert.deepEqual(tables(file), ['a1', 'runtime_metadata']);
  await openAndClose(file, KNOWN);
});

const PAIRS = migration(
  1,
  'CREATE TABLE l (id INTEGER PRIMARY KEY) STRICT; CREATE TABLE r (l INTEGER NOT NULL REFERENCES l (id)) STRICT',
);
const MADE_ANEW = migration(
  2,
  'ALTER TABLE r RENAME TO old; CREATE TABLE r (l INTEGER PRIMARY KEY REFERENCES l (id)) STRICT; INSERT INTO r SELECT * FROM old; DROP TABLE old',
);

check('a table that is made anew keeps a row whose reference points nowhere, for the check to name it', async (t) => {
  const file = await place(t);
  await openAndClose(file, [context('p', PAIRS)]);
  behindItsBack(file, (database) => database.exec('PRAGMA foreign_keys = OFF; INSERT INTO r VALUES (7)'));
  const store = await openSqliteStore({ file, schemas: [context('p', PAIRS, MADE_ANEW)] });
  t.after(() => store.close());
  assert.deepEqual(await store.read('test', (tx) => tx.all('SELECT l AS id FROM r')), [{ id: 7 }]);
  assert.deepEqual(store.integrityCheck().foreignKeys, ['r']);
  assert.equal(store.settings().foreignKeys, 1);
  const more = store.write('test', (tx) => tx.run('INSERT INTO r VALUES (8)'));
  await assert.rejects(more, { code: 'STORE_CONSTRAINT' });
});

const CHECKED = migration(1, 'CREATE TABLE c (x INTEGER NOT NULL CHECK (x > 0)) STRICT');
const CHECKED_ANEW = migration(
  2,
  'ALTER TABLE c RENAME TO old; CREATE TABLE c (x INTEGER PRIMARY KEY CHECK (x > 0)) STRICT; INSERT INTO c SELECT * FROM old; DROP TABLE old',
);
const AS_FOUND = { ...CHECKED_ANEW, carriesAsFound: true };

check('a table that is only made anew keeps a row that has no allowed shape, for the check to name it', async (t) => {
  const file = await place(t);
  await openAndClose(file, [context('c', CHECKED)]);
  behindItsBack(file, (database) => database.exec('PRAGMA ignore_check_constraints = ON; INSERT INTO c VALUES (-7)'));
  await assert.rejects(openSqliteStore({ file, schemas: [context('c', CHECKED, CHECKED_ANEW)] }), {
    code: 'STORE_CONSTRAINT',
  });
  const store = await openSqliteStore({ file, schemas: [context('c', CHECKED, AS_FOUND)] });
  t.after(() => store.close());
  assert.deepEqual(await store.read('test', (tx) => tx.all('SELECT x FROM c')), [{ x: -7 }]);
  assert.deepEqual(store.integrityCheck().integrity, ['CHECK constraint failed in c']);
  await assert.rejects(
    store.write('test', (tx) => tx.run('INSERT INTO c VALUES (-8)')),
    { code: 'STORE_CONSTRAINT' },
  );
});

for (const [what, sqlite] of [
  ['leaves a reference that points nowhere', 'INSERT INTO r VALUES (7)'],
  ['breaks a constraint', 'INSERT INTO l VALUES (1), (1)'],
] as const)
  check(`a migration that ${what} is refused as that, and leaves nothing`, async (t) => {
    const file = await place(t);
    await openAndClose(file, [context('p', PAIRS)]);
    const opening = openSqliteStore({ file, schemas: [context('p', PAIRS, migration(2, sqlite))] });
    await assert.rejects(opening, { code: 'STORE_CONSTRAINT' });
    assert.deepEqual(Object.keys(metadata(file)), ['migration:p:0001']);
  });

check('a migration that ends the transaction is refused', async (t) => {
  const file = await place(t);
  const schemas = [context('a', migration(1, 'CREATE TABLE a1 (x INTEGER) STRICT; ROLLBACK'))];
  await assert.rejects(openSqliteStore({ file, schemas }), { code: 'INVALID_VALUE' });
  assert.deepEqual(tables(file), []);
});

check('an error at any migration step leaves the database as it was', async (t) => {
  for (const step of [1, 2]) {
    const file = await place(t);
    const mine = new Error('mine');
    const faults = armFaults({ point: 'migration-step', step, act: mine });
    await assert.rejects(openSqliteStore({ file, schemas: KNOWN, faults }), (error) => error === mine);
    assert.equal(faults.fired(), 1);
    assert.deepEqual(tables(file), []);
    await openAndClose(file, KNOWN);
  }
});

check('several openings of a new file at once all succeed, and each migration is applied once', async (t) => {
  const file = await place(t);
  const stores = await Promise.all([1, 2, 3, 4].map(() => openSqliteStore({ file, schemas: KNOWN })));
  await Promise.all(stores.map((store) => store.close()));
  assert.deepEqual(Object.keys(metadata(file)).toSorted(), ['migration:a:0001', 'migration:a:0002']);
});
