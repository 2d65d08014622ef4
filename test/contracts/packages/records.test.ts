import { type JsonObject, PackageError } from '../../../src/core/index.ts';
import {
  addCell,
  addRecord,
  ANNOTATION,
  ARTIFACT,
  ARTIFACT_VERSION,
  CAPABILITY_STATE,
  CELL,
  changeRecord,
  CHECKPOINT_STATE,
  commitDelivery,
  COMPLETION_DELIVERY,
  countAllRecords,
  documentOf,
  endGeneration,
  ENVIRONMENT_SNAPSHOT,
  type Fields,
  GENERATION,
  LINEAGE_EDGE,
  listRecords,
  MEMORY,
  openSession,
  OPERATION,
  PLAN,
  publishDelivery,
  RECORD_SHAPES,
  RECOVERY_ENTRY,
  requireSession,
  REVIEW_STEP,
  SessionArtifacts,
  type Shape,
} from '../../../src/sessions/index.ts';
import { listRules, putRule } from '../../../src/approvals/index.ts';
import { ExportStages } from '../../../src/packages/index.ts';
import type { Tx } from '../../../src/store/index.ts';
import { edited } from '../../archive/support/packages.ts';
import { assert, check, contract } from '../../support/index.ts';
import { addArtifact, CSV, makeSource, PROJECT, ROOT } from './source.ts';
import { documentsOf } from './summary.ts';
import { openPackageWorld, OWNER, type PackageWorld } from './world.ts';

/** Records one of every kind that a host records, as a host does. */
async function record(world: PackageWorld): Promise<void> {
  const { sessions } = world;
  await addArtifact(world, 'a-report', 'v-report', 'report.csv', CSV);
  await world.store.write('test.records', async (tx: Tx) => {
    const add = async <F extends Fields>(shape: Shape<F>, values: Parameters<typeof addRecord<F>>[5]) =>
      addRecord(tx, sessions, OWNER, ROOT, shape, values);
    const generation = await add(GENERATION, { branchId: ROOT, language: 'python', state: 'active', ordinal: 1 });
    await addCell(tx, sessions, OWNER, ROOT, {
      branchId: 'source-analysis-branch',
      language: 'python',
      code: 'x = 1',
      wallS: 2,
      pin: true,
      filesRead: [],
      filesWritten: ['report.csv'],
      generationId: generation.id,
    });
    await endGeneration(tx, sessions, OWNER, ROOT, generation.id, { state: 'released', reason: 'done' });
    await add(ENVIRONMENT_SNAPSHOT, { kind: 'python', packages: ['numpy==2'], generationId: generation.id });
    await add(RECOVERY_ENTRY, {
      recoveryId: 'r-1',
      branchId: ROOT,
      sequence: 0,
      sourceGenerationId: generation.id,
      phase: 'begin',
    });
    await add(LINEAGE_EDGE, { inputVersionId: 'v-source', outputVersionId: 'v-report', producingCellId: null });
    await add(PLAN, { title: 'Next', status: 'draft', steps: [{ text: 'look' }], confidence: 'high' });
    await add(REVIEW_STEP, { kind: 'review', title: 'Second look', status: 'done', output: { verdict: 'pass' } });
    await add(ANNOTATION, {
      artifactId: 'a-report',
      versionId: 'v-report',
      body: 'why?',
      relX: 1,
      relY: 0.25,
      number: 1,
    });
    await add(MEMORY, { block: 'notes', content: 'kept' });
    await add(CAPABILITY_STATE, { kind: 'skill', name: 'plots', scope: 'project', scopeId: 'any', enabled: true });
    await tx.run(
      `INSERT INTO messages (message_id, root_frame_id, branch_id, seq, role, content, created_at)
       VALUES ('m-told', ?, ?, 900, 'assistant', 'Done: the report', 1000)`,
      [ROOT, ROOT],
    );
    const asked = { rootFrameId: ROOT, messageId: 'm-told', versionIds: ['v-report'], idempotencyKey: 'k' };
    const delivery = await commitDelivery(tx, sessions, OWNER, asked);
    await publishDelivery(tx, sessions, OWNER, ROOT, delivery.id);
  });
}

const NAMES = /(?:^|_)(?:id|ids|sha256|key|name)$/;

/** A document without identities, digests of them and what an import says of its own. */
function plain(document: JsonObject): JsonObject {
  const own = ['trust_state', 'import_source_sha256', 'generation_confidence', 'provenance', 'entry_id', 'manifest'];
  const changed = [
    'enabled',
    'metadata',
    'replay_policy',
    'bootstrap',
    'environment',
    'state',
    'ended_reason',
    'preview',
    'status',
  ];
  return Object.fromEntries(
    Object.entries(document).filter(([key]) => ![...own, ...changed].includes(key) && !NAMES.test(key)),
  );
}

async function shown(world: PackageWorld, root: string, shape: Shape): Promise<JsonObject[]> {
  const page = await world.store.read('test', (tx) => listRecords(tx, OWNER, root, shape, { limit: 500 }));
  return page.items.map((one) => documentOf(shape, one));
}

check('what a session recorded is exported, and sessions show what was imported, kind by kind', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  await record(world);
  using exported = await world.packages.export(OWNER, ROOT);
  const { root_frame_id: root } = await world.packages.import(OWNER, exported.data());
  const [here, there] = await world.store.read('test', async (tx) => [
    await countAllRecords(tx, ROOT),
    await countAllRecords(tx, root),
  ]);
  // One generation says that it was imported; the source's review settings are one step more.
  assert.deepEqual(there, { ...here, generation: 2, review_step: 3 });
  const kinds = RECORD_SHAPES.filter((shape) => shape !== OPERATION).map(({ kind }) => kind);
  assert.deepEqual(Object.keys(here).sort(), kinds.toSorted());
  for (const shape of RECORD_SHAPES) {
    const before = (await shown(world, ROOT, shape)).map(plain);
    assert.deepEqual((await shown(world, root, shape)).slice(0, before.length).map(plain), before, shape.kind);
  }
});

contract('PKG-56', 'bytes of artifacts arrive as they were, and are read by the artifact’s own door', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  using exported = await world.packages.export(OWNER, ROOT);
  await using elsewhere = await openPackageWorld();
  const { root_frame_id: root } = await elsewhere.packages.import(OWNER, exported.data());
  const artifacts = await shown(elsewhere, root, ARTIFACT);
  assert.deepEqual(
    artifacts.map(({ filename }) => filename),
    ['prediction.csv'],
  );
  const { store, sessions: context, workspaces } = elsewhere;
  const door = new SessionArtifacts({ store, context, workspaces });
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await door.read(OWNER, artifacts[0]?.['latest_version_id'] as string)).bytes)
    chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), CSV);
  await elsewhere.packages.erase(OWNER, root);
  await workspaces.collect(-1);
  assert.deepEqual(elsewhere.filesUnder('workspace-cas/packs'), []);
});

check('what an imported record names is the import’s own', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  await record(world);
  using exported = await world.packages.export(OWNER, ROOT);
  const { root_frame_id: root, project_id: project } = await world.packages.import(OWNER, exported.data());
  const [cells, generations, artifacts, versions] = await Promise.all(
    [CELL, GENERATION, ARTIFACT, ARTIFACT_VERSION].map((shape) => shown(world, root, shape)),
  );
  assert.equal(cells?.[1]?.['generation_id'], generations?.[0]?.['generation_id']);
  assert.notEqual(cells?.[1]?.['branch_id'], 'source-analysis-branch');
  const report = artifacts?.find(({ filename }) => filename === 'report.csv');
  const version = versions?.find(({ artifact_id: id }) => id === report?.['artifact_id']);
  const [edge] = await shown(world, root, LINEAGE_EDGE);
  assert.equal(edge?.['output_version_id'], version?.['version_id']);
  const [delivery] = await shown(world, root, COMPLETION_DELIVERY);
  assert.equal(delivery?.['status'], 'published');
  const capabilities = await shown(world, root, CAPABILITY_STATE);
  assert.deepEqual(
    capabilities.map(({ scope_id: id, enabled }) => [id, enabled]),
    [
      [root, false],
      [project, false],
    ],
  );
  assert.equal((await shown(world, root, CHECKPOINT_STATE)).length, 1);
});

/** An export in whose middle something is done. */
const exportWhile = (world: PackageWorld, meanwhile: (tx: Tx) => Promise<unknown>) =>
  world.with({
    seams: {
      exportStages: (context, session) => {
        const stages = new ExportStages(context, session);
        stages.captureWorkspace = async () => {
          await world.store.write('test.meanwhile', meanwhile);
          return null;
        };
        return stages;
      },
    },
  });

check('a record that comes or changes during an export ends the export', async () => {
  await using world = await openPackageWorld();
  const { sessions } = world;
  await makeSource(world);
  const memory = { block: 'notes', content: 'new' };
  for (const meanwhile of [
    (tx: Tx) => addRecord(tx, sessions, OWNER, ROOT, MEMORY, memory),
    (tx: Tx) => changeRecord(tx, sessions, OWNER, ROOT, ARTIFACT, 'a-source', { priority: 9 }),
  ])
    await assert.rejects(exportWhile(world, meanwhile).export(OWNER, ROOT), /changed during export/);
});

check('a cell or a snapshot that names another session’s generation names none elsewhere', async () => {
  await using world = await openPackageWorld();
  const { sessions } = world;
  await makeSource(world);
  await world.store.write('test.foreign', async (tx) => {
    await openSession(tx, sessions, OWNER, { projectId: PROJECT, rootFrameId: 'f-other' });
    const foreign = { branchId: 'f-other', language: 'python', state: 'active' };
    const { id: generationId } = await addRecord(tx, sessions, OWNER, 'f-other', GENERATION, foreign);
    await addCell(tx, sessions, OWNER, ROOT, { language: 'python', code: 'y = 2', generationId });
    await addRecord(tx, sessions, OWNER, ROOT, ENVIRONMENT_SNAPSHOT, { kind: 'python', generationId });
  });
  using exported = await world.packages.export(OWNER, ROOT);
  const documents = await documentsOf(exported.data());
  const [, cell] = documents('notebook.json')['cells'] as JsonObject[];
  const [snapshot] = documents('environment.json')['artifact_environment_snapshots'] as JsonObject[];
  assert.deepEqual([cell?.['code'], cell?.['generation_id'], snapshot?.['generation_id']], ['y = 2', null, null]);
});

check('members that nobody here knows stay with their record and travel on', async () => {
  await using world = await openPackageWorld();
  const bytes = await edited('b-notebook', 'plans.json', (document) => {
    for (const plan of document['plans'] as JsonObject[]) plan['mood'] = { of: ['elsewhere'], half: 0.5 };
  });
  const { root_frame_id: root } = await world.packages.import(OWNER, bytes);
  using exported = await world.packages.export(OWNER, root);
  const plans = (await documentsOf(exported.data()))('plans.json')['plans'] as JsonObject[];
  assert.ok(plans.length > 0);
  for (const plan of plans) assert.deepEqual(plan['mood'], { of: ['elsewhere'], half: 0.5 });
});

check('a record that cannot be kept is refused before anything is written', async () => {
  const wrong: readonly (readonly [string, string, (record: JsonObject) => void, RegExp])[] = [
    ['plans.json', 'plans', (plan) => (plan['rationale'] = 7), /kind plan cannot be kept: rationale must be a text/],
    ['notebook.json', 'cells', (cell) => (cell['pin'] = 'yes'), /pin must be true or false/],
    ['memory.json', 'memories', (memory) => (memory['block'] = ''), /block must/],
    ['plans.json', 'plans', (plan) => (plan['plan_id'] = 'the same'), /kind plan have one identity/],
  ];
  for (const [name, key, change, text] of wrong) {
    await using world = await openPackageWorld();
    const bytes = await edited('b-notebook', name, (document) => {
      const records = document[key] as JsonObject[];
      if (records.length === 1) records.push({ ...records[0] });
      for (const one of records) change(one);
    });
    await assert.rejects(
      world.packages.import(OWNER, bytes),
      (error) => error instanceof PackageError && text.test(error.message),
      String(text),
    );
    assert.equal(world.count('projects'), 0);
  }
});

check(
  'an imported session that is removed leaves its project, with its rules, to the sessions that hang from it',
  async () => {
    await using world = await openPackageWorld();
    const { store, sessions, packages } = world;
    await makeSource(world);
    using exported = await packages.export(OWNER, ROOT);
    const { root_frame_id: root, project_id: projectId } = await packages.import(OWNER, exported.data());
    const deny = { scope: 'project', scopeId: projectId, tool: 'pay', pattern: '**', decision: 'deny' } as const;
    await store.write('test.beside', async (tx) => {
      await openSession(tx, sessions, OWNER, { projectId, rootFrameId: 'f-beside' });
      await putRule(tx, sessions, OWNER, deny);
    });
    const rules = () => store.read('test.rules', (tx) => listRules(tx, OWNER, 'project', projectId));
    const before = await rules();
    await packages.erase(OWNER, root);
    assert.deepEqual(await rules(), before);
    const place = await store.read('test.beside', (tx) => requireSession(tx, OWNER, 'f-beside'));
    assert.equal(place.projectId, projectId);
  },
);
