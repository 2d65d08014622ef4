import { appendFeed, ensureTenant, readFeed, STORE_SCHEMAS } from '../../src/store/index.ts';
import { manualClock } from '../support/clock.ts';
import { assert, check } from '../support/index.ts';
import { behindItsBack, type NotesStore, openNotes } from '../support/notes-store.ts';

type Store = NotesStore['store'];

function append(store: Store, reference: string, tenantId = 'local'): Promise<number> {
  return store.write('append', (tx) => appendFeed(tx, { tenantId, kind: 'thing.made', reference }));
}

async function references(store: Store, after = 0, limit?: number): Promise<string[]> {
  const ask = { tenantId: 'local', after, ...(limit === undefined ? {} : { limit }) };
  const { entries } = await store.read('read', (tx) => readFeed(tx, ask));
  return entries.map(({ reference }) => reference);
}

check('entries are numbered in the order of their commits and read by pages', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  const numbers = await Promise.all(['a', 'b', 'c'].map((reference) => append(store, reference)));
  assert.deepEqual(numbers, [1, 2, 3]);
  const page = await store.read('read', (tx) => readFeed(tx, { tenantId: 'local', after: 0, limit: 2 }));
  assert.deepEqual(page, {
    entries: [
      { seq: 1, tenantId: 'local', kind: 'thing.made', reference: 'a' },
      { seq: 2, tenantId: 'local', kind: 'thing.made', reference: 'b' },
    ],
    next: 2,
  });
  assert.deepEqual(await references(store, 2), ['c']);
  assert.deepEqual(await store.read('end', (tx) => readFeed(tx, { tenantId: 'local', after: 3 })), {
    entries: [],
    next: 3,
  });
});

check('a tenant reads its own entries, and the numbers are common to all', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  await store.write('tenant', (tx) => ensureTenant(tx, manualClock(), { tenantId: 'acme', name: 'Acme' }));
  await append(store, 'mine');
  await append(store, 'theirs', 'acme');
  await append(store, 'mine too');
  assert.deepEqual(await references(store), ['mine', 'mine too']);
  await assert.rejects(append(store, 'x', 'unknown'), { code: 'STORE_CONSTRAINT' });
});

check('an entry is gone when its transaction is, and its number is the next one', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  await append(store, 'a');
  const failing = store.write('fails', async (tx) => {
    await appendFeed(tx, { tenantId: 'local', kind: 'k', reference: 'gone' });
    throw new Error('no');
  });
  await assert.rejects(failing, /no/);
  assert.equal(await append(store, 'b'), 2);
  assert.deepEqual(await references(store), ['a', 'b']);
});

check('a number is never given twice, whatever is deleted, and no entry changes or is put between', async (t) => {
  const { store, file } = await openNotes(t, { schemas: STORE_SCHEMAS });
  for (const reference of ['a', 'b', 'c']) await append(store, reference);
  const edit = (sql: string) => () => behindItsBack(file, (database) => database.exec(sql));
  assert.throws(edit('DELETE FROM feed WHERE seq = 3'), /newest/);
  assert.throws(edit('DELETE FROM feed'), /newest/);
  assert.throws(edit("UPDATE feed SET reference = 'x' WHERE seq = 1"), /never changes/);
  assert.throws(edit("INSERT INTO feed VALUES (99, 'local', 'k', 'r')"), /own numbers/);
  edit('DELETE FROM feed WHERE seq < 3')();
  assert.equal(await append(store, 'd'), 4);
  assert.deepEqual(await references(store), ['c', 'd']);
});

check('a page has at most 500 entries, and a wrong position is an invalid value', async (t) => {
  const { store } = await openNotes(t, { schemas: STORE_SCHEMAS });
  await append(store, 'a');
  assert.deepEqual(await references(store, 0, 500), ['a']);
  await assert.rejects(references(store, 0, 501), { code: 'LIMIT_REACHED' });
  for (const [after, limit] of [
    [-1, 1],
    [0.5, 1],
    [0, 0],
    [Number.NaN, 1],
  ] as const)
    await assert.rejects(references(store, after, limit), { code: 'INVALID_VALUE' });
  await assert.rejects(append(store, ' '), { code: 'INVALID_VALUE' });
});

check('a page costs one statement, however long the feed is', async (t) => {
  const { store, counts } = await openNotes(t, { schemas: STORE_SCHEMAS });
  for (let i = 0; i < 30; i += 1) await append(store, `r${i}`);
  counts.reset();
  await references(store, 10, 5);
  assert.equal(counts.count('statement'), 1);
});
