import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { assert, check, seeded } from '../../support/index.ts';
import { behindItsBack } from '../../support/notes-store.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { lost, readLedger, startWriter, type WriterEnd } from './writer-process.ts';

const MANY = 1_000_000;

async function place(t: TestContext): Promise<string> {
  return join(await temporaryFolder(t), 'pairs.db');
}

/** Everything acknowledged is there, whole; and a new process opens the file and writes on. */
async function assertSound(t: TestContext, file: string, acknowledged: readonly string[]): Promise<void> {
  const ledger = readLedger(file);
  assert.deepEqual([ledger.halves, ledger.integrity, lost(ledger, acknowledged)], [0, ['ok'], []]);
  const next = await startWriter(t, { file, prefix: `after${acknowledged.length}`, callers: 1, writes: 2 }).ended;
  assert.deepEqual([next.acknowledged.length, next.errors, next.code], [2, [], 0]);
}

const points = [
  { point: 'group-begun', at: 1, acknowledges: false },
  { point: 'group-begun', at: 20, acknowledges: true },
  { point: 'group-about-to-commit', at: 20, acknowledges: true },
  { point: 'group-committed', at: 1, acknowledges: false },
  { point: 'group-committed', at: 20, acknowledges: true },
] as const;

for (const { point, at, acknowledges } of points)
  check(`SIGKILL at ${point}, arrival ${at}: what was acknowledged is there, and nothing by half`, async (t) => {
    const file = await place(t);
    const end = await startWriter(t, { file, prefix: 'k', callers: 6, writes: MANY, kill: { point, at } }).ended;
    assert.deepEqual([end.signal, end.errors], ['SIGKILL', []]);
    assert.equal(end.acknowledged.length > 0, acknowledges);
    const more = readLedger(file).ids.size - end.acknowledged.length;
    assert.equal(more, point === 'group-committed' ? 6 : 0, 'only a group that was committed may be there untold');
    await assertSound(t, file, end.acknowledged);
  });

// 8 MB bring a checkpoint on: about 100 groups of these. From the fifth on a thread copies meanwhile.
for (const at of [508, 520, 625])
  check(`SIGKILL while a thread copies the log back, arrival ${at}: nothing is lost`, async (t) => {
    const file = await place(t);
    const kill = { point: 'group-committed', at } as const;
    const end = await startWriter(t, { file, prefix: 't', callers: 4, writes: MANY, size: 20_000, kill }).ended;
    assert.deepEqual([end.signal, end.errors], ['SIGKILL', []]);
    assert.ok(end.acknowledged.length >= 4 * (at - 1));
    await assertSound(t, file, end.acknowledged);
  });

check(
  'a process that leaves its store open ends when it has nothing more to do, with the thread as without',
  async (t) => {
    const file = await place(t);
    const options = { file, prefix: 'o', callers: 4, writes: 600, size: 20_000, leaveOpen: true };
    // One that would go on for ever is ended by force, and told by its signal.
    const writer = startWriter(t, options, {
      onLine: (line) => {
        if (line.startsWith('end ')) setTimeout(() => writer.child.kill('SIGKILL'), 20_000).unref();
      },
    });
    const end = await writer.ended;
    assert.ok((end.counts?.checkpoints ?? 0) >= 4, '48 MB bring four checkpoints, and the thread for the fifth');
    assert.deepEqual([end.signal, end.code, end.errors, end.acknowledged.length], [null, 0, [], 2_400]);
    await assertSound(t, file, end.acknowledged);
  },
);

for (const at of [1, 2])
  check(`SIGKILL at migration step ${at}: the database is as new, and opens`, async (t) => {
    const file = await place(t);
    const kill = { point: 'migration-step', at };
    const end = await startWriter(t, { file, prefix: 'm', callers: 1, writes: 1, kill }).ended;
    assert.deepEqual([end.signal, end.ready], ['SIGKILL', false]);
    const tables = behindItsBack(file, (database) => database.prepare('SELECT name FROM sqlite_schema').all());
    assert.deepEqual(tables, []);
    const next = await startWriter(t, { file, prefix: 'm', callers: 1, writes: 2 }).ended;
    assert.equal(next.acknowledged.length, 2);
  });

check(
  'SIGKILL after a backup was written, before it has its name: there is no backup, and the next one is made',
  async (t) => {
    const file = await place(t);
    const backup = join(dirname(file), 'backup.db');
    const kill = { point: 'backup-written', at: 1 };
    const end = await startWriter(t, { file, prefix: 'b', callers: 1, writes: 1, backup, kill }).ended;
    assert.deepEqual([end.signal, existsSync(backup)], ['SIGKILL', false]);
    const next = await startWriter(t, { file, prefix: 'b', callers: 1, writes: 1, backup }).ended;
    assert.deepEqual([next.code, existsSync(backup)], [0, true]);
    assert.deepEqual(
      readdirSync(dirname(file)).filter((name) => name.includes('partial')),
      [],
    );
  },
);

const KILLS = 50;
const LANES = 2;
const SEED = 20_260_719;

/** Kills one writer after a random number of acknowledgements and a little more time. */
async function killAtRandom(t: TestContext, file: string, prefix: string, random: () => number): Promise<WriterEnd> {
  const acknowledgements = Math.floor(random() * 120);
  const delayMs = random() * 4;
  let killing = false;
  const onLine = (_: string, count: number): void => {
    if (killing || count <= acknowledgements) return;
    killing = true;
    setTimeout(() => writer.child.kill('SIGKILL'), delayMs);
  };
  const writer = startWriter(t, { file, prefix, callers: 1 + Math.floor(random() * 8), writes: MANY }, { onLine });
  return writer.ended;
}

async function lane(t: TestContext, number: number): Promise<void> {
  const file = await place(t);
  const random = seeded(SEED + number);
  const acknowledged: string[] = [];
  for (let i = 0; i < KILLS / LANES; i += 1) {
    const end = await killAtRandom(t, file, `k${i}`, random);
    assert.deepEqual([end.signal, end.errors, end.ready], ['SIGKILL', [], true]);
    acknowledged.push(...end.acknowledged);
    const ledger = readLedger(file);
    assert.deepEqual([ledger.halves, ledger.integrity, lost(ledger, acknowledged)], [0, ['ok'], []]);
  }
  assert.ok(acknowledged.length > KILLS / LANES);
}

check(`SIGKILL at ${KILLS} seeded random moments: what was acknowledged is there, and nothing by half`, async (t) => {
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(t, number)));
});
