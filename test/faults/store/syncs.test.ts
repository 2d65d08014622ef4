import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert, check } from '../../support/index.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { lost, readLedger, startWriter, straceWorks } from './writer-process.ts';

// The same states are reached with an injected error in undone-groups.test.ts; here the kernel's answer is replaced.
const SYNCS = 'fsync,fdatasync';

function underStrace(...args: string[]): string[] {
  return ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${SYNCS}`, ...args];
}

function failing(when: string): string[] {
  return SYNCS.split(',').flatMap((call) => ['-e', `inject=${call}:error=EIO:when=${when}`]);
}

if (straceWorks()) {
  check('a commit returns only after the WAL was synced, once for a whole group', async (t) => {
    const folder = await temporaryFolder(t);
    const [file, trace] = [join(folder, 'pairs.db'), join(folder, 'trace')];
    const under = ['strace', '-f', '-y', '-qq', '-o', trace, '-e', `trace=${SYNCS}`];
    const { acknowledged, counts } = await startWriter(t, { file, prefix: 's', callers: 16, writes: 12 }, { under })
      .ended;
    const syncs = readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => line.includes('pairs.db-wal'));
    const commits = counts?.commits ?? 0;
    assert.equal(acknowledged.length, 192);
    assert.ok(commits < 192 / 4, `${commits} commits for 192 writes`);
    assert.ok(syncs.length >= commits, `${syncs.length} syncs of the WAL for ${commits} commits`);
    assert.ok(syncs.length <= commits + 8, `${syncs.length} syncs of the WAL for ${commits} commits`);
  });

  for (const when of ['16', '24+'])
    check(`a sync that the kernel fails (${when}) ends the writing: nothing more is acknowledged`, async (t) => {
      const file = join(await temporaryFolder(t), 'pairs.db');
      const options = { file, prefix: 'f', callers: 3, writes: 30, goOn: true };
      const end = await startWriter(t, options, { under: underStrace(...failing(when)) }).ended;
      assert.deepEqual(end.errors.slice(0, 4), [
        'STORE_SYNC_FAILED',
        'STORE_SYNC_FAILED',
        'STORE_SYNC_FAILED',
        'STORE_HALTED',
      ]);
      assert.ok(end.acknowledged.length > 0);
      assert.equal(end.acknowledgedAfterError, 0);
      const ledger = readLedger(file);
      assert.deepEqual([lost(ledger, end.acknowledged), ledger.halves, ledger.integrity], [[], 0, ['ok']]);
    });

  check('a sync that fails in a checkpoint ends the writing too, and takes nothing back', async (t) => {
    const file = join(await temporaryFolder(t), 'pairs.db');
    const options = { file, prefix: 'c', callers: 2, writes: 1_200, goOn: true };
    const under = underStrace('-P', file, ...failing('2+'));
    const end = await startWriter(t, options, { under }).ended;
    assert.ok(end.acknowledged.length >= 100, `${end.acknowledged.length} writes before the checkpoint`);
    assert.deepEqual([...new Set(end.errors)], ['STORE_HALTED']);
    assert.equal(end.acknowledgedAfterError, 0);
    assert.deepEqual(lost(readLedger(file), end.acknowledged), []);
  });
  // Of the two threads the one that copies comes to its 10,000th page of the database first: the other makes four copies.
  check('a page that cannot be written while a thread copies the log back ends the writing too', async (t) => {
    const file = join(await temporaryFolder(t), 'pairs.db');
    const options = { file, prefix: 'p', callers: 4, writes: 1_200, size: 20_000, goOn: true };
    const under = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', '-P', file];
    const end = await startWriter(t, options, { under: [...under, '-e', 'inject=pwrite64:error=EIO:when=10000+'] })
      .ended;
    assert.ok(end.acknowledged.length >= 2_000, `${end.acknowledged.length} writes before that checkpoint`);
    assert.deepEqual([...new Set(end.errors)], ['STORE_HALTED']);
    assert.equal(end.acknowledgedAfterError, 0);
    assert.deepEqual(lost(readLedger(file), end.acknowledged), []);
  });
} else {
  check('strace is not here: the injected errors of the other suite stand alone', () => {
    assert.ok(dirname(import.meta.filename).endsWith('store'));
  });
}
