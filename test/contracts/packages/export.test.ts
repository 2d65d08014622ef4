import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesSource, DOCUMENTS, verifyPackage } from '../../../src/archive/index.ts';
import { type JsonObject, PackageError } from '../../../src/core/index.ts';
import { ExportStages } from '../../../src/packages/index.ts';
import { createCheckpoint, putSetting, revertMarkerKey } from '../../../src/sessions/index.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { assert, contract } from '../../support/index.ts';
import { addArtifact, addDelivery, BEARER, CSV, makeSource, putFiles, ROOT, TOKEN } from './source.ts';
import { documentsOf } from './summary.ts';
import { openPackageWorld, OWNER, type PackageWorld } from './world.ts';

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function exportedBytes(world: PackageWorld): Promise<Buffer> {
  using exported = await world.packages.export(OWNER, ROOT);
  return exported.data();
}

async function refused(work: Promise<unknown>, text: RegExp): Promise<void> {
  await assert.rejects(work, (error) => error instanceof PackageError && text.test(error.message));
}

contract('PKG-01 PKG-02 PKG-03', 'an unchanged session gives the same bytes, whose digest is told', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  using first = await world.packages.export(OWNER, ROOT);
  using second = await world.packages.export(OWNER, ROOT);
  assert.ok(first.data().equals(second.data()));
  assert.equal(first.sha256, sha256(first.data()));
  assert.equal(first.schemaVersion, 1);
  assert.equal((await documentsOf(first.data()))('manifest.json')['schema_version'], 1);
});

contract(
  'PKG-05 PKG-06 PKG-07 PKG-174',
  'a real export carries its notes, verifies, and writes no observations',
  async () => {
    await using world = await openPackageWorld();
    await makeSource(world);
    const bytes = await exportedBytes(world);
    const files = await readAll(bytes);
    const rows = (await documentsOf(bytes))('manifest.json')['files'] as JsonObject[];
    const notes = files.get('REPRODUCE.md') as Buffer;
    assert.equal(rows.find(({ path }) => path === 'REPRODUCE.md')?.['sha256'], sha256(notes));
    for (const part of ['openai4s verify-package', 'does not establish who produced', 'environment.json'])
      assert.ok(notes.toString().includes(part), part);
    assert.equal((await verifyPackage(bytesSource(bytes))).ok, true);
    assert.equal(files.has('artifact_observations.json'), false);
    assert.ok(rows.every(({ path }) => path !== 'artifact_observations.json'));
    const documents = [...files.keys()].filter((name) => !name.includes('/') && name.endsWith('.json'));
    assert.deepEqual(documents.filter((name) => name !== 'manifest.json').sort(), [...DOCUMENTS].sort());
  },
);

contract('PKG-10 PKG-11', 'a session in the middle of a revert is not exported, whatever its marker says', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  const operation = { schema_version: 1, state: 'recovery_required', operation_id: 'op', branch_id: ROOT };
  for (const value of [JSON.stringify(operation), '']) {
    const key = revertMarkerKey(ROOT);
    await world.store.write('test.marker', (tx) => putSetting(tx, world.sessions, ROOT, key, value));
    await refused(world.packages.export(OWNER, ROOT), /requires recovery/);
  }
});

contract('PKG-12', 'a checkpoint that is made while the export waits goes ahead, and the export fails', async () => {
  await using world = await openPackageWorld();
  const { checkpointId } = await makeSource(world);
  const packages = world.with({
    seams: {
      exportStages: (context, session) =>
        new (class extends ExportStages {
          override async captureWorkspace() {
            writeFileSync(join(world.workspaceOf(ROOT), 'analysis.txt'), 'other result\n');
            const made = await world.store.write('test.checkpoint', (tx) =>
              createCheckpoint(tx, world.sessions, OWNER, {
                rootFrameId: ROOT,
                branchId: ROOT,
                expectedHead: checkpointId,
                reason: 'meanwhile',
              }),
            );
            assert.notEqual(made.checkpointId, checkpointId);
            return super.captureWorkspace();
          }
        })(context, session),
    },
  });
  await refused(packages.export(OWNER, ROOT), /changed during export/);
  assert.deepEqual(world.filesUnder('package-staging'), []);
});

contract('PKG-13 PKG-14 PKG-15', 'a history that is too long is refused, never cut short', async () => {
  const cases = [
    [`past_operations (operation_id, kind`, `'r' || i, 'revert'`, 25_001, /too many operations/],
    [
      'recovery_journal (entry_id, recovery_id, branch_id, sequence',
      `'r' || i, 'r', '${ROOT}', i`,
      100_001,
      /too many recovery journal/,
    ],
    ['plans (plan_id, status', `'r' || i, 'draft'`, 5001, /too many plans/],
  ] as const;
  for (const [table, values, count, text] of cases) {
    await using world = await openPackageWorld();
    await makeSource(world);
    const db = world.raw();
    db.exec(`DELETE FROM plans`);
    db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO ${table}, root_frame_id, position, created_at) SELECT ${values}, '${ROOT}', i, 0 FROM n`);
    db.close();
    await refused(world.packages.export(OWNER, ROOT), text);
  }
});

contract('PKG-16 PKG-17', 'too many delivery relations; a delivery that redaction would change', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  await addDelivery(world, { text: `Done with ${TOKEN}` });
  const bounded = world.with({ limits: { packageDeliveryRelations: 0 } });
  await refused(bounded.export(OWNER, ROOT), /delivery Artifact relations/);
  await refused(world.packages.export(OWNER, ROOT), /changed during (?:safe|message) projection/);
});

contract(
  'PKG-21 PKG-22 PKG-23 PKG-24',
  'files with names or contents of secrets stay: env, tokens, Bearer',
  async () => {
    await secretsStay({
      '.env.local': 'harmless words',
      'notes.txt': `ordinary words that end in ${'ar'}k-abcdefghijklmnop`,
      'auth.txt': `Authorization: ${BEARER}`,
    });
  },
);

contract(
  'PKG-25 PKG-26 PKG-29',
  'key blocks, bytes that are no text, and the end of a long file are looked at',
  async () => {
    const block = ['BEGIN', 'END'].map((end) => `-----${end} PRIVATE ${'KEY'}-----`);
    await secretsStay({
      'private.pem.txt': `${block[0]}\nMIIabcdefghijklmnopqrstuvwxyz0123456789\n${block[1]}\n`,
      'binary.bin': Buffer.concat([Buffer.from([0, 0xff]), Buffer.from(` ${'ar'}k-abcdefghijklmnop`)]),
      'long.txt': `${'x '.repeat(2 * 1024 * 1024)}${BEARER}`,
    });
  },
);

contract('PKG-27 PKG-28', 'a file that is a configured secret stays, whatever it looks like', async () => {
  const secrets = { llm_api_key: 'plain-looking-value-1', agent_plan_key: 'plain-looking-value-2' };
  await secretsStay({ 'one.txt': secrets.llm_api_key, 'two.txt': secrets.agent_plan_key }, secrets);
});

async function secretsStay(
  files: Record<string, string | Buffer>,
  secrets: Record<string, string> = {},
): Promise<void> {
  await using world = await openPackageWorld({ secrets });
  await makeSource(world);
  putFiles(world.workspaceOf(ROOT), files);
  const bytes = await exportedBytes(world);
  const workspace = (await documentsOf(bytes))('snapshots.json')['workspace'] as JsonObject;
  const map = workspace['tree_map'] as Record<string, string>;
  const tree = (await documentsOf(bytes))(`workspace/trees/${map[workspace['active_source_tree_id'] as string]}.json`);
  const paths = (tree['entries'] as JsonObject[]).map(({ path }) => path);
  assert.ok(paths.includes('analysis.txt'));
  for (const name of Object.keys(files)) assert.equal(paths.includes(name), false, name);
  const members = [...(await readAll(bytes)).values()];
  for (const [name, content] of Object.entries(files)) {
    const tail = Buffer.from(content).subarray(-32);
    assert.ok(!members.some((member) => member.includes(tail)), name);
  }
}

contract(
  'PKG-08 PKG-32',
  'the active workspace is reached by its tree; a delivery has no key of its source',
  async () => {
    await using world = await openPackageWorld();
    await makeSource(world);
    await addDelivery(world);
    const bytes = await exportedBytes(world);
    const [documents, files] = [await documentsOf(bytes), await readAll(bytes)];
    const workspace = documents('snapshots.json')['workspace'] as JsonObject;
    const map = workspace['tree_map'] as Record<string, string>;
    const tree = documents(`workspace/trees/${map[workspace['active_source_tree_id'] as string]}.json`);
    const entry = (tree['entries'] as JsonObject[]).find(({ path }) => path === 'analysis.txt');
    assert.equal(files.get(`workspace/blobs/${entry?.['blob'] as string}`)?.toString(), 'safe result\n');
    const [delivery] = documents('artifacts.json')['completion_deliveries'] as JsonObject[];
    assert.equal(Object.hasOwn(delivery ?? {}, 'idempotency_key'), false);
  },
);

contract('PKG-18', 'a delivery of an artifact whose name would be redacted is refused', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  const filename = `${TOKEN}.csv`;
  await addArtifact(world, 'a-token', 'v-token', filename, CSV);
  await addDelivery(world, { artifact: { id: 'a-token', version: 'v-token', filename } });
  await refused(world.packages.export(OWNER, ROOT), /changed during (?:safe|message) projection/);
});
