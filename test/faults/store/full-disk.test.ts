import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { assert, check, judged } from '../../support/index.ts';
import { HoldfastError } from '../../../src/core/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { openNotes, outcomes } from '../../support/notes-store.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { lost, readLedger, startWriter } from './writer-process.ts';

const BLOBS = {
  context: 'blobs',
  migrations: [
    { number: 1, name: 'blobs', sqlite: 'CREATE TABLE blobs (id TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT' },
  ],
};
const ADD = 'INSERT INTO blobs VALUES (?, ?)';
const DISK_BYTES = 2 * 1024 * 1024;

/** A file system of 2 MiB of its own, where this user may mount one. */
async function smallDisk(t: TestContext): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder]);
  t.after(() => {
    if (status === 0) spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true });
  });
  return status === 0 ? folder : undefined;
}

function fill(folder: string, leave: number): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - leave)));
}

check(
  'a full disk refuses what does not fit, keeps what was acknowledged, and writes again when there is space',
  async (t) => {
    const folder = await smallDisk(t);
    // Without the right to mount, the next test stands alone.
    if (folder === undefined) return judged();
    const { store } = await openNotes(t, { file: join(folder, 'blobs.db'), schemas: [BLOBS] });
    const add = (id: string, length: number) => () =>
      store.write(`add.${id}`, async (tx) => {
        await tx.run(ADD, [id, Buffer.alloc(length, 1)]);
        return id;
      });
    await add('first', 10)();
    fill(folder, 256 * 1024);
    const together = [add('small', 10), add('huge', 600_000), add('other', 10)];
    const settled = await Promise.allSettled(together.map((write) => write()));
    assert.deepEqual(outcomes(settled), ['small', 'STORE_FULL', 'other']);
    rmSync(join(folder, 'filler'));
    assert.equal(await add('huge', 600_000)(), 'huge');
    const ids = await store.read('ids', (tx) => tx.all('SELECT id FROM blobs ORDER BY id'));
    assert.deepEqual(
      ids.map((row) => row['id']),
      ['first', 'huge', 'other', 'small'],
    );
    assert.equal(store.integrityCheck().ok, true);
    await store.close();
  },
);

check(
  'a database that cannot be opened since the disk is full says that it is full, and opens when it is not',
  async (t) => {
    const folder = await smallDisk(t);
    if (folder === undefined) return judged();
    const file = join(folder, 'blobs.db');
    const open = async (): Promise<string> => {
      try {
        const store = await openSqliteStore({ file, schemas: [BLOBS] });
        await store.close();
        return 'opened';
      } catch (error) {
        return error instanceof HoldfastError ? error.code : String(error);
      }
    };
    assert.equal(await open(), 'opened');
    for (const leave of [0, 4096, 8192, 16_384]) {
      fill(folder, leave);
      assert.equal(await open(), 'STORE_FULL', `with ${leave} bytes left`);
      rmSync(join(folder, 'filler'));
      assert.equal(await open(), 'opened');
    }
  },
);

check('a migration that does not fit on the disk says that it is full, and is applied when it is not', async (t) => {
  const folder = await smallDisk(t);
  if (folder === undefined) return judged();
  const file = join(folder, 'blobs.db');
  // With so small a cache it is written while the migration runs, as a large one is.
  const sqlite = 'PRAGMA cache_size = 4; CREATE TABLE again AS SELECT * FROM blobs';
  const again = { number: 2, name: 'copy', sqlite };
  const later = { ...BLOBS, migrations: [...BLOBS.migrations, again] };
  const store = await openSqliteStore({ file, schemas: [BLOBS] });
  for (const id of ['a', 'b', 'c', 'd']) await store.write('add', (tx) => tx.run(ADD, [id, Buffer.alloc(100_000, 1)]));
  await store.close();
  fill(folder, 256 * 1024);
  await assert.rejects(openSqliteStore({ file, schemas: [later] }), {
    code: 'STORE_FULL',
    details: { context: 'blobs', migration: 2 },
  });
  rmSync(join(folder, 'filler'));
  await (await openSqliteStore({ file, schemas: [later] })).close();
});

check('a size limit on files ends in a coded refusal, and everything acknowledged before it is there', async (t) => {
  const file = join(await temporaryFolder(t), 'pairs.db');
  const under = ['bash', '-c', 'ulimit -f 300; exec "$@"', 'bash'];
  const options = { file, prefix: 'u', callers: 2, writes: 60, size: 10_000, goOn: true };
  const end = await startWriter(t, options, { under }).ended;
  const expected = new Set(['STORE_FULL', 'STORE_IO', 'STORE_SYNC_FAILED', 'STORE_HALTED']);
  assert.ok(end.errors.length > 0, end.stderr);
  assert.deepEqual(
    end.errors.filter((error) => !expected.has(error)),
    [],
  );
  assert.ok(end.acknowledged.length > 0);
  const ledger = readLedger(file);
  assert.deepEqual([lost(ledger, end.acknowledged), ledger.halves, ledger.integrity], [[], 0, ['ok']]);
});
