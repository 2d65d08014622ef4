import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { versionUrl } from '../../../src/archive/index.ts';
import type { JsonObject } from '../../../src/core/index.ts';
import { beginTurn } from '../../../src/sessions/index.ts';
import { edited } from '../../archive/support/packages.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { assert, check, contract } from '../../support/index.ts';
import { addDelivery, CSV, makeSource, ROOT } from './source.ts';
import { documentsOf } from './summary.ts';
import { openPackageWorld, OWNER, type PackageWorld, refusal } from './world.ts';

/** The documents and files of a session as it would travel now. */
async function travelling(world: PackageWorld, root = ROOT) {
  using exported = await world.packages.export(OWNER, root);
  const bytes = exported.data();
  return { bytes, documents: await documentsOf(bytes), files: await readAll(bytes) };
}

const list = (document: JsonObject, key: string): JsonObject[] => document[key] as JsonObject[];

contract('PKG-09 PKG-30', 'a message names its child branch; the workspace arrives without its secrets', async () => {
  await using world = await openPackageWorld();
  const { childBranch } = await makeSource(world);
  await world.store.write('test.turn', (tx) =>
    beginTurn(tx, world.sessions, OWNER, { rootFrameId: ROOT, branchId: childBranch, content: 'On the side' }),
  );
  const { bytes, documents } = await travelling(world);
  const last = list(documents('session.json'), 'messages').at(-1);
  assert.deepEqual([last?.['content'], last?.['branch_id']], ['On the side', childBranch]);
  const { root_frame_id: root } = await world.packages.import(OWNER, bytes);
  const files = world.filesUnder(join('workspaces', root));
  assert.ok(files.includes('analysis.txt') && !files.includes('.env'));
  assert.equal(readFileSync(join(world.workspaceOf(root), 'analysis.txt'), 'utf8'), 'safe result\n');
});

contract(
  'PKG-49 PKG-50',
  'a cursor of the run log that is no event of the package is refused, and nothing made',
  async () => {
    await using world = await openPackageWorld();
    const ofCheckpoint = (snapshots: JsonObject): void => {
      (list(snapshots, 'checkpoints')[0] as JsonObject)['auto_event_cursor'] = 999;
    };
    const ofProjection = (snapshots: JsonObject): void => {
      for (const { metadata } of list(snapshots, 'checkpoints')) {
        const projection = (metadata as JsonObject)['history_projection'] as JsonObject | undefined;
        if (projection) (projection['resume_cursors'] as JsonObject)['auto_event_cursor'] = 999;
      }
    };
    for (const change of [ofCheckpoint, ofProjection]) {
      const error = await refusal(world.packages.import(OWNER, await edited('c-branches', 'snapshots.json', change)));
      assert.match(error.message, /no event boundary/);
      assert.equal(world.count('projects'), 0);
    }
  },
);

contract('PKG-74 PKG-76', 'a generation of this installation is never taken for one of the package', async () => {
  await using world = await openPackageWorld();
  const victim = (await world.packages.import(OWNER, await edited('b-notebook', 'session.json', () => {})))
    .root_frame_id;
  const before = (await travelling(world, victim)).documents('environment.json');
  const local = list(before, 'generations').map(({ generation_id: id }) => id);
  assert.ok(local[0]);
  const stamped = await edited('b-notebook', 'notebook.json', (notebook) => {
    for (const cell of list(notebook, 'cells')) cell['generation_id'] = local[0] ?? null;
  });
  const first = await world.packages.import(OWNER, stamped);
  const cells = list((await travelling(world, first.root_frame_id)).documents('notebook.json'), 'cells');
  assert.ok(cells.length > 0 && cells.every(({ generation_id: id }) => id === null));
  const foreign = await edited('b-notebook', 'environment.json', (environment) => {
    environment['generations'] = [];
    for (const snapshot of list(environment, 'artifact_environment_snapshots'))
      snapshot['generation_id'] = local[0] ?? null;
  });
  const second = await importWithoutGenerations(world, foreign);
  const environment = (await travelling(world, second)).documents('environment.json');
  const snapshots = list(environment, 'artifact_environment_snapshots');
  assert.ok(snapshots.length > 0);
  for (const snapshot of snapshots)
    assert.deepEqual(
      [snapshot['generation_id'], snapshot['generation_confidence'], snapshot['provenance']],
      [null, null, 'imported_session_package_untrusted'],
    );
  assert.deepEqual((await travelling(world, victim)).documents('environment.json'), before);
});

/** Attempts and recovery entries that name a generation need it in the package: here none does. */
async function importWithoutGenerations(world: PackageWorld, bytes: Buffer): Promise<string> {
  const { editDocument, resealed } = await import('../../archive/support/packages.ts');
  const files = await readAll(bytes);
  editDocument(files, 'ledger.json', (ledger) => {
    for (const attempt of list(ledger, 'execution_attempts')) attempt['generation_id'] = null;
  });
  editDocument(files, 'snapshots.json', (snapshots) => {
    for (const entry of list(snapshots, 'recovery_journal'))
      Object.assign(entry, { source_generation_id: null, candidate_generation_id: null });
  });
  return (await world.packages.import(OWNER, resealed(files))).root_frame_id;
}

contract(
  'PKG-115 PKG-117 PKG-123',
  'a rebuilt delivery names local things, whose bytes are the original ones',
  async () => {
    await using world = await openPackageWorld();
    await makeSource(world);
    await addDelivery(world, { publishedAt: 1235 });
    const imported = await world.packages.import(OWNER, (await travelling(world)).bytes);
    const { documents, files } = await travelling(world, imported.root_frame_id);
    const [delivery] = list(documents('artifacts.json'), 'completion_deliveries');
    const manifest = delivery?.['manifest'] as JsonObject;
    assert.deepEqual(
      [manifest['root_frame_id'], manifest['project_id']],
      [imported.root_frame_id, imported.project_id],
    );
    const [entry] = list(manifest, 'artifacts');
    assert.notEqual(entry?.['version_id'], 'v-source');
    assert.equal(entry?.['url'], versionUrl(entry?.['version_id'] as string));
    const [artifact] = list(documents('artifacts.json'), 'artifacts');
    const version = list(artifact as JsonObject, 'versions').find((one) => one['version_id'] === entry?.['version_id']);
    assert.equal(files.get(`artifact-data/${version?.['snapshot_sha256'] as string}`)?.toString(), CSV);
    const chunks: Uint8Array[] = [];
    for await (const chunk of world.workspaces.readBlob(version?.['snapshot_sha256'] as string)) chunks.push(chunk);
    assert.equal(Buffer.concat(chunks).toString(), CSV);
    const told = list(documents('session.json'), 'messages').find(
      (message) => message['message_id'] === delivery?.['message_id'],
    );
    const metadata = told?.['metadata'] as JsonObject | undefined;
    const envelope = metadata?.['completion_delivery'] as JsonObject;
    assert.deepEqual([envelope['delivery_id'], envelope['status']], [delivery?.['delivery_id'], 'published']);
  },
);

check('two rules for one thing that contradict each other are refused; the same one twice is one', async () => {
  const { listRules } = await import('../../../src/approvals/index.ts');
  await using world = await openPackageWorld();
  const twice = (decision: string) =>
    edited('b-notebook', 'permissions.json', (permissions) => {
      const rule = { ...list(permissions, 'conversation')[0], tool: 'web_fetch', pattern: '*', decision: 'ask' };
      permissions['conversation'] = [rule, { ...rule, decision }];
    });
  await assert.rejects(world.packages.import(OWNER, await twice('deny')), /contradict each other/);
  const { root_frame_id: root } = await world.packages.import(OWNER, await twice('allow'));
  const rules = await world.store.read('test', (tx) => listRules(tx, OWNER, 'conversation', root));
  assert.deepEqual(
    rules.map(({ decision }) => decision),
    ['ask'],
  );
});
