import { plannedOnce, readStatementText } from '../../src/store/sqlite/statement-text.ts';
import { assert, check } from '../support/index.ts';
import { openNotes } from '../support/notes-store.ts';

check('parameters are counted where SQLite counts them, not in texts, names and comments', () => {
  const counted: readonly (readonly [sql: string, params: number])[] = [
    ['SELECT ?', 1],
    ['SELECT \'?\', "?", `?`, [?], ? -- ?\n, ? /* ? */', 2],
    ["SELECT 'it''s ?', ?", 1],
    ['SELECT 1 -- ?', 0],
    ['SELECT 1 /* ?', 0],
    ["SELECT json_extract(a, '$.x') -> '$.y' FROM t WHERE b IN (?, ?, ?)", 3],
    ['SELECT é FROM t WHERE ü = ?', 1],
  ];
  for (const [sql, params] of counted) assert.equal(readStatementText(sql).params, params, sql);
});

check('parameters reach SQLite so that no plan depends on them, with their values and types unchanged', async (t) => {
  const planned = plannedOnce('SELECT \'?\', "?" FROM t WHERE a = ? AND b IN (?,?) -- ?\nLIMIT ?');
  assert.equal(planned, 'SELECT \'?\', "?" FROM t WHERE a = +? AND b IN (+?,+?) -- ?\nLIMIT +?');
  const { store } = await openNotes(t);
  const bytes = new Uint8Array([1, 2]);
  const values = ['1', 'text', 7, 0.5, null, bytes, 2n ** 60n];
  const kept = await store.write('types', (tx) =>
    Promise.all(
      values.map((value) => tx.get({ text: 'SELECT ? AS v, typeof(?) AS t', integers: 'bigint' }, [value, value])),
    ),
  );
  assert.deepEqual(
    kept.map((row) => row?.['t']),
    ['text', 'text', 'real', 'real', 'null', 'blob', 'integer'],
  );
  assert.deepEqual(
    kept.map((row) => row?.['v']),
    ['1', 'text', 7, 0.5, null, bytes, 2n ** 60n],
  );
});

check('a trailing semicolon is no second statement; anything after it is', () => {
  for (const sql of ['SELECT 1;', 'SELECT 1 ; -- done', "SELECT ';'", 'SELECT 1; /* ; */'])
    assert.equal(readStatementText(sql).writes, false, sql);
  for (const sql of ['SELECT 1; SELECT 2', 'SELECT 1;;', "SELECT 1; '", ';SELECT 1'])
    assert.throws(() => readStatementText(sql), { code: 'STORE_SQL_REFUSED' }, sql);
});

check('reads and writes are told apart', () => {
  const writes: readonly (readonly [sql: string, writes: boolean])[] = [
    ['select 1', false],
    ['VALUES (1)', false],
    ['EXPLAIN QUERY PLAN SELECT 1', false],
    ['/* why */ insert into t values (1)', true],
    ['REPLACE INTO t VALUES (1)', true],
    ['UPDATE t SET a = 1', true],
    ['DELETE FROM t', true],
    ["WITH a AS (SELECT 1) SELECT replace(b, 'x', 'y') FROM a", false],
    ['WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a', true],
    ['PRAGMA integrity_check', false],
    ['PRAGMA table_info(notes)', false],
  ];
  for (const [sql, expected] of writes) assert.equal(readStatementText(sql).writes, expected, sql);
});

check('what would end the shared transaction, change the schema or reach another file is refused', () => {
  const refused =
    'BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT a|RELEASE a|ATTACH ? AS b|DETACH b|VACUUM|REINDEX|ANALYZE|CREATE TABLE t (a)|ALTER TABLE t ADD b|DROP TABLE t||  ';
  for (const sql of refused.split('|')) assert.throws(() => readStatementText(sql), { code: 'STORE_SQL_REFUSED' }, sql);
  assert.throws(() => readStatementText('SELECT 1\0; DROP TABLE t'), { code: 'STORE_SQL_REFUSED' });
});

check('a text is prepared once, and after 512 others again', async (t) => {
  const { store } = await openNotes(t);
  const many = await store.write('many', async (tx) => {
    const values: unknown[] = [];
    for (let i = 0; i < 600; i += 1) values.push((await tx.get(`SELECT ${i} AS n`))?.['n']);
    values.push((await tx.get('SELECT 0 AS n'))?.['n']);
    return values;
  });
  assert.deepEqual(many, [...Array.from({ length: 600 }, (_, i) => i), 0]);
});

check('the observer is told each statement with the name of its body, and each commit', async (t) => {
  const { store, counts } = await openNotes(t);
  await store.write('notes.size', (tx) => tx.get('SELECT 1'));
  assert.deepEqual(counts.statementsOf('notes.size'), ['SELECT 1']);
  assert.equal(counts.count('statement'), 1);
  const last = counts.events.at(-1);
  assert.deepEqual(last, { kind: 'committed', names: ['notes.size'], wrote: false });
});

check('an error of SQL itself has a code, hides the statement, and keeps the driver error as its cause', async (t) => {
  const { store } = await openNotes(t);
  const failing = store.write('typo', (tx) => tx.get('SELECT secret_name FROM nowhere'));
  await assert.rejects(failing, (error: Error & { code?: string }) => {
    assert.equal(error.code, 'STORE_SQL_FAILED');
    assert.doesNotMatch(error.message, /secret_name|nowhere/);
    assert.match(String(error.cause), /no such table: nowhere/);
    return true;
  });
});
