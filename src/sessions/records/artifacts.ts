import { fail } from '../../core/index.ts';
import type { ReadTx, Tx } from '../../store/index.ts';
import type { SessionContext } from '../ledger.ts';
import type { Page, Principal } from '../model.ts';
import { pageSize } from '../bounds.ts';
import { afterNumber, type PageQuery } from '../history.ts';
import { count, flag, id, more, type NewRecord, orNull, type RecordOf, sha256, text } from './field.ts';
import { addRecord, changeRecord, requireRecord } from './record-rows.ts';
import { recordOf } from './shape.ts';

/** A named output. Its bytes are those of its versions. */
export const ARTIFACT = {
  kind: 'artifact',
  table: 'artifacts',
  fields: {
    id: id('artifact_id'),
    filename: id('filename'),
    contentType: orNull(text('content_type')),
    isUserUpload: orNull(count('is_user_upload')),
    priority: orNull(count('priority')),
    createdAt: count('created_at'),
    latestVersionId: orNull(id('latest_version_id')),
    more,
  },
} as const;

export type Artifact = RecordOf<typeof ARTIFACT.fields>;

/** The bytes of an artifact as they were once. Never changes. */
export const ARTIFACT_VERSION = {
  kind: 'artifact_version',
  table: 'artifact_versions',
  fields: {
    id: id('version_id'),
    artifactId: id('artifact_id'),
    filename: id('filename'),
    contentType: orNull(text('content_type')),
    sizeBytes: orNull(count('size_bytes')),
    checksum: orNull(sha256('checksum')),
    producingCellId: orNull(id('producing_cell_id')),
    frameId: orNull(id('frame_id')),
    createdAt: count('created_at'),
    envSnapshotId: orNull(id('env_snapshot_id')),
    source: orNull(text('source')),
    available: flag('available'),
    snapshotSha256: orNull(sha256('snapshot_sha256')),
    more,
  },
} as const;

export type ArtifactVersion = RecordOf<typeof ARTIFACT_VERSION.fields>;

/** Which version was made from which, and by which cell. Never changes. */
export const LINEAGE_EDGE = {
  kind: 'lineage_edge',
  table: 'lineage_edges',
  fields: {
    inputVersionId: id('input_version_id'),
    outputVersionId: id('output_version_id'),
    producingCellId: orNull(id('producing_cell_id')),
    more,
  },
} as const;

export type LineageEdge = RecordOf<typeof LINEAGE_EDGE.fields>;

/** A version as it is given: it has its artifact's name, and its content type where it says none. */
export type NewVersion = Omit<NewRecord<typeof ARTIFACT_VERSION.fields>, 'filename' | 'available'> & {
  readonly available?: boolean;
  /** The versions it was made from. */
  readonly inputs?: readonly string[];
};

/**
 * Adds a version to an artifact of the session, which becomes its latest, with an edge of lineage for each input.
 * RECORD_NOT_FOUND for the artifact or an input, else as `addRecord`.
 */
export async function addArtifactVersion(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  { inputs = [], ...version }: NewVersion,
): Promise<ArtifactVersion> {
  const artifact = await requireRecord(tx, principal, rootFrameId, ARTIFACT, version.artifactId);
  const whole = {
    contentType: artifact.contentType,
    available: version.snapshotSha256 != null,
    ...version,
    filename: artifact.filename,
  };
  const added = await addRecord(tx, context, principal, rootFrameId, ARTIFACT_VERSION, whole);
  for (const inputVersionId of inputs) {
    await requireRecord(tx, principal, rootFrameId, ARTIFACT_VERSION, inputVersionId);
    const edge = { inputVersionId, outputVersionId: added.id, producingCellId: added.producingCellId };
    await addRecord(tx, context, principal, rootFrameId, LINEAGE_EDGE, edge);
  }
  await changeRecord(tx, context, principal, rootFrameId, ARTIFACT, artifact.id, { latestVersionId: added.id });
  return added;
}

const VERSIONS_OF_ARTIFACT = `SELECT * FROM artifact_versions WHERE artifact_id = ? AND root_frame_id = ? AND position > ?
ORDER BY position LIMIT ?`;
const ARTIFACT_ANYWHERE = `SELECT a.* FROM artifacts a JOIN sessions s ON s.root_frame_id = a.root_frame_id
WHERE a.artifact_id = ? AND s.tenant_id = ?`;
const VERSION_ANYWHERE = `SELECT v.* FROM artifact_versions v JOIN sessions s ON s.root_frame_id = v.root_frame_id
WHERE v.version_id = ? AND s.tenant_id = ?`;

/** The versions of an artifact, oldest first. RECORD_NOT_FOUND. */
export async function listVersions(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  artifactId: string,
  query: PageQuery = {},
): Promise<Page<ArtifactVersion>> {
  await requireRecord(tx, principal, rootFrameId, ARTIFACT, artifactId);
  const limit = pageSize(query.limit);
  const rows = await tx.all(VERSIONS_OF_ARTIFACT, [artifactId, rootFrameId, afterNumber(query.after, 0), limit + 1]);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    items: rows.slice(0, limit).map((row) => recordOf(ARTIFACT_VERSION, row)),
    next: last ? String(last['position']) : null,
  };
}

/** An artifact by its id alone, with the session it belongs to. RECORD_NOT_FOUND. */
export async function findArtifact(
  tx: ReadTx,
  principal: Principal,
  artifactId: string,
): Promise<Artifact & { readonly rootFrameId: string }> {
  const row = await tx.get(ARTIFACT_ANYWHERE, [artifactId, principal.tenant]);
  if (!row) throw fail('RECORD_NOT_FOUND', 'There is no such artifact.');
  return { ...recordOf(ARTIFACT, row), rootFrameId: String(row['root_frame_id']) };
}

/** A version by its id alone, with the session it belongs to, as its address names it. RECORD_NOT_FOUND. */
export async function findVersion(
  tx: ReadTx,
  principal: Principal,
  versionId: string,
): Promise<ArtifactVersion & { readonly rootFrameId: string }> {
  const row = await tx.get(VERSION_ANYWHERE, [versionId, principal.tenant]);
  if (!row) throw fail('RECORD_NOT_FOUND', 'There is no such artifact version.');
  return { ...recordOf(ARTIFACT_VERSION, row), rootFrameId: String(row['root_frame_id']) };
}
