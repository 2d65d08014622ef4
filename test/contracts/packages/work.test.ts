import { bytesSource, inspectPackage } from '../../../src/archive/index.ts';
import type { JsonObject, JsonValue } from '../../../src/core/index.ts';
import { checkRepairs } from '../../../src/packages/auto-mode/owners.ts';
import { replaceUrls } from '../../../src/packages/index.ts';
import { at, editDocument, type Files, filesOf, resealed } from '../../archive/support/packages.ts';
import { assert, check } from '../../support/index.ts';
import { plantFiles } from './planted.ts';
import { openPackageWorld, OWNER, refusal } from './world.ts';

// A package may be small and still ask for work without end. What a few thousand of something may take is bounded here
// generously: what these tests guard against took from half a minute to days.
const SOON_MS = 10_000;

async function within(what: string, work: () => unknown): Promise<void> {
  const start = performance.now();
  await work();
  const took = performance.now() - start;
  assert.ok(took < SOON_MS, `${what} took ${Math.round(took)} ms`);
}

check('a text of a delivery that is full of punctuation costs what its length does', async () => {
  const url = '/api/v1/artifacts/versions/';
  const text = `${url}${'.'.repeat(1_000_000)}x ${url}a${'.,;'.repeat(100)}`;
  await within('the addresses', () => {
    const replaced = replaceUrls(text, new Map([[`${url}a`, `${url}b`]]));
    assert.equal(replaced, `${text.slice(0, text.lastIndexOf(url))}${url}b${'.,;'.repeat(100)}`);
  });
});

/** Checkpoints one after the other on the root branch, each of them at an event of a long history of supervised runs. */
function lengthened(files: Files, checkpoints: number, events: number): void {
  editDocument(files, 'review.json', (review) => {
    review['auto_mode'] = { events: Array.from({ length: events }, (_, i) => ({ event_cursor: i + 1 })) };
  });
  editDocument(files, 'snapshots.json', (snapshots) => {
    const all = snapshots['checkpoints'] as JsonObject[];
    const first = all[0] as JsonObject;
    const branch = (snapshots['branches'] as JsonObject[]).find((one) => one['branch_id'] === first['branch_id']);
    let head = at(branch)['head_checkpoint_id'] as JsonValue;
    for (let i = 0; i < checkpoints; i += 1) {
      const id = `checkpoint-${i}`;
      all.push({ ...first, checkpoint_id: id, parent_checkpoint_id: head, auto_event_cursor: i + 1, metadata: {} });
      head = id;
    }
    at(branch)['head_checkpoint_id'] = head;
  });
}

check('many checkpoints of a long history of supervised runs are looked at once each', async () => {
  const files = await filesOf('d2-deliveries');
  lengthened(files, 6000, 25_000);
  await using world = await openPackageWorld();
  await within('the checkpoints', async () => {
    // Its events are no events: that is seen after the checkpoints were looked at.
    assert.equal((await refusal(world.packages.import(OWNER, resealed(files)))).code, 'PACKAGE_AUTO_MODE');
  });
});

check('a path of the workspace that no file system takes is refused before anything is written', async () => {
  const files = await filesOf('g-workspace');
  plantFiles(files, [`${'a/'.repeat(100_000)}f`]);
  await using world = await openPackageWorld();
  await within('the path', async () => {
    const error = await refusal(world.packages.import(OWNER, resealed(files)));
    assert.equal(error.code, 'PACKAGE_WORKSPACE');
    assert.match(error.message, /longer than file systems take/);
  });
  assert.equal(world.count('sessions'), 0);
});

check('a file of the workspace is no folder, whatever stands between the two in their order', async () => {
  const files = await filesOf('g-workspace');
  plantFiles(files, ['d/a/f', 'd/A-b', 'd/A']);
  await using world = await openPackageWorld();
  const error = await refusal(world.packages.import(OWNER, resealed(files)));
  assert.equal(error.code, 'PACKAGE_WORKSPACE');
  assert.match(error.message, /both as a file and as a folder/);
});

check('a look into a package with many branches and checkpoints ends soon', async () => {
  const files = await filesOf('a-minimal');
  const many = 40_000;
  editDocument(files, 'snapshots.json', (snapshots) => {
    snapshots['branches'] = Array.from({ length: many }, (_, i) => ({ branch_id: `b${i}` }));
    snapshots['checkpoints'] = Array.from({ length: 2 * many }, (_, i) => ({ branch_id: `b${i % many}` }));
  });
  await within('the look', async () => {
    const { history } = await inspectPackage(bytesSource(resealed(files)));
    assert.deepEqual([history.branches.length, history.branches[7]?.checkpoints], [many, 2]);
  });
});

check('a repair that many events tie to action groups is told in one pass', async () => {
  const events = Array.from({ length: 100_000 }, (_, i) => ({
    type: 'repair_started',
    run_id: 'r',
    payload: { repair_run_id: 'p', action_group_id: `g${i}`, phase: 'execution_group_bound', status: 'started' },
  }));
  const repairs = [{ repair_run_id: 'p', run_id: 'r', finding_ids: ['f'], execution_group_ids: [] }];
  const findings = [{ finding_id: 'f', run_id: 'r' }];
  const history = { runs: [], events, reviews: [], findings, repairs, assessments: [] };
  await within('the bindings', () => {
    assert.throws(() => checkRepairs(history, new Map()), { code: 'PACKAGE_AUTO_MODE' });
  });
});
