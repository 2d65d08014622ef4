import { bytesHoldSecret, isPlainFileName, isSecretPath } from '../../archive/index.ts';
import { HoldfastError, type JsonObject, redactText } from '../../core/index.ts';
import {
  type Artifact,
  ARTIFACT,
  type ArtifactVersion,
  ARTIFACT_VERSION,
  documentOf,
  type WorkspaceStore,
} from '../../sessions/index.ts';
import type { PackageContext } from '../model.ts';

/** The artifacts of a package, and where the bytes of their versions lie. */
export interface PackagedArtifacts {
  readonly artifacts: readonly JsonObject[];
  readonly excluded: readonly JsonObject[];
  /** The size of each content, by its digest. */
  readonly data: ReadonlyMap<string, number>;
  readonly artifactIds: ReadonlySet<string>;
  readonly versionIds: ReadonlySet<string>;
}

export interface ArtifactRecords {
  readonly artifacts: readonly Artifact[];
  readonly versions: readonly ArtifactVersion[];
  readonly cellIds: ReadonlySet<string>;
  readonly environmentIds: ReadonlySet<string>;
}

/** Takes what may travel: artifacts with a safe name and a version whose bytes are there, are right, and hold no secret. */
export async function packageArtifacts(
  context: PackageContext,
  records: ArtifactRecords,
  knownSecrets: readonly string[],
): Promise<PackagedArtifacts> {
  const artifacts: JsonObject[] = [];
  const excluded: JsonObject[] = [];
  const [artifactIds, versionIds] = [new Set<string>(), new Set<string>()];
  const data = new Map<string, number>();
  const byArtifact = Map.groupBy(records.versions, ({ artifactId }) => artifactId);
  for (const artifact of records.artifacts) {
    const { id, filename: name } = artifact;
    const hidden = isSecretPath(name) || !isPlainFileName(name) || redactText(name) !== name;
    const versions = hidden
      ? []
      : await packageVersions(context, byArtifact.get(id) ?? [], records, { knownSecrets, data });
    const available = versions.filter((version) => version['available'] === true);
    const newest = available.at(-1)?.['version_id'];
    if (newest === undefined) {
      excluded.push({ artifact_id: id, reason: hidden ? 'secret_filename' : 'no_importable_version' });
      continue;
    }
    const latest = available.find((version) => version['version_id'] === artifact.latestVersionId);
    const document = documentOf(ARTIFACT, artifact);
    artifactIds.add(id);
    for (const version of byArtifact.get(id) ?? []) versionIds.add(version.id);
    artifacts.push({ ...document, latest_version_id: latest?.['version_id'] ?? newest, versions });
  }
  return { artifacts, excluded, data, artifactIds, versionIds };
}

interface VersionTools {
  readonly knownSecrets: readonly string[];
  readonly data: Map<string, number>;
}

async function packageVersions(
  { workspaces }: PackageContext,
  records: readonly ArtifactVersion[],
  { cellIds, environmentIds }: ArtifactRecords,
  { knownSecrets, data }: VersionTools,
): Promise<JsonObject[]> {
  const versions: JsonObject[] = [];
  for (const version of records) {
    const { snapshotSha256: sha256, sizeBytes } = version;
    const travels = version.available && sha256 !== null && (await mayTravel(workspaces, sha256, knownSecrets));
    if (travels) data.set(sha256, sizeBytes ?? 0);
    const known = (ids: ReadonlySet<string>, id: string | null) => (id !== null && ids.has(id) ? id : null);
    const { artifact_id: _artifact, ...kept } = documentOf(ARTIFACT_VERSION, version);
    versions.push({
      ...kept,
      producing_cell_id: known(cellIds, version.producingCellId),
      env_snapshot_id: known(environmentIds, version.envSnapshotId),
      available: travels,
      snapshot_sha256: travels ? sha256 : null,
    });
  }
  return versions;
}

/** What is told of bytes that are not there, or are not what was recorded. */
const LOST: ReadonlySet<string> = new Set(['WORKSPACE_PACK_CORRUPT', 'FILE_MISSING']);

/** Whether bytes are there, are what was recorded, and hold no secret. */
async function mayTravel(
  workspaces: WorkspaceStore,
  sha256: string,
  knownSecrets: readonly string[],
): Promise<boolean> {
  try {
    return !(await bytesHoldSecret(workspaces.readBlob(sha256), knownSecrets));
  } catch (error) {
    if (error instanceof HoldfastError && LOST.has(error.code)) return false;
    throw error;
  }
}
