import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { inspectSqliteFile, openSqliteStore } from '../../src/store/sqlite/index.ts';
import { checkDurable } from '../../src/store/sqlite/connection.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { assert, check } from '../support/index.ts';
import { behindItsBack, NOTES_SCHEMA, openNotes } from '../support/notes-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const schemas = [NOTES_SCHEMA];

check(
  'memory, a file address, no name, a missing folder and a NUL are invalid values, and nothing is made',
  async (t) => {
    const folder = await temporaryFolder(t);
    for (const file of [':memory:', '', 'file:x?mode=memory', join(folder, 'none', 'a.db'), join(folder, 'a\0b')])
      await assert.rejects(openSqliteStore({ file, schemas }), { code: 'INVALID_VALUE' }, file);
    assert.deepEqual(readdirSync(folder), []);
  },
);

check(
  'what others could read of a database that is in use is narrowed with it: its log holds the rows, too',
  async (t) => {
    const { store, file, add } = await openNotes(t);
    await add('secret');
    for (const suffix of ['', '-wal', '-shm']) chmodSync(file + suffix, 0o644);
    const { store: other } = await openNotes(t, { file });
    for (const suffix of ['', '-wal', '-shm']) assert.equal(statSync(file + suffix).mode & 0o777, 0o600, suffix);
    await other.close();
    await store.close();
  },
);

check('a busy timeout of nothing, of a fraction or without end is an invalid value', async (t) => {
  const file = join(await temporaryFolder(t), 'a.db');
  for (const busyTimeoutMs of [0, -1, 1.5, 600_001, Number.NaN])
    await assert.rejects(openSqliteStore({ file, schemas, busyTimeoutMs }), { code: 'INVALID_VALUE' });
});

check('a parent that is a plain file, and a folder in the place of the file, are what SQLite says', async (t) => {
  const folder = await temporaryFolder(t);
  writeFileSync(join(folder, 'plain'), '');
  mkdirSync(join(folder, 'folder.db'));
  for (const file of [join(folder, 'plain', 'a.db'), join(folder, 'folder.db')])
    await assert.rejects(openSqliteStore({ file, schemas }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'STORE_CANNOT_OPEN');
      assert.equal((error.cause as { errcode?: number }).errcode, 14);
      assert.ok(!error.message.includes(folder));
      return true;
    });
});

check(
  'the file and its companions are for their owner alone, also where they were made with wider rights',
  async (t) => {
    const { file, add, store } = await openNotes(t);
    await add('a');
    for (const suffix of ['', '-wal', '-shm']) assert.equal(statSync(file + suffix).mode & 0o777, 0o600, suffix);
    await store.close();
    const wide = join(await temporaryFolder(t), 'wide.db');
    writeFileSync(wide, '', { mode: 0o644 });
    await openNotes(t, { file: wide });
    assert.equal(statSync(wide).mode & 0o777, 0o600);
  },
);

check('settings are read back from the connection that writes', async (t) => {
  const { store } = await openNotes(t);
  const { journalMode, synchronous, foreignKeys } = store.settings();
  assert.deepEqual([journalMode, synchronous, foreignKeys], ['wal', 2, 1]);
});

check('a connection that is less than durable is refused, and so is an old SQLite', () => {
  const good = { sqliteVersion: '3.50.0', journalMode: 'wal', synchronous: 2, foreignKeys: 1 };
  const bad = [
    { synchronous: 1 },
    { journalMode: 'delete' },
    { foreignKeys: 0 },
    { sqliteVersion: '3.49.9' },
    { sqliteVersion: '3.9.0' },
  ];
  assert.doesNotThrow(() => checkDurable(good));
  assert.doesNotThrow(() => checkDurable({ ...good, sqliteVersion: '4.0.0' }));
  for (const one of bad) assert.throws(() => checkDurable({ ...good, ...one }), { code: 'STORE_NOT_DURABLE' });
});

check('an old Node is told in one line what to do, before SQLite is touched', () => {
  for (const version of ['20.20.0', '22.17.1', '18.0.0'])
    assert.throws(() => loadDriver(version), { code: 'NODE_TOO_OLD', message: /^[^\n]*22\.18[^\n]*$/ });
  for (const version of ['22.18.0', '24.0.0']) assert.equal(typeof loadDriver(version).DatabaseSync, 'function');
});

check('loading the driver prints no warning, and a later warning of anybody is still printed', () => {
  const program = `
    const { loadDriver } = await import('${new URL('../../src/store/sqlite/driver.ts', import.meta.url).href}');
    const real = process.getBuiltinModule;
    process.getBuiltinModule = (name) => { process.emitWarning('experimental', 'ExperimentalWarning'); return real(name); };
    loadDriver();
    process.emitWarning('of somebody else');`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  assert.doesNotMatch(stderr, /experimental/i);
  assert.match(stderr, /of somebody else/);
});

function bytesOf(file: string): string {
  return readFileSync(file).toString('base64');
}

check('a file that is no database, and a database of somebody else, are refused and stay as they were', async (t) => {
  const folder = await temporaryFolder(t);
  const text = join(folder, 'text.db');
  writeFileSync(text, 'This is no database, but it is long enough to be looked at as one.'.repeat(40));
  const other = join(folder, 'other.db');
  behindItsBack(other, (database) => database.exec('CREATE TABLE accounts (a)'));
  const alike = join(folder, 'alike.db');
  behindItsBack(alike, (database) => database.exec('CREATE TABLE runtime_metadata (a)'));
  const bare = join(folder, 'bare.db');
  const columns = 'metadata_key TEXT, metadata_value TEXT';
  behindItsBack(bare, (database) => database.exec(`CREATE TABLE runtime_metadata (${columns})`));
  for (const file of [text, other, alike, bare]) {
    const before = bytesOf(file);
    await assert.rejects(openSqliteStore({ file, schemas }), { code: 'STORE_FOREIGN' }, file);
    assert.throws(() => inspectSqliteFile({ file, schemas }), { code: 'STORE_FOREIGN' }, file);
    assert.equal(bytesOf(file), before, file);
  }
  assert.deepEqual(readdirSync(folder).toSorted(), ['alike.db', 'bare.db', 'other.db', 'text.db']);
});

check('closing twice is closing once, and no companion is left', async (t) => {
  const { store, file, add } = await openNotes(t);
  await add('a');
  await Promise.all([store.close(), store.close()]);
  await store[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(join(file, '..')), ['notes.db']);
});
