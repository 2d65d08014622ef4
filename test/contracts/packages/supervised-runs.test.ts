import { importHistory } from '../../../src/autonomy/index.ts';
import { digestJson, type JsonObject } from '../../../src/core/index.ts';
import { assert, check } from '../../support/index.ts';
import * as runs from '../../support/autonomy-world.ts';
import { listOf, payloadAt } from './run-history.ts';
import { ROOT } from './source.ts';
import { documentsOf } from './summary.ts';
import { supervised, superviseSource } from './supervised.ts';
import { openPackageWorld, OWNER, type PackageWorld } from './world.ts';

async function historyOf(world: PackageWorld, root: string) {
  using exported = await world.packages.export(OWNER, root);
  const bytes = exported.data();
  return { bytes, history: (await documentsOf(bytes))('review.json')['auto_mode'] as JsonObject };
}

/** A history with every name and every digest of names replaced by the place where it first stood. */
function told(history: JsonObject): unknown {
  const names = new Map<string, string>();
  const kept = new Set(['candidate_snapshot_sha256', 'evidence_snapshot_sha256', 'artifact_set_sha256']);
  const visit = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => visit(item, key));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value)
          .filter(([name]) => name !== 'payload_sha256')
          .map(([name, member]) => [name, visit(member, name)]),
      );
    if (typeof value !== 'string' || kept.has(key) || !/_ids?$/.test(key) || key === 'model_profile_id') return value;
    if (!names.has(value)) names.set(value, `name ${names.size}`);
    return names.get(value);
  };
  return visit(history, '');
}

check('supervised runs travel: shown as unverified, never to be carried on, and the same each time', async () => {
  await using world = await openPackageWorld();
  await superviseSource(world);
  const { bytes, history } = await historyOf(world, ROOT);
  assert.equal(listOf(history, 'runs')[0]?.['status'], 'completed_with_issues');
  assert.deepEqual(
    ['review_runs', 'findings', 'repair_runs', 'permission_assessments'].map((key) => listOf(history, key).length),
    [1, 1, 1, 1],
  );
  await using other = await openPackageWorld();
  const { root_frame_id: root } = await other.packages.import(OWNER, bytes);
  const session = supervised(other, root);
  const run = await runs.projected(session);
  assert.equal(run?.['status'], 'unverified_import');
  assert.notEqual(run?.['run_id'], 'run-1');
  const audits = await runs.audits(session);
  assert.deepEqual(
    audits.map((audit) => [audit['status'], audit['error_kind'], audit['verdict'], audit['outcome']]),
    [
      ['unverified_import', 'quarantined_import', undefined, undefined],
      ['unverified_import', 'quarantined_import', undefined, undefined],
    ],
  );
  await assert.rejects(
    session.autonomy.recordCandidate(OWNER, run?.['run_id'] as string, {
      key: 'more',
      candidateId: 'more',
      candidateSnapshotSha256: runs.HASH_A,
      evidenceSnapshotSha256: runs.HASH_A,
      artifactSetSha256: runs.HASH_A,
    }),
    /terminal|quarantined|view-only/,
  );
  const second = await historyOf(other, root);
  const [exportedRun] = listOf(second.history, 'runs');
  assert.deepEqual(
    [exportedRun?.['status'], exportedRun?.['source_claimed_status'], exportedRun?.['trust_state']],
    ['unverified_import', 'completed_with_issues', 'quarantined_import'],
  );
  for (const event of listOf(second.history, 'events'))
    assert.equal(event['payload_sha256'], digestJson(event['payload'] as JsonObject));
  await using third = await openPackageWorld();
  const again = await third.packages.import(OWNER, second.bytes);
  const last = await historyOf(third, again.root_frame_id);
  assert.deepEqual(told(last.history), told(second.history));
});

check('names of versions and cells that stay behind are left out of the whole history', async () => {
  await using world = await openPackageWorld();
  await superviseSource(world);
  const { history } = await historyOf(world, ROOT);
  const [repair] = listOf(history, 'repair_runs');
  assert.deepEqual([repair?.['before_version_ids'], repair?.['after_version_ids']], [['version-before'], []]);
  const [finding] = listOf(history, 'findings');
  assert.deepEqual([finding?.['version_ids'], finding?.['cell_ids']], [['version-before'], []]);
});

check('a summary with a secret is redacted in the record and in the event, and both still fit', async () => {
  await using world = await openPackageWorld();
  const session = await superviseSource(world);
  await runs.start(session, { ...runs.secondRun, key: 'second' });
  const token = `${'s'}k-abcdefghijklmnop`;
  await session.autonomy.terminateRun(OWNER, 'run-2', { key: 'end', status: 'cancelled', reason: `because ${token}` });
  await runs.group(session, 'turn-2');
  const { bytes, history } = await historyOf(world, ROOT);
  const last = listOf(history, 'events').length - 1;
  assert.equal(payloadAt(history, last)['terminal_reason'], 'because [REDACTED]');
  assert.equal(listOf(history, 'runs')[1]?.['terminal_reason'], 'because [REDACTED]');
  await using other = await openPackageWorld();
  await other.packages.import(OWNER, bytes);
});

check(
  'a secret of this installation is redacted in the record and in the event as one that looks like one',
  async () => {
    await using world = await openPackageWorld({ secrets: { BILLING_PASSWORD: 'winter is a quiet month' } });
    const session = await superviseSource(world);
    await runs.start(session, { ...runs.secondRun, key: 'second' });
    const reason = 'because winter is a quiet month';
    await session.autonomy.terminateRun(OWNER, 'run-2', { key: 'end', status: 'cancelled', reason });
    await runs.group(session, 'turn-2');
    const { bytes, history } = await historyOf(world, ROOT);
    assert.equal(listOf(history, 'runs')[1]?.['terminal_reason'], 'because [REDACTED]');
    const last = listOf(history, 'events').length - 1;
    assert.equal(payloadAt(history, last)['terminal_reason'], 'because [REDACTED]');
    await using other = await openPackageWorld();
    await other.packages.import(OWNER, bytes);
  },
);

check('a run of a turn that the ledger does not know, and one that was altered, cannot leave', async () => {
  await using world = await openPackageWorld();
  const session = await superviseSource(world);
  await runs.start(session, { ...runs.secondRun, key: 'second' });
  await assert.rejects(world.packages.export(OWNER, ROOT), /autonomous runs does not hold together.*turn/);
  await runs.group(session, 'turn-2');
  await historyOf(world, ROOT);
  runs.behind(session, (db) => db.exec(`UPDATE review_runs SET verdict = 'pass'`));
  await assert.rejects(world.packages.export(OWNER, ROOT), /autonomous runs does not hold together.*proof/);
});

check(
  'an imported session that goes takes its imported runs along, and a trusted one starts runs of its own',
  async () => {
    await using world = await openPackageWorld();
    await superviseSource(world);
    const { bytes } = await historyOf(world, ROOT);
    await using other = await openPackageWorld();
    const { root_frame_id: root } = await other.packages.import(OWNER, bytes);
    const confirmed = { action: 'restart_fresh', confirmed: true } as const;
    await other.packages.recover(OWNER, root, confirmed, async () => ({ ok: true, status: 'active' }));
    const session = supervised(other, root);
    await runs.group(session);
    await runs.start(session);
    assert.equal((await runs.projected(session))?.['status'], 'running');
    const { history } = await historyOf(other, root);
    assert.deepEqual(
      listOf(history, 'runs').map((run) => run['trust_state']),
      ['quarantined_import', 'local'],
    );
    await other.packages.erase(OWNER, root);
    for (const table of ['auto_mode_runs', 'auto_mode_events', 'imported_auto_records'])
      assert.equal(other.count(table), 0, table);
  },
);

check('a history is imported only into a session that is quarantined', async () => {
  await using world = await openPackageWorld();
  await superviseSource(world);
  const { history } = await historyOf(world, ROOT);
  const none = new Map<string, string>();
  const names = { branchIdMap: none, turnIdMap: none, versionIdMap: none, artifactIdMap: none };
  const imported = { projection: history, ...names, cellIdMap: none, actionGroupIdMap: none };
  const place = { rootFrameId: ROOT, projectId: 'project-source', resumeExecution: false } as const;
  const write = world.store.write('test', (tx) => importHistory(tx, world.sessions, place, imported));
  await assert.rejects(write, /not quarantined/);
});
