import { join } from 'node:path';
import { bytesHoldSecret, isPlainFileName, isSecretPath } from '../../archive/index.ts';
import { type JsonObject, LIMITS, redactText } from '../../core/index.ts';
import { digestOf, fileChunks } from '../import/files.ts';
import { type Artifact, ARTIFACT, type ArtifactVersion, ARTIFACT_VERSION, documentOf } from '../../sessions/index.ts';
import type { PackageContext } from '../model.ts';

/** The artifacts of a package, and where the bytes of their versions lie. */
export interface PackagedArtifacts {
  readonly artifacts: readonly JsonObject[];
  readonly excluded: readonly JsonObject[];
  /** Each content once: digest, size, file. */
  readonly data: ReadonlyMap<string, { readonly size: number; readonly path: string }>;
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
  root: string,
  records: ArtifactRecords,
  knownSecrets: readonly string[],
): Promise<PackagedArtifacts> {
  const artifacts: JsonObject[] = [];
  const excluded: JsonObject[] = [];
  const [artifactIds, versionIds] = [new Set<string>(), new Set<string>()];
  const data = new Map<string, { size: number; path: string }>();
  const byArtifact = Map.groupBy(records.versions, ({ artifactId }) => artifactId);
  for (const artifact of records.artifacts) {
    const { id, filename: name } = artifact;
    const hidden = isSecretPath(name) || !isPlainFileName(name) || redactText(name) !== name;
    const versions = hidden
      ? []
      : await packageVersions(context, root, byArtifact.get(id) ?? [], records, { knownSecrets, data });
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
  readonly data: Map<string, { size: number; path: string }>;
}

async function packageVersions(
  { files, importsFolder }: PackageContext,
  root: string,
  records: readonly ArtifactVersion[],
  { cellIds, environmentIds }: ArtifactRecords,
  { knownSecrets, data }: VersionTools,
): Promise<JsonObject[]> {
  const versions: JsonObject[] = [];
  for (const version of records) {
    const { bytesName, checksum } = version;
    const path = bytesName === null ? undefined : join(importsFolder, root, 'artifacts', bytesName);
    const found = path === undefined ? undefined : await readable(files, path, checksum);
    const travels =
      found !== undefined && !(await bytesHoldSecret(fileChunks(files, found.path), knownSecrets)) ? found : undefined;
    if (travels) data.set(travels.sha256, travels);
    const known = (ids: ReadonlySet<string>, id: string | null) => (id !== null && ids.has(id) ? id : null);
    const { artifact_id: _artifact, bytes_name: _name, ...kept } = documentOf(ARTIFACT_VERSION, version);
    versions.push({
      ...kept,
      producing_cell_id: known(cellIds, version.producingCellId),
      env_snapshot_id: known(environmentIds, version.envSnapshotId),
      available: travels !== undefined,
      snapshot_sha256: travels?.sha256 ?? null,
      ...(travels ? { checksum: travels.sha256, size_bytes: travels.size } : {}),
    });
  }
  return versions;
}

/** The bytes of a version, if they can be read, are not too many and are what was recorded. */
async function readable(files: PackageContext['files'], path: string, checksum: string | null) {
  try {
    const { kind, size } = files.lstat(path);
    if (kind !== 'file' || size > LIMITS.archiveMemberBytes) return undefined;
    const sha256 = await digestOf(files, path);
    return checksum !== null && checksum !== sha256 ? undefined : { sha256, size, path };
  } catch {
    return undefined;
  }
}
