import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { inspectSqliteFile } from '../../../src/store/sqlite/index.ts';
import { assert, check } from '../../support/index.ts';
import { armFaults } from '../../support/faults.ts';
import {
  ADD_NOTE,
  addNote,
  ALL_NOTES,
  behindItsBack,
  NOTES_SCHEMA,
  openNotes,
  outcomes,
} from '../../support/notes-store.ts';

/** An error as the driver makes it, for what cannot be brought about on every machine. */
function driverError(errcode: number): Error {
  return Object.assign(new Error('as the driver says it'), { code: 'ERR_SQLITE_ERROR', errcode });
}

const FULL = 13;
const IOERR_WRITE = 778;
const IOERR_FSYNC = 1034;

check('a trigger that undoes the whole group fails its own body; the others are run once more, alone', async (t) => {
  const { store, add, ids, counts } = await openNotes(t);
  const runs: string[] = [];
  const counted = (id: string) =>
    store.write(`add.${id}`, async (tx) => {
      runs.push(id);
      return addNote(id)(tx);
    });
  const settled = await Promise.allSettled([counted('a'), counted('undo-all'), counted('b'), add('c')]);
  assert.deepEqual(outcomes(settled), ['a', 'STORE_CONSTRAINT', 'b', 'c']);
  assert.deepEqual(runs, ['a', 'undo-all', 'a', 'b']);
  assert.deepEqual(await ids(), ['a', 'b', 'c']);
  assert.deepEqual([counts.count('rolled_back'), counts.count('committed')], [1, 3]);
});

check('several bodies that each undo everything fail alone', async (t) => {
  const { add, ids } = await openNotes(t);
  const settled = await Promise.allSettled(['a', 'undo-all-1', 'b', 'undo-all-2', 'c'].map(add));
  assert.deepEqual(outcomes(settled), ['a', 'STORE_CONSTRAINT', 'b', 'STORE_CONSTRAINT', 'c']);
  assert.deepEqual(await ids(), ['a', 'b', 'c']);
});

check('a body that catches the error which undid its group did not succeed for that', async (t) => {
  const { store, add, ids } = await openNotes(t);
  const swallowing = store.write('swallows', async (tx) => {
    await tx.run(ADD_NOTE, ['before', 1]);
    await tx.run(ADD_NOTE, ['undo-all', 1]).catch(() => undefined);
    return 'all is well';
  });
  const settled = await Promise.allSettled([add('a'), swallowing, add('b')]);
  assert.deepEqual(outcomes(settled), ['a', 'STORE_CONSTRAINT', 'b']);
  assert.deepEqual(await ids(), ['a', 'b']);
});

check('nothing that a body writes after its group was undone is stored', async (t) => {
  const { store, add, ids } = await openNotes(t);
  const goingOn = store.write('goes-on', async (tx) => {
    await tx.run(ADD_NOTE, ['undo-all', 1]).catch(() => undefined);
    await tx.run(ADD_NOTE, ['after', 1]);
    return 'all is well';
  });
  const settled = await Promise.allSettled([add('a'), goingOn, add('b')]);
  assert.deepEqual(outcomes(settled), ['a', 'STORE_CONSTRAINT', 'b']);
  assert.deepEqual(await ids(), ['a', 'b']);
});

check('a group of one that undoes itself is simply refused', async (t) => {
  const { add, ids } = await openNotes(t);
  await assert.rejects(add('undo-all'), { code: 'STORE_CONSTRAINT', details: { constraint: 'trigger' } });
  await add('a');
  assert.deepEqual(await ids(), ['a']);
});

check('after a commit that failed each body is run once more, alone', async (t) => {
  const faults = armFaults({ point: 'group-about-to-commit', act: driverError(FULL) });
  const { add, ids, counts } = await openNotes(t, { faults });
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(add)), ['a', 'b', 'c']);
  assert.deepEqual(await ids(), ['a', 'b', 'c']);
  assert.deepEqual([faults.fired(), counts.count('committed')], [1, 3]);
});

check('a body whose commit fails again alone is told why; the others are stored', async (t) => {
  const act = driverError(FULL);
  const point = 'group-about-to-commit';
  const { add, ids } = await openNotes(t, { faults: armFaults({ point, at: 1, act }, { point, at: 3, act }) });
  const settled = await Promise.allSettled(['a', 'b', 'c'].map(add));
  assert.deepEqual(outcomes(settled), ['a', 'STORE_FULL', 'c']);
  assert.deepEqual(await ids(), ['a', 'c']);
});

check('a refusal that rested on a neighbour whose commit failed is not told', async (t) => {
  const act = driverError(FULL);
  const point = 'group-about-to-commit';
  const { store, add, ids } = await openNotes(t, { faults: armFaults({ point, at: 1, act }, { point, at: 2, act }) });
  const first = add('a');
  const onlyIfEmpty = store.write('only_if_empty', async (tx) => {
    if ((await tx.all(ALL_NOTES)).length > 0) throw new Error('somebody was first');
    return addNote('b')(tx);
  });
  assert.deepEqual(outcomes(await Promise.allSettled([first, onlyIfEmpty])), ['STORE_FULL', 'b']);
  assert.deepEqual(await ids(), ['b']);
});

check('an error thrown at a fault point reaches the caller as itself', async (t) => {
  const mine = new Error('mine');
  const point = 'group-begun';
  const { add, ids } = await openNotes(t, { faults: armFaults({ point, at: 1, act: mine }) });
  await assert.rejects(add('a'), (error) => error === mine);
  await add('b');
  assert.deepEqual(await ids(), ['b']);
});

for (const [what, errcode] of Object.entries({ 'a failed sync': IOERR_FSYNC, 'a failed write': IOERR_WRITE })) {
  check(`after ${what} at a commit nothing more is acknowledged, and what is unknown is called so`, async (t) => {
    const faults = armFaults({ point: 'group-about-to-commit', at: 2, act: driverError(errcode) });
    const { store, add, ids, counts } = await openNotes(t, { faults });
    await add('kept');
    const refusing = store.write('refuses', async () => Promise.reject(new Error('refused')));
    const settled = await Promise.allSettled([add('a'), refusing, add('b')]);
    assert.deepEqual(outcomes(settled), ['STORE_SYNC_FAILED', 'STORE_HALTED', 'STORE_SYNC_FAILED']);
    assert.equal((settled[0] as PromiseRejectedResult).reason.family, 'outcome_unknown');
    assert.equal(store.halted()?.code, 'STORE_HALTED');
    await assert.rejects(add('later'), { code: 'STORE_HALTED' });
    assert.equal(counts.count('halted'), 1);
    assert.equal(counts.count('committed'), 1);
    assert.deepEqual(await ids(), ['kept']);
  });
}

check('writes that waited when a sync failed are refused with it', async (t) => {
  const faults = armFaults({ point: 'group-about-to-commit', act: driverError(IOERR_FSYNC) });
  const { add, ids } = await openNotes(t, { faults });
  const settled = await Promise.allSettled(Array.from({ length: 130 }, (_, i) => add(`n${i}`)));
  assert.deepEqual(outcomes(settled).slice(126), [
    'STORE_SYNC_FAILED',
    'STORE_SYNC_FAILED',
    'STORE_HALTED',
    'STORE_HALTED',
  ]);
  assert.deepEqual(await ids(), []);
});

check('a lock that another holds is waited for, and STORE_BUSY comes in the end; nothing is written', async (t) => {
  const { add, ids, file, counts } = await openNotes(t, { busyTimeoutMs: 60 });
  await behindItsBack(file, async (database) => {
    database.exec('BEGIN IMMEDIATE');
    await assert.rejects(add('a'), { code: 'STORE_BUSY', retryable: true });
    assert.ok(counts.count('busy') > 1);
    const waiting = Promise.all([add('b'), add('c')]);
    setTimeout(() => database.exec('ROLLBACK'), 15);
    await waiting;
  });
  assert.deepEqual(await ids(), ['b', 'c']);
});

check('opening waits for a lock too, and says STORE_BUSY in the end', async (t) => {
  const { file, store } = await openNotes(t);
  await store.close();
  behindItsBack(file, (database) =>
    database.exec('DELETE FROM runtime_metadata; DROP TABLE notes; DROP TABLE runtime_metadata'),
  );
  await behindItsBack(file, async (database) => {
    database.exec('BEGIN IMMEDIATE');
    await assert.rejects(openNotes(t, { file, busyTimeoutMs: 20 }), { code: 'STORE_BUSY' });
    database.exec('ROLLBACK');
  });
  await openNotes(t, { file });
});

/** What another process does as the last that leaves: it holds the whole file until its log is copied back. */
const LEAVING = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData);
database.exec("PRAGMA locking_mode = EXCLUSIVE; INSERT INTO notes VALUES ('last', 1)");
parentPort.postMessage('held');
setTimeout(() => database.close(), 60);
`;

check('looking at a database waits for whoever is just leaving it', async (t) => {
  const { file, store } = await openNotes(t);
  await store.close();
  const leaving = new Worker(LEAVING, { eval: true, execArgv: ['--no-warnings'], workerData: file });
  const left = once(leaving, 'exit');
  assert.deepEqual(await once(leaving, 'message'), ['held']);
  assert.equal(inspectSqliteFile({ file, schemas: [NOTES_SCHEMA] }).state, 'current');
  await left;
});
