import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesSource, deepVerify } from '../../../src/archive/index.ts';
import { digestJson, type JsonObject } from '../../../src/core/index.ts';
import { verifyDeeply } from '../../../src/packages/index.ts';
import { editDocument, oracle, oracleNames, resealed } from '../../archive/support/packages.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { assert, check, holdfast, temporaryFolder } from '../../support/index.ts';
import { listOf } from './run-history.ts';
import { makeSource, ROOT } from './source.ts';
import { superviseSource } from './supervised.ts';
import { openPackageWorld, OWNER, refusal } from './world.ts';

/** The package of a session with a supervised run: a review, a finding, a repair, an assessment. */
async function supervisedPackage(): Promise<Buffer> {
  await using world = await openPackageWorld();
  await superviseSource(world);
  using exported = await world.packages.export(OWNER, ROOT);
  return exported.data();
}

async function tampered(bytes: Buffer, edit: (history: JsonObject) => void): Promise<Buffer> {
  const files = await readAll(bytes);
  editDocument(files, 'review.json', (document) => edit(document['auto_mode'] as JsonObject));
  return resealed(files);
}

function eventOf(history: JsonObject, type: string): JsonObject {
  const event = listOf(history, 'events').find((one) => one['type'] === type);
  assert.ok(event, type);
  return event;
}

/** Changes an event and makes its own digest fit: only what the events come to can tell. */
function retell(event: JsonObject, change: JsonObject): void {
  event['payload'] = { ...(event['payload'] as JsonObject), ...change };
  event['payload_sha256'] = digestJson(event['payload'] as JsonObject);
}

const run = (history: JsonObject): JsonObject => listOf(history, 'runs')[0] as JsonObject;

/** One edit each, after which every digest of the manifest fits, and how it is named. */
const TAMPERED: Readonly<Record<string, readonly [(history: JsonObject) => void, RegExp]>> = {
  'a payload edited': [
    (history) => {
      (eventOf(history, 'auto_run_terminal')['payload'] as JsonObject)['status'] = 'completed_with_issues ';
    },
    /digest mismatch/,
  ],
  'a run claims another end': [
    (history) => {
      run(history)['status'] = 'cancelled';
    },
    /terminal event disagrees with its run/,
  ],
  'the end of a run retold': [
    (history) => retell(eventOf(history, 'auto_run_terminal'), { status: 'cancelled' }),
    /terminal event disagrees with its run/,
  ],
  'an event left out': [
    (history) => {
      history['events'] = listOf(history, 'events').filter(({ type }) => type !== 'candidate_ready');
    },
    /out of phase|disagrees|not current/,
  ],
  'events in another order': [
    (history) => {
      history['events'] = listOf(history, 'events').toReversed();
    },
    /cursors are not ordered/,
  ],
  'a version of another package': [
    (history) => {
      listOf(history, 'findings')[0]!['version_ids'] = ['v-elsewhere'];
    },
    /version_ids references an unknown identity/,
  ],
  'a run of another session': [
    (history) => {
      for (const key of ['runs', 'events', 'review_runs', 'findings', 'repair_runs', 'permission_assessments'])
        for (const record of listOf(history, key)) record['root_frame_id'] = 'f-other';
    },
    /another session/,
  ],
};

check('a deep look tells the history of autonomous runs again, and names what was tampered with', async () => {
  const bytes = await supervisedPackage();
  await using world = await openPackageWorld();
  const good = await verifyDeeply(bytesSource(bytes));
  assert.deepEqual([good.importable, good.problems], [true, []]);
  assert.ok(!good.not_checked.join().includes('auto mode'));
  for (const [name, [edit, named]] of Object.entries(TAMPERED)) {
    const other = await tampered(bytes, edit);
    const deep = await verifyDeeply(bytesSource(other));
    assert.equal(deep.importable, false, name);
    assert.match(deep.problems.join(), named, name);
    // An import says the same; the documents alone do not show it.
    const refused = await refusal(world.packages.import(OWNER, other));
    assert.deepEqual([refused.code, [refused.message]], ['PACKAGE_AUTO_MODE', deep.problems], name);
    const alone = await deepVerify(bytesSource(other));
    assert.equal(alone.importable, true, name);
    assert.match(alone.not_checked.join(), /auto mode history/);
  }
});

check('packages without such a history, or with an empty one, are looked at as before', async () => {
  for (const name of oracleNames()) {
    const [alone, deep] = [await deepVerify(bytesSource(oracle(name))), await verifyDeeply(bytesSource(oracle(name)))];
    assert.deepEqual([deep.importable, deep.problems], [alone.importable, alone.problems], name);
  }
  await using world = await openPackageWorld();
  await makeSource(world);
  using exported = await world.packages.export(OWNER, ROOT);
  assert.equal((await verifyDeeply(bytesSource(exported.data()))).importable, true);
});

check('the command names a run that is not what its events come to', async (t) => {
  const folder = await temporaryFolder(t);
  const bytes = await supervisedPackage();
  const [good, bad] = [join(folder, 'good.zip'), join(folder, 'bad.zip')];
  writeFileSync(good, bytes);
  writeFileSync(bad, await tampered(bytes, (history) => void (run(history)['status'] = 'cancelled')));
  const sound = await holdfast(['verify', good, '--deep', '--json']);
  assert.equal(sound.exit, 0, sound.stderr);
  const wrong = await holdfast(['verify', bad, '--deep', '--json']);
  assert.equal(wrong.exit, 1);
  const { ok, deep } = JSON.parse(wrong.stdout) as { ok: boolean; deep: { importable: boolean; problems: string[] } };
  assert.deepEqual([ok, deep.importable], [true, false]);
  assert.match(deep.problems.join(), /terminal event disagrees with its run/);
  assert.equal((await holdfast(['verify', bad])).exit, 0, 'its bytes are what its manifest lists');
});

check('what only an import finds in the fields of records is named as not looked at', async () => {
  const files = await readAll(oracle('b-notebook'));
  editDocument(files, 'notebook.json', (notebook) => {
    const [cell] = notebook['cells'] as JsonObject[];
    if (cell) cell['code'] = 5;
  });
  const bytes = resealed(files);
  const deep = await verifyDeeply(bytesSource(bytes));
  assert.ok(deep.not_checked.some((one) => one.startsWith('fields: ')));
  await using world = await openPackageWorld();
  assert.equal((await refusal(world.packages.import(OWNER, bytes))).code, 'PACKAGE_DOCUMENT_INVALID');
});
