import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import {
  backUpDataFolder,
  examine,
  migrateDataFolder,
  openHoldfastStore,
  restoreDataFolder,
  unpause,
} from '../../src/app/index.ts';
import { Holdfast } from '../../src/index.ts';
import { STORE_SCHEMAS } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

interface Place {
  readonly home: string;
  readonly dataDir: string;
  readonly database: string;
}

async function place(t: TestContext, name = 'data'): Promise<Place> {
  const home = await temporaryFolder(t);
  const dataDir = join(home, name);
  return { home, dataDir, database: join(dataDir, 'holdfast.db') };
}

async function current(t: TestContext): Promise<Place> {
  const made = await place(t);
  await migrateDataFolder({ dataDir: made.dataDir, apply: true });
  return made;
}

/** A database as an older version would have left it: some contexts' tables are missing. */
async function behind(t: TestContext): Promise<Place> {
  const made = await place(t);
  mkdirSync(made.dataDir, { mode: 0o700 });
  const store = await openSqliteStore({ file: made.database, schemas: STORE_SCHEMAS });
  await store.close();
  return made;
}

function edit(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

const addProject = async (dataDir: string, id: string): Promise<void> => {
  const { store } = await openHoldfastStore({ dataDir, create: false });
  await store.write('test.add', (tx) => tx.run("INSERT INTO projects VALUES (?, 'local', 'P', 0)", [id]));
  await store.close();
};

const projectsOf = async (dataDir: string): Promise<unknown[]> => {
  const { store } = await openHoldfastStore({ dataDir, create: false });
  const rows = await store.read('test.list', (tx) => tx.all('SELECT project_id FROM projects'));
  await store.close();
  return rows.map((row) => row['project_id']);
};

check('migrate makes what is missing once, and looking applies nothing', async (t) => {
  const { dataDir, home } = await place(t);
  await assert.rejects(migrateDataFolder({ dataDir, apply: false }), { code: 'DATA_FOLDER_MISSING' });
  assert.deepEqual(readdirSync(home), []);
  const first = await migrateDataFolder({ dataDir, apply: true });
  assert.ok(first.applied && first.pending.length >= STORE_SCHEMAS.length);
  assert.deepEqual(await migrateDataFolder({ dataDir, apply: true }), { pending: [], applied: true });
});

check('an older database: looked at, not migrated by doctor or backup, migrated by migrate', async (t) => {
  const { dataDir, home } = await behind(t);
  const { pending } = await migrateDataFolder({ dataDir, apply: false });
  assert.ok(pending.length > 0);
  const report = await examine({ dataDir, nodeVersion: '24.0.0' });
  assert.equal(report.checks.find(({ name }) => name === 'store_version')?.state, 'warn');
  assert.equal(
    report.checks.find(({ name }) => name === 'integrity'),
    undefined,
  );
  const target = join(home, 'copy.db');
  await assert.rejects(backUpDataFolder({ dataDir, target }), { code: 'DATABASE_BEHIND', exitCode: 1 });
  assert.equal(existsSync(target), false);
  assert.deepEqual((await migrateDataFolder({ dataDir, apply: false })).pending, pending, 'nobody migrated it');
  assert.deepEqual((await migrateDataFolder({ dataDir, apply: true })).pending, pending);
  assert.equal((await migrateDataFolder({ dataDir, apply: false })).pending.length, 0);
});

check(
  'a backup holds what was there when it was made, and restores into a new folder of its owner alone',
  async (t) => {
    const { dataDir, home } = await current(t);
    await addProject(dataDir, 'before');
    const target = join(home, 'copy.db');
    const { bytes } = await backUpDataFolder({ dataDir, target });
    assert.equal(bytes, statSync(target).size);
    assert.equal(statSync(target).mode & 0o777, 0o600);
    await addProject(dataDir, 'later');
    const restored = join(home, 'restored');
    await restoreDataFolder({ dataDir: restored, backup: target });
    assert.deepEqual(await projectsOf(restored), ['before']);
    assert.deepEqual(await projectsOf(dataDir), ['before', 'later']);
    assert.equal(statSync(restored).mode & 0o777, 0o700);
    assert.equal((await examine({ dataDir: restored, nodeVersion: '24.0.0' })).state === 'fail', false);
  },
);

check(
  'what was carried out after a backup is not carried out again by the folder that is restored from it',
  async (t) => {
    const { dataDir, home } = await place(t);
    const sent: string[] = [];
    const tool = noteTool({ needsApproval: true, execute: ({ note }) => ({ at: sent.push(note) }) });
    const agentOf = (desk: Holdfast) => desk.agent({ model: callsThenDone([{}]), tools: [tool] });
    const first = await Holdfast.open({ dataDir });
    const run = await agentOf(first).run('go');
    const target = join(home, 'waiting.db');
    await backUpDataFolder({ dataDir, target });
    await run.approve(run.pending[0]);
    await first.close();
    assert.deepEqual(sent, ['milk']);
    const restored = join(home, 'restored');
    await restoreDataFolder({ dataDir: restored, backup: target });
    const second = await Holdfast.open({ dataDir: restored });
    t.after(() => second.close());
    const again = await agentOf(second).resume(run.id);
    await again.approve(again.pending[0]);
    const outcome = again.view.calls[0]?.outcome;
    assert.deepEqual(
      [sent.length, outcome?.state, outcome && 'code' in outcome && outcome.code],
      [1, 'not_started', 'CALL_PAUSED'],
    );
    assert.match(outcome && 'reason' in outcome ? outcome.reason : '', /restored from a backup/);
    await unpause(second.runtime.store);
    const later = await second
      .agent({ name: 'later', model: callsThenDone([{ note: 'bread' }]), tools: [tool] })
      .run('go');
    await later.approve(later.pending[0]);
    assert.deepEqual(sent, ['milk', 'bread']);
  },
);

check(
  'a backup of an older version is restored with the tables of this one, and is paused like any other',
  async (t) => {
    const { database, home } = await behind(t);
    const [backup, dataDir] = [join(home, 'older.db'), join(home, 'restored')];
    copyFileSync(database, backup);
    const older = readFileSync(backup);
    const { exit, stdout } = await holdfast(['restore', '--from', backup, '--json'], {
      cwd: home,
      env: { HOLDFAST_DATA_DIR: dataDir },
    });
    assert.deepEqual([exit, (JSON.parse(stdout) as { paused?: boolean }).paused], [0, true]);
    assert.deepEqual(await migrateDataFolder({ dataDir, apply: false }), { pending: [], applied: false });
    const { store } = await openHoldfastStore({ dataDir, create: false });
    t.after(() => store.close());
    const words = await store.read('test', (tx) => tx.all('SELECT control FROM controls'));
    assert.deepEqual(words, [{ control: 'paused' }]);
    assert.deepEqual(readFileSync(backup), older);
  },
);

check('nothing is written over, and a refused restore leaves nothing behind', async (t) => {
  const { dataDir, home, database } = await current(t);
  const target = join(home, 'copy.db');
  await backUpDataFolder({ dataDir, target });
  const before = readFileSync(target);
  await assert.rejects(backUpDataFolder({ dataDir, target }), { code: 'STORE_TARGET_EXISTS' });
  assert.deepEqual(readFileSync(target), before);
  await assert.rejects(restoreDataFolder({ dataDir, backup: target }), { code: 'STORE_TARGET_EXISTS' });
  assert.ok(existsSync(database));
  const fresh = join(home, 'fresh');
  await assert.rejects(restoreDataFolder({ dataDir: fresh, backup: join(home, 'none.db') }), { code: 'INVALID_VALUE' });
  const damaged = join(home, 'damaged.db');
  writeFileSync(damaged, before.subarray(0, before.length / 2));
  await assert.rejects(restoreDataFolder({ dataDir: fresh, backup: damaged }));
  assert.deepEqual(readdirSync(home).toSorted(), ['copy.db', 'damaged.db', 'data']);
});

check('doctor sees damage, foreign rows and a newer database, and says what to do', async (t) => {
  const { dataDir, database, home } = await current(t);
  const sound = join(home, 'sound.db');
  copyFileSync(database, sound);
  const stateAfter = async (sql: string): Promise<[string | undefined, string]> => {
    copyFileSync(sound, database);
    edit(database, sql);
    const { checks } = await examine({ dataDir, nodeVersion: '24.0.0' });
    const bad = checks.find(({ state }) => state === 'fail');
    assert.ok(bad === undefined || (bad.state === 'fail' && bad.resolve.length > 10));
    return [bad?.name, bad?.found ?? ''];
  };
  assert.deepEqual(await stateAfter('SELECT 1'), [undefined, '']);
  const orphan = "PRAGMA foreign_keys = OFF; INSERT INTO projects VALUES ('p', 'nobody', 'P', 0)";
  assert.match((await stateAfter(orphan)).join(' '), /^integrity .*1 of references/);
  assert.match((await stateAfter('DROP TRIGGER project_keeps_its_tenant')).join(' '), /^integrity .*1 of tables/);
  const newer = "INSERT INTO runtime_metadata VALUES ('migration:later:1', 'x y')";
  assert.match((await stateAfter(newer)).join(' '), /^store_version STORE_NEWER/);
  assert.match(
    (await stateAfter("UPDATE runtime_metadata SET metadata_value = 'x' || metadata_value")).join(' '),
    /STORE_/,
  );
});

check('the commands answer as text and as one JSON document, with the exit codes of the table', async (t) => {
  const { home, dataDir } = await behind(t);
  const run = async (...args: string[]) => {
    const { exit, stdout, stderr } = await holdfast([...args, '--json'], {
      cwd: home,
      env: { HOLDFAST_DATA_DIR: dataDir },
    });
    assert.equal(stderr, '');
    assert.ok(!stdout.includes(home), 'no host path');
    return { exit, document: JSON.parse(stdout) as { state?: string; error?: { code: string }; bytes?: number } };
  };
  const look = await run('migrate', '--check');
  assert.deepEqual([look.exit, look.document.state], [1, 'behind']);
  const early = await run('backup', '--to', 'copy.db');
  assert.deepEqual([early.exit, early.document.error?.code], [1, 'DATABASE_BEHIND']);
  assert.deepEqual((await run('migrate')).document.state, 'current');
  const backup = await run('backup', '--to', 'copy.db');
  assert.deepEqual([backup.exit, backup.document.state], [0, 'done']);
  const again = await run('backup', '--to', 'copy.db');
  assert.deepEqual([again.exit, again.document.error?.code], [2, 'STORE_TARGET_EXISTS']);
  const restored = await run('restore', '--from', 'copy.db', '--data-dir', 'restored');
  assert.deepEqual([restored.exit, restored.document.bytes], [0, backup.document.bytes]);
  assert.equal((await run('doctor', '--data-dir', 'restored')).exit, 0);
  assert.equal((await run('restore')).document.error?.code, 'USAGE');
});
