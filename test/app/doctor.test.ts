import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { checkNode, judgeFileSystem, judgeFreeSpace } from '../../src/app/doctor/host-checks.ts';
import { examine, migrateDataFolder, prepareDataFolder } from '../../src/app/index.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

const MEBIBYTE = 1_048_576n;

check('Node.js below 22.18 fails', () => {
  const states = ['22.17.9', '22.18.0', '23.0.0', '24.22.3', '9.99.0'].map((version) => checkNode(version).state);
  assert.deepEqual(states, ['fail', 'ok', 'ok', 'ok', 'fail']);
});

check('disks are told apart by what they are good for', () => {
  const states = [0xef53n, 0x01021994n, 0x65735546n, 0x6969n, 0xff534d42n, -11317950n, 0x1234n].map(
    (type) => judgeFileSystem(type).state,
  );
  assert.deepEqual(states, ['ok', 'warn', 'warn', 'fail', 'fail', 'fail', 'ok']);
});

check('free space warns below 1 GiB and fails below 64 MiB', () => {
  const states = [64n * MEBIBYTE - 1n, 64n * MEBIBYTE, 1024n * MEBIBYTE - 1n, 1024n * MEBIBYTE].map(
    (bytes) => judgeFreeSpace(bytes).state,
  );
  assert.deepEqual(states, ['fail', 'warn', 'warn', 'ok']);
});

check('a data folder that is not there is a warning, and looking makes nothing', async (t) => {
  const home = await temporaryFolder(t);
  const report = await examine({ dataDir: join(home, 'data'), nodeVersion: '24.0.0' });
  assert.equal(report.state, 'warn');
  assert.deepEqual(readdirSync(home), []);
});

check('rights that are too wide are shown, not changed', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const { database } = prepareDataFolder({ dataDir, create: true });
  const stateOf = async (name: string): Promise<string | undefined> =>
    (await examine({ dataDir, nodeVersion: '24.0.0' })).checks.find((one) => one.name === name)?.state;
  assert.deepEqual([await stateOf('data_folder'), await stateOf('database_files')], ['ok', 'ok']);
  chmodSync(dataDir, 0o750);
  chmodSync(database, 0o620);
  assert.deepEqual([await stateOf('data_folder'), await stateOf('database_files')], ['warn', 'fail']);
  assert.deepEqual([await stateOf('data_folder'), await stateOf('database_files')], ['warn', 'fail']);
});

check('what is not well comes with what resolves it', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  prepareDataFolder({ dataDir, create: true });
  chmodSync(dataDir, 0o777);
  const { checks } = await examine({ dataDir, nodeVersion: '20.0.0' });
  const unwell = checks.filter((one) => one.state !== 'ok');
  assert.ok(unwell.length >= 2);
  for (const one of unwell) assert.ok(one.resolve.length > 10, one.name);
});

check(
  'files of a removed session that are still there are told by the doctor, with the folder they lie in',
  async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    await migrateDataFolder({ dataDir, apply: true });
    const look = async () =>
      (await examine({ dataDir, nodeVersion: '24.0.0' })).checks.find(({ name }) => name === 'removed_files');
    assert.equal((await look())?.state, 'ok');
    const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
    const insert = db.prepare('INSERT INTO erased_imports (root_frame_id, erased_at) VALUES (?, ?)');
    for (let n = 0; n < 6; n += 1) insert.run(`${n}`.padStart(32, '0'), n);
    db.close();
    const left = await look();
    assert.equal(left?.state, 'warn');
    const first = '0'.repeat(32);
    assert.match(left?.found ?? '', new RegExp(`6 removed sessions.*session-imports/${first}.*and 1 more`));
    assert.ok(!(left?.found ?? dataDir).includes(dataDir));
  },
);

check(
  'holdfast doctor ends with 0 on a warning and 2 on a failure, as text and as JSON, and names no path',
  async (t) => {
    const home = await temporaryFolder(t);
    const missing = await holdfast(['doctor', '--json'], { cwd: home });
    assert.equal(missing.exit, 0);
    assert.equal((JSON.parse(missing.stdout) as { state: string }).state, 'warn');
    prepareDataFolder({ dataDir: join(home, 'data'), create: true });
    chmodSync(join(home, 'data'), 0o777);
    const unsafe = await holdfast(['doctor'], { cwd: home, env: { HOLDFAST_DATA_DIR: 'data' } });
    assert.equal(unsafe.exit, 2);
    assert.match(unsafe.stdout, /^FAIL {2}data_folder .*\n {6}what resolves it: .*chmod 700/m);
    assert.ok(!unsafe.stdout.includes(home) && !missing.stdout.includes(home));
  },
);
