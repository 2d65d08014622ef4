import { copyFileSync, mkdirSync, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { ORACLE_FOLDER, oracleNames } from '../../archive/support/packages.ts';
import { Holdfast } from '../../../src/index.ts';
import { assert, check, type Ending, holdfast, temporaryFolder } from '../../support/index.ts';

/** Where an import may write, by the first part of the path in the data folder. */
const PLACES = new Set(['holdfast.db', 'holdfast.db-wal', 'holdfast.db-shm', 'holdfast.db-journal', 'package-staging']);
const IMPORTED = new Set([...PLACES, 'session-imports', 'workspace-cas']);

/** A folder with a data folder in it, all of it watched; what was touched outside the data folder, and inside. */
async function watched(t: Ending) {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const home = join(folder, 'home');
  mkdirSync(home);
  await (await Holdfast.open({ dataDir })).close();
  const seen = new Set<string>();
  const watcher = watch(folder, { recursive: true }, (_event, name) => seen.add(String(name)));
  t.after(() => watcher.close());
  const settled = () => new Promise((settle) => setTimeout(settle, 300));
  const run = async (...args: string[]) => {
    const env = { HOME: home, TMPDIR: home, TMP: home, TEMP: home, NODE_COMPILE_CACHE: '' };
    const done = await holdfast([...args, '--data-dir', dataDir, '--json'], { cwd: home, env });
    await settled();
    return done;
  };
  const take = (): string[] => {
    const names = [...seen];
    seen.clear();
    return names.sort();
  };
  return { folder, dataDir, home, run, take, settled };
}

const placeIn = (name: string): string => name.split('/')[1] ?? '';

check('an import writes in the data folder and nowhere else, and there only where it says', async (t) => {
  const { folder, dataDir, home, run, take, settled } = await watched(t);
  const before = statSync(join(ORACLE_FOLDER, 'd2-deliveries.zip'));
  for (const name of ['b-notebook', 'd2-deliveries', 'g-workspace', 'f2-odd-paths']) {
    assert.ok(oracleNames().includes(name));
    await settled();
    take();
    const { exit, stdout } = await run('import', join(ORACLE_FOLDER, `${name}.zip`));
    assert.equal(exit, 0, stdout);
    const touched = take();
    assert.ok(touched.length > 0, 'the watcher watches');
    const outside = touched.filter((one) => one !== 'data' && !one.startsWith('data/'));
    assert.deepEqual(outside, [], name);
    const places = new Set(touched.map(placeIn).filter((one) => one !== ''));
    assert.deepEqual(
      [...places].filter((one) => !IMPORTED.has(one)),
      [],
      name,
    );
  }
  assert.deepEqual(readdirSync(home), []);
  assert.deepEqual(readdirSync(folder).sort(), ['data', 'home']);
  const staging = join(dataDir, 'package-staging');
  assert.deepEqual(readdirSync(dataDir).includes('package-staging') ? readdirSync(staging) : [], []);
  assert.equal(statSync(join(ORACLE_FOLDER, 'd2-deliveries.zip')).mtimeMs, before.mtimeMs);
});

check('a package that is refused touches nothing but the database’s own files', async (t) => {
  const { folder, run, take, settled } = await watched(t);
  const file = join(folder, 'refused.zip');
  copyFileSync(join(ORACLE_FOLDER, 'h2-case-twins.zip'), file);
  await settled();
  take();
  const { exit } = await run('import', file);
  assert.notEqual(exit, 0);
  const touched = take().filter((one) => one !== 'data');
  assert.deepEqual(
    touched.filter((one) => !one.startsWith('data/') || !PLACES.has(placeIn(one))),
    [],
  );
});
