import { statSync } from 'node:fs';
import { assert, check } from '../support/index.ts';
import { openNotes } from '../support/notes-store.ts';

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
