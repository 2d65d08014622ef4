import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { restoreSqliteBackup } from '../../src/store/sqlite/index.ts';
import { armFaults } from '../support/faults.ts';
import { assert, check } from '../support/index.ts';
import { behindItsBack, NOTES_SCHEMA, openNotes } from '../support/notes-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const schemas = [NOTES_SCHEMA];

check('a backup taken while others write is whole, holds all that was acknowledged before it, and opens', async (t) => {
  const { store, add, file } = await openNotes(t);
  const target = join(await temporaryFolder(t), 'backup.db');
  for (let i = 0; i < 50; i += 1) await add(`before${i}`);
  let going = true;
  const writing = (async () => {
    for (let i = 0; going; i += 1) await add(`during${i}`);
  })();
  const report = await store.backup(target);
  going = false;
  await writing;
  assert.equal(report.ok, true);
  assert.deepEqual(readdirSync(join(target, '..')), ['backup.db']);
  assert.equal(statSync(target).mode & 0o777, 0o600);
  const place = join(file, '..', 'restored.db');
  assert.equal((await restoreSqliteBackup({ backup: target, file: place, schemas })).ok, true);
  const restored = await openNotes(t, { file: place });
  const ids = await restored.ids();
  assert.equal(ids.filter((id) => id.startsWith('before')).length, 50);
  await restored.add('after');
  assert.ok(existsSync(target));
});

check('a backup is never written over anything', async (t) => {
  const { store, file } = await openNotes(t);
  const target = join(await temporaryFolder(t), 'taken');
  writeFileSync(target, 'mine');
  await assert.rejects(store.backup(target), { code: 'STORE_TARGET_EXISTS' });
  await assert.rejects(store.backup(file), { code: 'STORE_TARGET_EXISTS' });
  assert.equal(readFileSync(target, 'utf8'), 'mine');
  await assert.rejects(store.backup(join(target, '..', 'none', 'x')), { code: 'INVALID_VALUE' });
});

check('a name that is taken while the backup is written is not lost', async (t) => {
  const target = join(await temporaryFolder(t), 'backup.db');
  const faults = armFaults({ point: 'backup-written', act: () => writeFileSync(target, 'mine') });
  const { store } = await openNotes(t, { faults });
  await assert.rejects(store.backup(target), { code: 'STORE_TARGET_EXISTS' });
  assert.equal(readFileSync(target, 'utf8'), 'mine');
  assert.deepEqual(readdirSync(join(target, '..')), ['backup.db']);
});

check('an error after a backup was written leaves no file, and the next one succeeds', async (t) => {
  const target = join(await temporaryFolder(t), 'backup.db');
  const mine = new Error('mine');
  const faults = armFaults({ point: 'backup-written', act: mine });
  const { store } = await openNotes(t, { faults });
  await assert.rejects(store.backup(target), (error) => error === mine);
  assert.deepEqual(readdirSync(join(target, '..')), []);
  assert.equal((await store.backup(target)).ok, true);
});

check('while a backup or restore is made, another one to its place is refused and takes nothing from it', async (t) => {
  const folder = await temporaryFolder(t);
  const target = join(folder, 'backup.db');
  const refused: unknown[] = [];
  const other = await openNotes(t);
  const act = async () => {
    await other.store.backup(target).catch((error: unknown) => refused.push(error));
  };
  const { store, add, file } = await openNotes(t, { faults: armFaults({ point: 'backup-written', act }) });
  await add('mine');
  assert.equal((await store.backup(target)).ok, true);
  assert.deepEqual(
    refused.map((error) => (error as { code?: string }).code),
    ['STORE_BUSY'],
  );
  assert.deepEqual(readdirSync(folder), ['backup.db']);
  const place = join(file, '..', 'restored.db');
  assert.equal((await restoreSqliteBackup({ backup: target, file: place, schemas })).ok, true);
  assert.deepEqual(await (await openNotes(t, { file: place })).ids(), ['mine']);
});

check('what a killed backup left is removed by the next one', async (t) => {
  const folder = await temporaryFolder(t);
  for (const name of ['backup.db.partial', 'backup.db.partial-wal', 'backup.db.partial-lock'])
    writeFileSync(join(folder, name), '', { mode: 0o600 });
  const { store } = await openNotes(t);
  assert.equal((await store.backup(join(folder, 'backup.db'))).ok, true);
  assert.deepEqual(readdirSync(folder), ['backup.db']);
});

check('a database whose rows contradict each other is found by the check and makes no backup', async (t) => {
  const { store, file, add } = await openNotes(t);
  await add('a');
  behindItsBack(file, (database) => database.exec('PRAGMA ignore_check_constraints = ON; UPDATE notes SET size = -1'));
  const report = store.integrityCheck();
  assert.equal(report.ok, false);
  assert.match(report.integrity.join(), /CHECK constraint failed in notes/);
  const target = join(await temporaryFolder(t), 'backup.db');
  await assert.rejects(store.backup(target), { code: 'STORE_CORRUPT' });
  assert.deepEqual(readdirSync(join(target, '..')), []);
});

check('the check finds references that point nowhere, changed triggers and records that do not fit', async (t) => {
  const schema = {
    context: 'pairs',
    migrations: [
      {
        number: 1,
        name: 'pairs',
        sqlite:
          "CREATE TABLE l (id TEXT PRIMARY KEY) STRICT; CREATE TABLE r (l TEXT REFERENCES l (id)) STRICT; CREATE TRIGGER keep BEFORE DELETE ON l BEGIN SELECT RAISE(ABORT, 'no'); END",
      },
    ],
  };
  const { store, file } = await openNotes(t, { schemas: [schema] });
  assert.deepEqual(store.integrityCheck(), { ok: true, integrity: [], foreignKeys: [], migrations: [], schema: [] });
  behindItsBack(file, (database) => database.exec("PRAGMA foreign_keys = OFF; INSERT INTO r VALUES ('nobody')"));
  behindItsBack(file, (database) => database.exec('DROP TRIGGER keep'));
  const found = store.integrityCheck();
  assert.deepEqual([found.ok, found.foreignKeys, found.schema], [false, ['r'], ['trigger keep']]);
  behindItsBack(file, (database) => database.exec("UPDATE runtime_metadata SET metadata_value = 'x'"));
  assert.deepEqual(store.integrityCheck().migrations, ['STORE_ALTERED']);
});

check('a restore goes only into an empty place, and from a file that is a sound backup', async (t) => {
  const { store, file, add } = await openNotes(t);
  await add('a');
  const folder = await temporaryFolder(t);
  const backup = join(folder, 'backup.db');
  await store.backup(backup);
  const into = (name: string, from = backup) =>
    restoreSqliteBackup({ backup: from, file: join(folder, name), schemas });
  writeFileSync(join(folder, 'taken.db'), 'x');
  writeFileSync(join(folder, 'half.db-wal'), 'x');
  await assert.rejects(into('taken.db'), { code: 'STORE_TARGET_EXISTS' });
  await assert.rejects(into('half.db'), { code: 'STORE_TARGET_EXISTS' });
  await assert.rejects(into('new.db', join(folder, 'none')), { code: 'INVALID_VALUE' });
  await assert.rejects(into('new.db', file), { code: 'INVALID_VALUE' });
  const cut = join(folder, 'cut.db');
  writeFileSync(cut, readFileSync(backup).subarray(0, 5_000));
  await assert.rejects(into('new.db', cut), { family: 'corruption' });
  const text = join(folder, 'text');
  writeFileSync(text, 'no database at all '.repeat(400));
  await assert.rejects(into('new.db', text), { code: 'STORE_FOREIGN' });
  const torn = join(folder, 'torn.db');
  copyFileSync(backup, torn);
  behindItsBack(torn, (database) => database.exec('DELETE FROM runtime_metadata'));
  await assert.rejects(into('new.db', torn), { code: 'STORE_CORRUPT' });
  const left = readdirSync(folder).filter((name) => name.startsWith('new.db'));
  assert.deepEqual(left, []);
});

const LATER = {
  ...NOTES_SCHEMA,
  migrations: [
    ...NOTES_SCHEMA.migrations,
    {
      number: 2,
      name: 'words',
      sqlite: 'ALTER TABLE notes ADD COLUMN word TEXT; UPDATE notes SET word = upper(note_id)',
    },
  ],
};

check('a backup of an older version is restored and brought up to date, and stays as it was itself', async (t) => {
  const { store, add } = await openNotes(t);
  await add('a');
  const folder = await temporaryFolder(t);
  const [backup, file] = [join(folder, 'backup.db'), join(folder, 'restored.db')];
  await store.backup(backup);
  const before = readFileSync(backup);
  const prepare = (database: DatabaseSync) => database.exec("UPDATE notes SET word = word || '!'");
  assert.equal((await restoreSqliteBackup({ backup, file, schemas: [LATER], prepare })).ok, true);
  assert.deepEqual(readFileSync(backup), before);
  assert.deepEqual(readdirSync(folder).toSorted(), ['backup.db', 'restored.db']);
  const restored = await openNotes(t, { file, schemas: [LATER] });
  const words = await restored.store.read('test', (tx) => tx.all('SELECT word FROM notes'));
  assert.deepEqual(words, [{ word: 'A!' }]);
});

check('of an older backup that is damaged, or that cannot be brought up to date, nothing is made', async (t) => {
  const { store, add } = await openNotes(t);
  await add('a');
  const folder = await temporaryFolder(t);
  const [backup, damaged, file] = ['backup.db', 'damaged.db', 'new.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await store.backup(backup);
  copyFileSync(backup, damaged);
  behindItsBack(damaged, (database) =>
    database.exec('PRAGMA ignore_check_constraints = ON; UPDATE notes SET size = -1'),
  );
  const into = (from: string, later = LATER) => restoreSqliteBackup({ backup: from, file, schemas: [later] });
  await assert.rejects(into(damaged), { code: 'STORE_CORRUPT' });
  const wrong = { number: 2, name: 'wrong', sqlite: 'UPDATE notes SET size = -1' };
  const broken = { ...NOTES_SCHEMA, migrations: [...NOTES_SCHEMA.migrations, wrong] };
  await assert.rejects(into(backup, broken), { code: 'STORE_CONSTRAINT' });
  assert.deepEqual(readdirSync(folder).toSorted(), ['backup.db', 'damaged.db']);
});

check('a backup of a newer version, and one that an older process would make by then, are told as that', async (t) => {
  const folder = await temporaryFolder(t);
  const [file, backup] = [join(folder, 'a.db'), join(folder, 'backup.db')];
  const older = await openNotes(t, { file });
  const newer = await openNotes(t, { file, schemas: [LATER] });
  await assert.rejects(older.store.backup(backup), { code: 'STORE_NEWER' });
  await newer.store.backup(backup);
  const place = join(folder, 'restored.db');
  await assert.rejects(restoreSqliteBackup({ backup, file: place, schemas }), { code: 'STORE_NEWER' });
  assert.equal(existsSync(place), false);
});

check('reading still works when nothing may be written any more, and so does a backup', async (t) => {
  const sync = Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 1034 });
  const faults = armFaults({ point: 'group-about-to-commit', at: 2, act: sync });
  const { store, add, ids } = await openNotes(t, { faults });
  await add('a');
  await assert.rejects(add('b'), { code: 'STORE_SYNC_FAILED' });
  const target = join(await temporaryFolder(t), 'backup.db');
  assert.equal((await store.backup(target)).ok, true);
  assert.deepEqual(await ids(), ['a']);
});
