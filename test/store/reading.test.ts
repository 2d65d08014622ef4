import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadTx } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { ADD_NOTE, ALL_NOTES, behindItsBack, openNotes, outcomes } from '../support/notes-store.ts';

check('a read body sees one snapshot, even while another process commits between its statements', async (t) => {
  const { store, add, file } = await openNotes(t);
  await add('a');
  const counts = await store.read('twice', async (tx) => {
    const before = await tx.all(ALL_NOTES);
    behindItsBack(file, (database) => database.prepare(ADD_NOTE).run('b', 1));
    const after = await tx.all(ALL_NOTES);
    return [before.length, after.length];
  });
  assert.deepEqual(counts, [1, 1]);
  assert.equal((await store.read('again', (tx) => tx.all(ALL_NOTES))).length, 2);
});

check('the reading connection is opened at the first read, once, and sees what was acknowledged', async (t) => {
  const { add, ids, counts } = await openNotes(t);
  await add('a');
  const opened = () => counts.events.flatMap((event) => (event.kind === 'connection_opened' ? [event.role] : []));
  assert.deepEqual(opened(), ['writer']);
  assert.deepEqual(await ids(), ['a']);
  await add('b');
  assert.deepEqual(await ids(), ['a', 'b']);
  assert.deepEqual(opened(), ['writer', 'reader']);
});

check('reads that arrive together share one snapshot', async (t) => {
  const { ids, counts } = await openNotes(t);
  await Promise.all([ids(), ids(), ids()]);
  assert.equal(counts.count('snapshot'), 1);
});

check('a read that throws or waits is told so alone', async (t) => {
  const { store, ids } = await openNotes(t);
  const throwing = store.read('throws', async () => Promise.reject(new Error('mine')));
  const waiting = store.read('waits', async () => sleep(1));
  const settled = await Promise.allSettled([throwing, waiting, ids()]);
  assert.deepEqual(outcomes(settled), ['mine', 'STORE_BODY_WAITED', []]);
});

check(
  'every connection has foreign keys on, is synchronous FULL, and keeps 8 MB of pages, the writer 12',
  async (t) => {
    const { store } = await openNotes(t);
    const read = async (pragma: string) => {
      const value = async (tx: ReadTx) => Object.values((await tx.get(`PRAGMA ${pragma}`)) ?? {})[0];
      return [await store.write('pragma', value), await store.read('pragma', value)];
    };
    assert.deepEqual(await read('foreign_keys'), [1, 1]);
    assert.deepEqual(await read('synchronous'), [2, 2]);
    assert.deepEqual(await read('journal_mode'), ['wal', 'wal']);
    assert.deepEqual(await read('recursive_triggers'), [1, 1]);
    assert.deepEqual(await read('cache_size'), [-12288, -8192]);
  },
);

check('a pragma that sets something is refused in both kinds of body', async (t) => {
  const { store } = await openNotes(t);
  for (const pragma of ['synchronous = OFF', 'journal_mode(DELETE)', 'foreign_keys = 0', 'wal_checkpoint']) {
    const refused = { code: 'STORE_SQL_REFUSED' };
    await assert.rejects(
      store.write('pragma', (tx) => tx.get(`PRAGMA ${pragma}`)),
      refused,
    );
    await assert.rejects(
      store.read('pragma', (tx) => tx.get(`PRAGMA ${pragma}`)),
      refused,
    );
  }
});
