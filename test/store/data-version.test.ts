import { DatabaseSync } from 'node:sqlite';
import type { SqliteStore } from '../../src/store/sqlite/index.ts';
import { assert, check } from '../support/index.ts';
import { ADD_NOTE, openNotes } from '../support/notes-store.ts';

const version = (store: SqliteStore) => store.write('asks', async (tx) => tx.dataVersion);

check('the data version stays while only this store writes, and moves with a commit of anybody else', async (t) => {
  const { store, add, file } = await openNotes(t);
  const first = await store.write('writes', async (tx) => {
    await tx.run(ADD_NOTE, ['a', 1]);
    return tx.dataVersion;
  });
  await add('b');
  const failing = store.write('fails', async (tx) => {
    await tx.run(ADD_NOTE, ['gone', 1]);
    throw new Error('after writing');
  });
  await assert.rejects(failing);
  assert.equal(await version(store), first);
  const other = new DatabaseSync(file);
  t.after(() => other.close());
  other.prepare('SELECT count(*) FROM notes').get();
  assert.equal(await version(store), first);
  other.prepare(ADD_NOTE).run('c', 1);
  const second = await version(store);
  assert.notEqual(second, first);
  assert.equal(await version(store), second);
});

check('a change that another connection takes back moves nothing', async (t) => {
  const { store, add, file } = await openNotes(t);
  await add('a');
  const first = await version(store);
  const other = new DatabaseSync(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  other.prepare(ADD_NOTE).run('b', 1);
  other.exec('ROLLBACK');
  assert.equal(await version(store), first);
});

check('bodies of one group are given one data version', async (t) => {
  const { store, counts } = await openNotes(t);
  counts.reset();
  const versions = await Promise.all(Array.from({ length: 5 }, () => version(store)));
  assert.equal(new Set(versions).size, 1);
  assert.equal(counts.count('committed'), 1);
});
