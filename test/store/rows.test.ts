import { DatabaseSync } from 'node:sqlite';
import { RowShape } from '../../src/store/sqlite/row-shape.ts';
import { Statements } from '../../src/store/sqlite/statements.ts';
import { assert, check } from '../support/index.ts';
import { openNotes } from '../support/notes-store.ts';

const bytes = new Uint8Array([0, 255]);

check('a row has its columns by name, whatever they hold, and is of nobody else', async (t) => {
  const { store } = await openNotes(t);
  const text = `SELECT column1 AS a, column2 AS b, column1 AS a FROM (VALUES (?, ?), (?, ?), (?, ?)) WHERE 1 = 1`;
  await store.write('rows', async (tx) => {
    const [first, second, third] = await tx.all(text, [1, 'text', 0.5, null, bytes, '']);
    assert.deepEqual({ ...first }, { a: 1, b: 'text' });
    assert.deepEqual({ ...second }, { a: 0.5, b: null });
    assert.deepEqual({ ...third }, { a: bytes, b: '' });
    assert.deepEqual(Object.keys(first ?? {}), ['a', 'b']);
    assert.deepEqual({ ...(await tx.get(text, ['x', 2, 3, 4, 5, 6])) }, { a: 'x', b: 2 });
    const [again] = await tx.all(text, [7, 8, 9, 10, 11, 12]);
    Object.assign(again ?? {}, { a: 'changed' });
    assert.deepEqual({ ...(await tx.get(text, [null, 1, 2, 3, 4, 5])) }, { a: null, b: 1 });
  });
});

check('a row of many columns, of a write that returns, of none, and of large integers', async (t) => {
  const { store } = await openNotes(t);
  const names = Array.from({ length: 60 }, (_, i) => `c${i}`);
  await store.write('rows', async (tx) => {
    const wide = await tx.get(`SELECT ${names.map((name, i) => `${i} AS ${name}`).join(', ')}`);
    assert.deepEqual({ ...wide }, Object.fromEntries(names.map((name, i) => [name, i])));
    assert.equal(await tx.get('SELECT 1 AS one WHERE 1 = 0'), undefined);
    assert.deepEqual(await tx.all('SELECT 1 AS one WHERE 1 = 0'), []);
    const large = { text: 'SELECT 9007199254740993 AS n, count(*) AS c', integers: 'bigint' } as const;
    assert.deepEqual({ ...(await tx.get(large)) }, { n: 9007199254740993n, c: 1n });
  });
});

check('a text is that of its own row, however often it came before or differed', async (t) => {
  const { store } = await openNotes(t);
  const long = 'x'.repeat(100);
  const words: (string | number | null)[] = ['open', 'open', null, 'open', '', long, long, 'open', 7, 'shut'];
  for (let i = 0; i < 200; i += 1) words.push(`id ${i}`);
  words.push('open', 'open', 'shut');
  await store.write('rows', async (tx) => {
    const rows = await tx.all('SELECT value AS word FROM json_each(?)', [JSON.stringify(words)]);
    assert.deepEqual(
      rows.map(({ word }) => word),
      words,
    );
  });
});

check('a star is whatever columns there are now, also where another connection has added one', () => {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE t (a INTEGER, b TEXT) STRICT');
  const statements = new Statements(database);
  const [star, named, insert] = [
    statements.prepare('SELECT * FROM t'),
    statements.prepare('SELECT a, b FROM t WHERE (SELECT count(*) FROM t) > 0'),
    statements.prepare('INSERT INTO t (a, b) VALUES (?, ?) RETURNING a, b'),
  ];
  assert.deepEqual({ ...statements.get(insert, [1, 'x']) }, { a: 1, b: 'x' });
  assert.deepEqual({ ...statements.get(star, []) }, { a: 1, b: 'x' });
  database.exec("ALTER TABLE t RENAME TO u; CREATE VIEW t AS SELECT 'new' AS z, a, b FROM u");
  assert.deepEqual({ ...statements.get(star, []) }, { z: 'new', a: 1, b: 'x' });
  assert.deepEqual(
    statements.all(named, []).map((row) => ({ ...row })),
    [{ a: 1, b: 'x' }],
  );
  database.close();
});

check('where Node.js gives no lists, rows are as the driver makes them', () => {
  const database = new DatabaseSync(':memory:');
  const statement = database.prepare('SELECT 1 AS one');
  const older = Object.create(statement, { setReturnArrays: { value: undefined } }) as typeof statement;
  assert.equal(RowShape.of(older, 'SELECT 1 AS one'), undefined);
  assert.deepEqual({ ...statement.get() }, { one: 1 });
  database.close();
});
