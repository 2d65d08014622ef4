import { join } from 'node:path';
import {
  ARCHIVE_LIMITS,
  DOCUMENTS,
  MANIFEST_NAME,
  PACKAGE_SCHEMA,
  sealManifest,
  writeArchiveFile,
} from '../../archive/index.ts';
import { fail, type JsonObject, type JsonValue, makeFolder, wrapFileError } from '../../core/index.ts';
import {
  ARTIFACT,
  ARTIFACT_VERSION,
  CELL,
  ENVIRONMENT_SNAPSHOT,
  GENERATION,
  type Principal,
  type Session,
  type Shape,
  walkRecords,
  type WorkspaceTree,
} from '../../sessions/index.ts';
import type { ReadTx } from '../../store/index.ts';
import { fileChunks } from '../import/files.ts';
import { PACKAGE_CONTENT_TYPE, type PackageContext, secretValues } from '../model.ts';
import { type StagingPlace, takeStagingPlace } from '../staging.ts';
import { requireImportable, requirePackaged } from './check.ts';
import { autoModeDocument } from './auto-mode.ts';
import { packageArtifacts, type PackagedArtifacts } from './artifacts.ts';
import * as documents from './documents.ts';
import { beginExport, exportMark, type ExportStart, notExportable } from './guard.ts';
import { ledgerDocument } from './ledger.ts';
import { reproductionNotes } from './notes.ts';
import { SafeText } from './safe-text.ts';
import { StagedFiles } from './staged.ts';
import { EMPTY_TREE, EMPTY_TREE_ID, PackagedTrees } from './workspace.ts';

/** A finished package, in a file of its own until it is closed. Two exports of one session have the same bytes. */
export interface ExportedPackage {
  readonly filename: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** SHA-256 of the archive. */
  readonly sha256: string;
  /** The package's identity, whatever zlib packed it. */
  readonly manifestSha256: string;
  readonly schemaVersion: 1;
  readonly immutable: true;
  /** The bytes, in chunks. With `into` each is a view of that one buffer, for who is done with one when asking for the next. */
  chunks(into?: Buffer): Iterable<Uint8Array>;
  /** All bytes at once: at most what an archive may have. */
  data(): Buffer;
  /** Removes the file. */
  close(): void;
  [Symbol.dispose](): void;
}

/** The steps of an export that a test may put itself in the place of. */
export class ExportStages {
  readonly context: PackageContext;
  readonly session: Session;

  constructor(context: PackageContext, session: Session) {
    this.context = context;
    this.session = session;
  }

  /** The workspace as it is now; null where the session has none. What is not there is not taken for an empty one. */
  async captureWorkspace(): Promise<{ readonly treeId: string; readonly tree: WorkspaceTree } | null> {
    const { files, workspaceOf, workspaces } = this.context;
    const directory = await workspaceOf(this.session.rootFrameId);
    if (directory === null) return null;
    if (!isFolder(files, directory)) throw withoutWorkspace(this.session.rootFrameId);
    return workspaces.capture(directory);
  }
}

const withoutWorkspace = (root: string): Error =>
  fail('SESSION_NOT_EXPORTABLE', 'The session cannot travel: the folder that it works in is not there.', {
    resolve: `Put the folder back, or name another: holdfast sessions checkpoint ${root} --workspace FOLDER`,
  });

function isFolder(files: PackageContext['files'], path: string): boolean {
  try {
    return files.lstat(path).kind === 'folder';
  } catch {
    return false;
  }
}

export type MakeExportStages = (...args: ConstructorParameters<typeof ExportStages>) => ExportStages;

/**
 * Exports a session: everything but secrets, and refused where leaving a secret out would break what is sealed. Holds
 * no lock; a session that changed meanwhile is EXPORT_SOURCE_CHANGED. What comes out was read back as an importer
 * reads it: a session that could not be imported is SESSION_NOT_EXPORTABLE. Writes nothing into the session.
 */
export async function exportPackage(
  context: PackageContext,
  principal: Principal,
  rootFrameId: string,
  makeStages: MakeExportStages = (...args) => new ExportStages(...args),
): Promise<ExportedPackage> {
  const { store, files } = context;
  const secrets = secretValues(context);
  const safe = new SafeText(secrets);
  const start = await store.read('packages.export', async (tx) => {
    const begun = await beginExport(tx, context, principal, rootFrameId);
    await documents.requireSealedUnchanged({ tx, session: begun.session }, (value) => safe.changes(value));
    return begun;
  });
  const place = await takeStagingPlace(context);
  const folder = place.path;
  try {
    makeFolder(files, folder);
    const staged = new StagedFiles(files, folder, safe);
    const stages = makeStages(context, start.session);
    const lookedAt = await stage({ context, principal, start, staged, stages, safe, secrets });
    const path = join(folder, 'package.zip');
    // The archive is written and read back by other threads for the most part: what goes into it is looked at meanwhile.
    const building = build(context, staged, path);
    const [built, looked, packaged] = await Promise.allSettled([
      building,
      requireImportable(context, staged, { known: secrets, lookedAt }),
      building.then(({ manifestSha256 }) => requirePackaged(context, path, manifestSha256)),
    ]);
    const written = settled(built);
    settled(looked);
    const archiveSha256 = settled(packaged);
    await store.read('packages.export', (tx) => requireUnchanged(tx, start));
    return exported(context, place, { ...written, path, sha256: archiveSha256 }, rootFrameId);
  } catch (error) {
    place.close();
    throw wrapFileError(error, 'a package that is being built');
  }
}

function settled<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/** EXPORT_SOURCE_CHANGED when the session is no longer what it was when the export began. */
async function requireUnchanged(tx: ReadTx, { session, mark }: ExportStart): Promise<void> {
  if ((await exportMark(tx, session.rootFrameId)) !== mark)
    throw fail('EXPORT_SOURCE_CHANGED', 'The session changed during export.');
}

interface Staging {
  readonly context: PackageContext;
  readonly principal: Principal;
  readonly start: ExportStart;
  readonly staged: StagedFiles;
  readonly stages: ExportStages;
  readonly safe: SafeText;
  readonly secrets: readonly string[];
}

/** Stages every file of the package. Gives the digests of the contents in which no secret was found. */
async function stage({
  context,
  principal,
  start,
  staged,
  stages,
  safe,
  secrets,
}: Staging): Promise<ReadonlySet<string>> {
  const { store } = context;
  const { session } = start;
  const { rootFrameId: root } = session;
  const before = await store.read('packages.export', (tx) => readBefore(tx, root));
  const trees = new PackagedTrees(context.workspaces, secrets);
  const active = (await stages.captureWorkspace()) ?? { treeId: EMPTY_TREE_ID, tree: EMPTY_TREE };
  await trees.take(active.treeId, active.tree);
  for (const treeId of before.treeIds) await trees.take(treeId, treeId === EMPTY_TREE_ID ? EMPTY_TREE : undefined);
  const artifacts = await packageArtifacts(context, before, secrets);
  for (const [treeId, text] of trees.documents) staged.addText(`workspace/trees/${treeId}.json`, text);
  for (const [blob, size] of trees.blobs)
    staged.add({ path: `workspace/blobs/${blob}`, size, sha256: blob }, () => contentOf(context, blob, size));
  for (const [sha256, size] of artifacts.data)
    staged.add({ path: `artifact-data/${sha256}`, size, sha256 }, () => contentOf(context, sha256, size));
  requireMembers(staged.rows.length + DOCUMENTS.length + 2);
  await store.read('packages.export', async (tx) => {
    await requireUnchanged(tx, start);
    const known = {
      tx,
      principal,
      session,
      branches: await documents.allBranches(tx, principal, root),
      artifacts,
      treeMap: trees.map,
      activeTreeId: active.treeId,
      generationIds: before.generationIds,
    };
    const autoMode = await autoModeDocument(context.autoMode, known, before.cellIds, safe);
    const secretTools = context.secretTools?.() ?? new Map<string, readonly string[]>();
    const tools: documents.DocumentTools = { ...known, autoMode, secretTools };
    await stageDocuments(staged, tools);
    staged.addText('REPRODUCE.md', await notes(tools, artifacts, safe));
  });
  return new Set([...trees.blobs.keys(), ...artifacts.data.keys()]);
}

/** What of a content is in memory at a time. */
const CONTENT_BYTES = 256 * 1024;

/** A stored content as it goes into the archive, which is done with a chunk before it asks for the next. */
const contentOf = ({ workspaces }: PackageContext, sha256: string, size: number): AsyncIterable<Uint8Array> =>
  workspaces.readBlob(sha256, Buffer.allocUnsafe(Math.min(CONTENT_BYTES, Math.max(1, size))));

function requireMembers(count: number): void {
  if (count > ARCHIVE_LIMITS.members)
    throw notExportable(`it needs ${count} files, and a package takes at most ${ARCHIVE_LIMITS.members}`);
}

async function readBefore(tx: ReadTx, root: string) {
  const treeIds = new Set<string>();
  for await (const { workspaceTreeId } of documents.checkpointsOf(tx, root))
    treeIds.add(workspaceTreeId ?? EMPTY_TREE_ID);
  const idsOf = async (shape: Shape): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    for await (const { id } of walkRecords(tx, root, shape)) ids.add(String(id));
    return ids;
  };
  return {
    treeIds,
    cellIds: await idsOf(CELL),
    generationIds: await idsOf(GENERATION),
    environmentIds: await idsOf(ENVIRONMENT_SNAPSHOT),
    artifacts: await allOf(walkRecords(tx, root, ARTIFACT)),
    versions: await allOf(walkRecords(tx, root, ARTIFACT_VERSION)),
  };
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function stageDocuments(staged: StagedFiles, tools: documents.DocumentTools): Promise<void> {
  await staged.addDocument('session.json', await documents.sessionDocument(tools));
  await staged.addDocument('ledger.json', await ledgerDocument(tools));
  await staged.addDocument('notebook.json', documents.notebookDocument(tools));
  await staged.addDocument('snapshots.json', await documents.snapshotsDocument(tools));
  await staged.addDocument('artifacts.json', documents.artifactsDocument(tools));
  await staged.addDocument('environment.json', documents.environmentDocument(tools));
  await staged.addDocument('lineage.json', documents.lineageDocument(tools));
  await staged.addDocument('plans.json', documents.plansDocument(tools));
  await staged.addDocument('review.json', await documents.reviewDocument(tools));
  await staged.addDocument('memory.json', documents.memoryDocument(tools));
  await staged.addDocument('permissions.json', await documents.permissionsDocument(tools));
  await staged.addDocument('capabilities.json', documents.capabilitiesDocument(tools));
}

/** The notes see what travels: redacted, and without what was left out. */
async function notes(tools: documents.DocumentTools, artifacts: PackagedArtifacts, safe: SafeText): Promise<Buffer> {
  const list = async (value: unknown): Promise<JsonValue[]> =>
    (await allOf(value as AsyncIterable<JsonValue>)).map((item) => safe.value(item));
  const environment = documents.environmentDocument(tools);
  const { project } = await documents.sessionDocument(tools);
  return reproductionNotes({
    rootFrameId: tools.session.rootFrameId,
    projectName: (safe.value(project as JsonObject) as { name: string }).name,
    environment: {
      generations: await list(environment['generations']),
      artifact_environment_snapshots: await list(environment['artifact_environment_snapshots']),
    },
    artifacts: { artifacts: [...artifacts.artifacts] },
    lineage: await list(documents.lineageDocument(tools)['edges']),
  });
}

interface Built {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
  readonly manifestSha256: string;
}

async function build(
  { files, faults }: PackageContext,
  staged: StagedFiles,
  path: string,
): Promise<Pick<Built, 'size' | 'manifestSha256'>> {
  const { text, digest } = sealManifest(staged.rows);
  const manifest = { name: MANIFEST_NAME, content: () => [Buffer.from(text)] };
  const { size } = await writeArchiveFile(files, path, [...staged.members, manifest]);
  await faults.reach('package-temp-written');
  return { size, manifestSha256: digest };
}

function exported({ files }: PackageContext, place: StagingPlace, built: Built, root: string): ExportedPackage {
  const close = (): void => place.close();
  return {
    filename: `${root.replaceAll(/[^A-Za-z0-9._-]/g, '-')}.openai4s-session.zip`,
    contentType: PACKAGE_CONTENT_TYPE,
    sizeBytes: built.size,
    sha256: built.sha256,
    manifestSha256: built.manifestSha256,
    schemaVersion: PACKAGE_SCHEMA,
    immutable: true,
    chunks: (into) => fileChunks(files, built.path, into),
    data: () => Buffer.concat([...fileChunks(files, built.path)]),
    close,
    [Symbol.dispose]: close,
  };
}
