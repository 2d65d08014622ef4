import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Copied, CheckpointThread } from '../../src/store/sqlite/checkpoint-thread.ts';
import { Checkpoints } from '../../src/store/sqlite/checkpoints.ts';
import { CONNECTION_SETTINGS } from '../../src/store/sqlite/connection.ts';
import { isDiskFailure, storeError } from '../../src/store/sqlite/driver-errors.ts';
import { assert, check } from '../support/index.ts';
import { openNotes } from '../support/notes-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const BLOBS = {
  context: 'blobs',
  migrations: [{ number: 1, name: 'blobs', sqlite: 'CREATE TABLE blobs (bytes BLOB NOT NULL) STRICT' }],
};

check('the WAL is copied back again and again, and does not grow with what is written', async (t) => {
  const { add, counts, file } = await openNotes(t);
  for (let group = 0; group < 60; group += 1)
    await Promise.all(Array.from({ length: 128 }, (_, i) => add(`${String(i).padStart(3, '0')} ${group}`)));
  const frames = counts.events.flatMap((event) => (event.kind === 'checkpoint' ? [event.frames] : []));
  assert.ok(frames.length >= 1, `${frames.length} checkpoints`);
  assert.ok(Math.max(...frames) < 12_000, frames.join());
  assert.ok(statSync(`${file}-wal`).size < 48 * 1024 * 1024);
});

check('large values bring a checkpoint on, however few they are', async (t) => {
  const { store, counts } = await openNotes(t, { schemas: [BLOBS] });
  const bytes = Buffer.alloc(5 * 1024 * 1024, 1);
  for (let i = 0; i < 3; i += 1) await store.write('large', (tx) => tx.run('INSERT INTO blobs VALUES (?)', [bytes]));
  await store.write('small', (tx) => tx.run('INSERT INTO blobs VALUES (?)', [Buffer.alloc(1)]));
  assert.equal(counts.count('checkpoint'), 1);
});

check('from the fifth checkpoint on a thread copies while writing goes on, and the WAL begins anew', async (t) => {
  const { store, counts, file } = await openNotes(t, { schemas: [BLOBS] });
  const bytes = Buffer.alloc(3 * 1024 * 1024, 1);
  const write = () => store.write('large', (tx) => tx.run('INSERT INTO blobs VALUES (?)', [bytes]));
  const tools = () => counts.events.filter((event) => 'role' in event && event.role === 'tool').map(({ kind }) => kind);
  for (let i = 0; i < 12; i += 1) await write();
  assert.deepEqual([counts.count('checkpoint'), tools()], [4, []], 'a process that writes little has no thread');
  for (let i = 0; i < 3; i += 1) await write();
  assert.deepEqual(tools(), ['connection_opened']);
  for (let i = 0; counts.count('checkpoint') < 5; i += 1) {
    await sleep(5);
    assert.ok(i < 2_000, 'the thread copied');
  }
  const grown = statSync(`${file}-wal`).size;
  await write();
  assert.equal(
    counts.count('checkpoint'),
    6,
    'what was written while the thread copied is copied after the next group',
  );
  await write();
  assert.equal(statSync(`${file}-wal`).size, grown, 'what comes next is written over what was copied');
  await store.close();
  assert.deepEqual(tools(), ['connection_opened', 'connection_closed']);
  const database = new DatabaseSync(file);
  assert.equal(database.prepare('SELECT count(*) AS n FROM blobs').get()?.['n'], 17);
  assert.equal(database.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
  database.close();
});

async function copyOf(thread: CheckpointThread): Promise<Copied> {
  return new Promise((resolve) => thread.copy(resolve));
}

check('what the disk does to the thread is told as SQLite tells it; without a thread that is said', async (t) => {
  const file = join(await temporaryFolder(t), 'torn.db');
  const database = new DatabaseSync(file);
  t.after(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE rows (text TEXT)');
  const thread = new CheckpointThread(file, CONNECTION_SETTINGS);
  database.exec("INSERT INTO rows VALUES ('kept')");
  assert.equal((await copyOf(thread)).kind, 'copied');
  for (let i = 0; i < 50; i += 1) database.exec(`INSERT INTO rows VALUES ('${'x'.repeat(4000)}')`);
  truncateSync(`${file}-wal`, 100);
  const failed = await copyOf(thread);
  assert.ok(failed.kind === 'failed');
  assert.ok(isDiskFailure(failed.error));
  assert.equal((storeError(failed.error) as { code: string }).code, 'STORE_IO');
  await thread.close();
  assert.deepEqual(await copyOf(thread), { kind: 'no_thread' });
  const nowhere = new CheckpointThread(join(await temporaryFolder(t), 'no', 'where.db'), CONNECTION_SETTINGS);
  assert.deepEqual(await copyOf(nowhere), { kind: 'no_thread' });
  await nowhere.close();
});

check('where the thread is lost, its connection is told to be gone and the writer copies as before', async (t) => {
  const folder = await temporaryFolder(t);
  const database = new DatabaseSync(join(folder, 'kept.db'));
  t.after(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE rows (text TEXT)');
  const told: string[] = [];
  const checkpoints = new Checkpoints({
    database,
    file: join(folder, 'no', 'where.db'),
    settings: CONNECTION_SETTINGS,
    copied: () => told.push('copied'),
    failed: () => told.push('failed'),
    threadOpened: () => told.push('opened'),
    threadClosed: () => told.push('closed'),
  });
  const afterLargeGroup = (): void => {
    database.exec("INSERT INTO rows VALUES ('kept')");
    checkpoints.afterGroup({ written: 1, units: 64 * 1024 * 1024 });
  };
  for (let i = 0; i < 5; i += 1) afterLargeGroup();
  for (let i = 0; !told.includes('closed') && i < 2_000; i += 1) await sleep(5);
  for (let i = 0; i < 2; i += 1) afterLargeGroup();
  await checkpoints.close();
  assert.deepEqual(told, ['copied', 'copied', 'copied', 'copied', 'opened', 'closed', 'copied', 'copied']);
});
