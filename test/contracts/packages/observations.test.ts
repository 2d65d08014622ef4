import { canonicalJson, digestJson, type JsonObject, type JsonValue, PackageError } from '../../../src/core/index.ts';
import { OBSERVATIONS_NAME, type ObservationScope, preflightObservations } from '../../../src/packages/index.ts';
import { type Files, filesOf, resealed } from '../../archive/support/packages.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { assert, check, contract } from '../../support/index.ts';
import { addArtifact, BEARER, makeSource, ROOT } from './source.ts';
import { documentsOf } from './summary.ts';
import { openPackageWorld, OWNER, type PackageWorld } from './world.ts';

/** A real package, with a second artifact beside the first, and everything that an observation may name in it. */
async function exportedSource() {
  const world = await openPackageWorld();
  await makeSource(world);
  await addArtifact(world, 'a-sibling', 'v-sibling', 'sibling.csv', 'x\n');
  using exported = await world.packages.export(OWNER, ROOT);
  const bytes = exported.data();
  return { world, files: await readAll(bytes), scope: await scopeOf(bytes) };
}

async function scopeOf(bytes: Buffer): Promise<ObservationScope> {
  const documents = await documentsOf(bytes);
  const ids = (document: string, key: string, field: string): string[] =>
    (documents(document)[key] as JsonObject[]).map((record) => record[field] as string);
  const versions = (documents('artifacts.json')['artifacts'] as JsonObject[]).flatMap((artifact) =>
    (artifact['versions'] as JsonObject[]).map(
      (version) => [version['version_id'] as string, artifact['artifact_id'] as string] as const,
    ),
  );
  return {
    artifactIds: new Set(ids('artifacts.json', 'artifacts', 'artifact_id')),
    artifactOfVersion: new Map(versions),
    cellIds: new Set(ids('notebook.json', 'cells', 'producing_cell_id')),
    frameIds: new Set([ROOT, ...ids('snapshots.json', 'branches', 'branch_id')]),
    environmentIds: new Set(ids('environment.json', 'artifact_environment_snapshots', 'snapshot_id')),
  };
}

const RECORD: JsonObject = {
  observation_id: 'aco-portable-1',
  artifact_id: 'a-source',
  version_id: 'v-source',
  producing_cell_id: 'cell-source',
  capture_kind: 'version_created',
  filename: 'prediction.csv',
  created_at: 10,
  frame_id: ROOT,
  env_snapshot_id: null,
  input_version_ids: [],
};

function sealed(observations: JsonValue[]): Buffer {
  const seal = digestJson({ observations, schema_version: 1 });
  return Buffer.from(canonicalJson({ schema_version: 1, observations, observations_sha256: seal }));
}

const one = (change: JsonObject): Buffer => sealed([{ ...RECORD, ...change }]);

/** Rows of every table that keeps observations, and projects. */
function kept(world: PackageWorld): readonly number[] {
  const db = world.raw();
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%observation%'`).all();
  db.close();
  return [world.count('projects'), ...tables.map(({ name }) => world.count(String(name)))];
}

/** Each payload is refused in its words, and the store is as it was. */
async function refusals(cases: readonly (readonly [payload: Uint8Array, text: RegExp])[]): Promise<void> {
  const { world, scope } = await exportedSource();
  await using _world = world;
  const before = kept(world);
  for (const [payload, text] of cases)
    assert.throws(
      () => preflightObservations(payload, scope),
      (error) => error instanceof PackageError && text.test(error.message),
      String(text),
    );
  assert.deepEqual(kept(world), before);
}

contract('PKG-185', 'two cells of one version pass, in their order', () => {
  const scope: ObservationScope = {
    artifactIds: new Set(['a-source']),
    artifactOfVersion: new Map([['v-source', 'a-source']]),
    cellIds: new Set(['cell-source', 'cell-2']),
    frameIds: new Set([ROOT]),
    environmentIds: new Set(),
  };
  const second = {
    ...RECORD,
    observation_id: 'o2',
    producing_cell_id: 'cell-2',
    capture_kind: 'head_checksum_reused',
  };
  const records = preflightObservations(sealed([RECORD, second]), scope);
  assert.deepEqual(
    records.map((record) => [record['observation_id'], record['version_id']]),
    [
      ['aco-portable-1', 'v-source'],
      ['o2', 'v-source'],
    ],
  );
});

contract('PKG-186 PKG-187', 'too many records and too many bytes are found before any record is read', async () => {
  const many = sealed(Array.from({ length: 100_001 }, () => ({})));
  assert.ok(many.length <= 16 * 1024 * 1024);
  await refusals([
    [many, /too many artifact observations/],
    [Buffer.alloc(16 * 1024 * 1024 + 1, 'x'), /16 MiB portable limit/],
  ]);
});

contract('PKG-188 PKG-189 PKG-190 PKG-191', 'paths, artifacts and versions elsewhere, and of one another', () =>
  refusals([
    [one({ path: '/Users/canary/prediction.csv', snapshot_path: '/var/snapshot.bin' }), /filesystem path fields/],
    [one({ path: '/etc' }), /filesystem path fields/],
    [one({ snapshot_path: '/etc' }), /filesystem path fields/],
    [one({ artifact_id: 'elsewhere' }), /artifact references an unknown identity/],
    [one({ version_id: 'elsewhere' }), /artifact version references an unknown identity/],
    [one({ version_id: 'v-sibling' }), /version does not belong to the referenced artifact/],
  ]),
);

contract('PKG-192 PKG-193 PKG-194 PKG-195', 'cells, frames, environments and inputs that are elsewhere', () =>
  refusals([
    [one({ producing_cell_id: 'elsewhere' }), /cell references an unknown identity/],
    [one({ frame_id: 'elsewhere' }), /frame references an unknown identity/],
    [one({ env_snapshot_id: 'elsewhere' }), /environment snapshot references an unknown identity/],
    [one({ input_version_ids: ['v-source', 'elsewhere'] }), /input version references an unknown identity/],
  ]),
);

check('each other fault of a record is refused too', () =>
  refusals([
    [one({ more: 1 }), /unknown fields/],
    [sealed([{ observation_id: 'o1' }]), /lacks required fields/],
    [one({ capture_kind: 'guess' }), /capture kind/],
    [one({ filename: '../x' }), /secret or unsafe artifact filename/],
    [one({ created_at: true }), /created_at/],
    [one({ checksum: 'ab' }), /checksum/],
    [one({ size_bytes: false }), /size/],
    [sealed([RECORD, RECORD]), /duplicate/],
    [Buffer.from(canonicalJson({ schema_version: 1, observations: [], observations_sha256: 'x' })), /digest mismatch/],
  ]),
);

const withFile = (files: Files, name: string, content: Buffer): Buffer =>
  resealed(new Map([...files, [name, content]]));

contract(
  'PKG-181 PKG-183 PKG-184',
  'a listed file of observations is let in and left alone, paths in it or not',
  async () => {
    const { world, files } = await exportedSource();
    await using _world = world;
    const without = await world.packages.import(OWNER, resealed(new Map(files)));
    const before = kept(world);
    const paths = { path: '/Users/canary/prediction.csv', snapshot_path: '/var/snapshot.bin' };
    for (const content of [sealed([RECORD]), one(paths)]) {
      const imported = await world.packages.import(OWNER, withFile(files, OBSERVATIONS_NAME, content));
      assert.deepEqual([imported.ok, imported.schema_version], [true, 1]);
      assert.equal(Object.hasOwn(imported, 'observation_imported_count'), false);
      assert.deepEqual(Object.keys(imported), Object.keys(without));
    }
    const [projects = 0, ...observations] = kept(world);
    assert.deepEqual([projects, ...observations], [(before[0] ?? 0) + 2, ...before.slice(1)]);
    assert.ok(observations.every((rows) => rows === 0));
  },
);

contract('PKG-182', 'any other listed file is looked through for secrets and left alone', async () => {
  const files = await filesOf('a-minimal');
  await using world = await openPackageWorld();
  const name = 'future-optional.json';
  const imported = await world.packages.import(OWNER, withFile(files, name, sealed([])));
  assert.equal(imported.ok, true);
  assert.equal(Object.hasOwn(imported, 'observation_imported_count'), false);
  const secret = Buffer.from(JSON.stringify({ note: BEARER }));
  await assert.rejects(world.packages.import(OWNER, withFile(files, name, secret)), /secret material/);
});
