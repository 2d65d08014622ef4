import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { assert, check } from '../../support/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { lost, readLedger, startWriter } from './writer-process.ts';

const SECONDS = 10;

check(`two processes write at once for ${SECONDS} seconds: nothing is lost, neither starves`, async (t) => {
  const file = join(await temporaryFolder(t), 'pairs.db');
  const both = ['a', 'b'].map((prefix) =>
    startWriter(t, { file, prefix, callers: 4, writes: 1_000_000, forMs: SECONDS * 1000, goOn: true }),
  );
  const ends = await Promise.all(both.map((writer) => writer.ended));
  const ledger = readLedger(file);
  const acknowledged = ends.flatMap((end) => end.acknowledged);
  assert.deepEqual(
    ends.map(({ code, errors }) => [code, errors.filter((error) => error !== 'STORE_BUSY')]),
    [
      [0, []],
      [0, []],
    ],
  );
  assert.deepEqual([ledger.halves, ledger.integrity, lost(ledger, acknowledged)], [0, ['ok'], []]);
  assert.equal(ledger.ids.size, acknowledged.length, 'what was answered with STORE_BUSY is not there');
  for (const end of ends) assert.ok(end.acknowledged.length > 0, `one process made ${end.acknowledged.length} writes`);
});

/** For a moment, so that whoever writes meanwhile is in the way of another, however the two come to lie in time. */
function holdWriteLock(t: TestContext, file: string): void {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  database.exec('BEGIN IMMEDIATE');
  const letGo = (): void => {
    if (database.isOpen) database.close();
  };
  setTimeout(letGo, 300);
  t.after(letGo);
}

check(
  'two processes that hardly wait are told STORE_BUSY at worst, and only what was told so is not there',
  async (t) => {
    const file = join(await temporaryFolder(t), 'pairs.db');
    const hurried = { busyTimeoutMs: 1, goOn: true, callers: 1, forMs: 1_500 };
    let isHeldUp = false;
    const holdUp = (line: string): void => {
      if (line !== 'ready' || isHeldUp) return;
      isHeldUp = true;
      holdWriteLock(t, file);
    };
    const both = ['a', 'b'].map((prefix) =>
      startWriter(t, { ...hurried, file, prefix, writes: 1_000_000, size: 20_000 }, { onLine: holdUp }),
    );
    const ends = await Promise.all(both.map((writer) => writer.ended));
    const ledger = readLedger(file);
    const acknowledged = ends.flatMap((end) => end.acknowledged);
    const errors = new Set(ends.flatMap((end) => end.errors));
    assert.deepEqual([...errors], ['STORE_BUSY']);
    assert.deepEqual([lost(ledger, acknowledged), ledger.ids.size], [[], acknowledged.length]);
  },
);
