import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { putRule } from '../../../src/approvals/index.ts';
import { digestJson, type JsonObject, sha256Hex } from '../../../src/core/index.ts';
import { versionUrl } from '../../../src/archive/index.ts';
import {
  addDelivery as addDeliveryRecord,
  addRecord,
  appendEvent,
  ARTIFACT,
  ARTIFACT_VERSION,
  beginTurn,
  CAPABILITY_STATE,
  CELL,
  CHECKPOINT_STATE,
  COMPLETION_DELIVERY,
  createCheckpoint,
  forkBranch,
  fromDocument,
  MEMORY,
  openGroup,
  openSession,
  PLAN,
  putSetting,
  REVIEW_STEP,
  type SessionContext,
  type Shape,
} from '../../../src/sessions/index.ts';
import { addProject, type Tx } from '../../../src/store/index.ts';
import { OWNER, type PackageWorld } from './world.ts';

/** Written in two halves: no file of the repository holds the shape of a secret. */
export const TOKEN = `${'s'}k-abcdefghijklmnop`;
export const BEARER = `${'Bea'}rer abcdefghijklmnop`;

export const ROOT = 'f-source';
export const PROJECT = 'project-source';
export const CSV = 'id,score\n1,0.93\n';
const REVIEWER = 'reviewer-1';

/** Records what a document says in the source session. */
export async function put(tx: Tx, sessions: SessionContext, shape: Shape, document: JsonObject): Promise<void> {
  await addRecord(tx, sessions, OWNER, ROOT, shape, fromDocument(shape, document));
}

export interface Source {
  readonly root: string;
  readonly checkpointId: string;
  readonly childBranch: string;
}

/** The shared source session: a turn, a cell, an artifact, a plan, a memory, a rule, a capability, two branches. */
export async function makeSource(world: PackageWorld): Promise<Source> {
  const { store, sessions, clock } = world;
  const directory = world.workspaceOf(ROOT);
  const key = `OPENAI_API${'_'}KEY`;
  putFiles(directory, { 'analysis.txt': 'safe result\n', '.env': `${key}=value-of-it\n`, 'prediction.csv': CSV });
  await store.write('test.source', async (tx) => {
    const owner = { tenantId: OWNER.tenant, subjectId: OWNER.subject };
    await addProject(tx, clock, owner, { projectId: PROJECT, name: 'Protein study' });
    await openSession(tx, sessions, OWNER, { projectId: PROJECT, rootFrameId: ROOT, name: 'Study' });
    const turn = { rootFrameId: ROOT, branchId: ROOT, content: 'Run the analysis', turnId: 'turn-source-user' };
    await beginTurn(tx, sessions, OWNER, turn);
    const place = { rootFrameId: ROOT, branchId: ROOT, turnId: 'turn-source', kind: 'cell' };
    const group = await openGroup(tx, sessions, OWNER, { ...place, groupId: 'ag-source' });
    await appendEvent(tx, sessions, OWNER, { groupId: group.id, type: 'cell_proposed', actionId: 'action-source' });
    await put(tx, sessions, CELL, cell('cell-source', 'score = 0.93', 1));
    await putRule(tx, sessions, OWNER, {
      scope: 'conversation',
      scopeId: ROOT,
      tool: 'web_fetch',
      pattern: 'https://example.test/*',
      decision: 'allow',
    });
    await putSetting(tx, sessions, ROOT, `review:auto:${ROOT}`, '1');
    await putSetting(tx, sessions, ROOT, `review:model:${ROOT}`, REVIEWER);
  });
  await addArtifact(world, 'a-source', 'v-source', 'prediction.csv', CSV);
  await addSideRecords(world);
  return addHistory(world, directory);
}

export function putFiles(folder: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

export const cell = (id: string, code: string, revision: number, more: JsonObject = {}): JsonObject => ({
  producing_cell_id: id,
  cell_index: revision,
  state_revision: revision,
  language: 'python',
  status: 'ok',
  origin: 'agent',
  code,
  replay_policy: 'safe',
  stdout: '',
  stderr: '',
  files_read: [],
  files_written: [],
  created_at: 10,
  generation_id: null,
  ...more,
});

export async function addArtifact(
  world: PackageWorld,
  artifact: string,
  version: string,
  filename: string,
  content: string,
): Promise<void> {
  const { sessions } = world;
  const { sha256 } = await world.workspaces.keepContent(Readable.from([Buffer.from(content)]));
  const about = { filename, content_type: 'text/csv', created_at: 20 };
  await world.store.write('test.artifact', async (tx) => {
    const named = { artifact_id: artifact, ...about, is_user_upload: 0, priority: 1, latest_version_id: version };
    await put(tx, sessions, ARTIFACT, named);
    await put(tx, sessions, ARTIFACT_VERSION, {
      version_id: version,
      artifact_id: artifact,
      ...about,
      size_bytes: content.length,
      checksum: sha256,
      snapshot_sha256: sha256,
      producing_cell_id: 'cell-source',
      frame_id: ROOT,
      available: true,
    });
  });
}

const PLAN_SOURCE: JsonObject = {
  plan_id: 'plan-source',
  frame_id: ROOT,
  project_id: PROJECT,
  title: 'Study plan',
  rationale: null,
  confidence: null,
  steps: [],
  status: 'executing',
  step_status: {},
  artifact_id: 'a-source',
  created_at: 30,
  updated_at: 30,
};
const MEMORY_SOURCE: JsonObject = {
  memory_id: 'mem-source',
  project_id: PROJECT,
  block: 'project',
  content: 'Scores are normalised',
  created_at: 30,
  updated_at: null,
};

async function addSideRecords({ store, sessions }: PackageWorld): Promise<void> {
  const capability = { kind: 'skill', name: 'protein-analysis', scope: 'session', scope_id: ROOT, enabled: true };
  const step = { step_id: 'step-source', seq: 0, kind: 'review', title: 'Review', summary: null, input: {} };
  await store.write('test.side', async (tx) => {
    await put(tx, sessions, PLAN, PLAN_SOURCE);
    await put(tx, sessions, MEMORY, MEMORY_SOURCE);
    await put(tx, sessions, CAPABILITY_STATE, { ...capability, metadata: {}, created_at: 40 });
    await put(tx, sessions, REVIEW_STEP, { ...step, output: { verdict: 'pass' }, status: 'done', created_at: 40 });
  });
}

async function addHistory(world: PackageWorld, directory: string): Promise<Source> {
  const { store, sessions, workspaces } = world;
  const { treeId } = await workspaces.capture(directory);
  return store.write('test.history', async (tx) => {
    const made = await createCheckpoint(tx, sessions, OWNER, {
      rootFrameId: ROOT,
      branchId: ROOT,
      checkpointId: 'cp-source',
      reason: 'after the run',
      workspaceTreeId: treeId,
    });
    const state: JsonObject = {
      version: 1,
      plans: [PLAN_SOURCE],
      review: { steps: [], annotations: [], settings: {} },
      memory: { project_id: PROJECT, entries: [MEMORY_SOURCE] },
    };
    const record: JsonObject = {
      checkpoint_id: made.checkpointId,
      root_frame_id: ROOT,
      branch_id: ROOT,
      project_id: PROJECT,
      schema_version: 1,
      state_sha256: digestJson(state),
      source_checkpoint_id: null,
      trust_state: 'local',
      import_source_sha256: null,
      created_at: 50,
      state,
    };
    await put(tx, sessions, CHECKPOINT_STATE, record);
    const fork = { rootFrameId: ROOT, fromCheckpointId: made.checkpointId, branchId: 'source-analysis-branch' };
    await forkBranch(tx, sessions, OWNER, { ...fork, name: 'Alternative analysis' });
    return { root: ROOT, checkpointId: made.checkpointId, childBranch: fork.branchId };
  });
}

const SOURCE_ARTIFACT = { id: 'a-source', version: 'v-source', filename: 'prediction.csv' };
export const SOURCE_URL = versionUrl(SOURCE_ARTIFACT.version) ?? '';

/** A delivery of the artifact, told by a message on a branch. */
export async function addDelivery(
  world: PackageWorld,
  options: {
    readonly text?: string;
    readonly branchId?: string;
    readonly publishedAt?: number;
    readonly more?: JsonObject;
    readonly artifact?: { readonly id: string; readonly version: string; readonly filename: string };
  } = {},
): Promise<void> {
  const { branchId = ROOT, publishedAt, more = {} } = options;
  const { id, version, filename } = options.artifact ?? SOURCE_ARTIFACT;
  const content = options.text ?? `Done: [prediction.csv](${SOURCE_URL})`;
  const manifest: JsonObject = {
    schema_version: 1,
    root_frame_id: ROOT,
    project_id: PROJECT,
    artifacts: [
      {
        artifact_id: id,
        version_id: version,
        filename,
        content_type: 'text/csv',
        size_bytes: CSV.length,
        sha256: sha256Hex(CSV),
        url: versionUrl(version) ?? '',
      },
    ],
  };
  const status = publishedAt === undefined ? 'committed' : 'published';
  const sealed = { delivery_id: 'delivery-source', manifest_sha256: digestJson(manifest), status };
  const envelope = publishedAt === undefined ? sealed : { ...sealed, published_at: publishedAt };
  await world.store.write('test.delivery', async (tx) => {
    const metadata = JSON.stringify({ ...more, completion_delivery: envelope });
    await tx.run(
      `INSERT INTO messages (message_id, root_frame_id, branch_id, seq, role, content, metadata, created_at)
       SELECT 'm-delivery', root_frame_id, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM messages), 'assistant', ?, ?, 1234
       FROM sessions WHERE root_frame_id = ?`,
      [branchId, content, metadata, ROOT],
    );
    const body: JsonObject = {
      ...sealed,
      message_id: 'm-delivery',
      branch_id: branchId,
      frame_id: branchId,
      created_at: 1234,
      published_at: publishedAt ?? null,
      content_sha256: sha256Hex(content),
      manifest,
      idempotency_key: 'key-of-the-source',
    };
    await addDeliveryRecord(tx, world.sessions, OWNER, ROOT, fromDocument(COMPLETION_DELIVERY, body));
  });
}
