import { versionUrl } from '../../archive/index.ts';
import { digestJson, fail, type JsonObject, sha256Hex } from '../../core/index.ts';
import { COMPLETION_DELIVERY, type Message } from '../../sessions/index.ts';
import { type InjectionScreen, metadataOf } from './conversation.ts';
import { replaceUrls } from './delivery-text.ts';
import { Fields, fieldsOf } from './fields.ts';
import type { Identities } from './identities.ts';
import type { PlannedDelivery, PlannedFile } from './plan-model.ts';
import { recordFrom } from './planned.ts';
import type { PackageReader } from './reader.ts';

export interface ArtifactPlan {
  readonly artifacts: readonly JsonObject[];
  readonly versions: readonly JsonObject[];
  /** The SHA-256 of the bytes of the versions, each once. */
  readonly bytes: ReadonlySet<string>;
  readonly files: readonly PlannedFile[];
}

/** Artifacts with their versions, and the bytes that these have. */
export function planArtifacts(reader: PackageReader, ids: Identities): ArtifactPlan {
  const plan = {
    artifacts: [] as JsonObject[],
    versions: [] as JsonObject[],
    bytes: new Set<string>(),
    files: [] as PlannedFile[],
  };
  const rows = fieldsOf(reader.records('artifacts.json', 'artifacts'), 'an artifact');
  for (const row of rows) {
    const artifactId = ids.need('artifact', row.value('artifact_id'), 'an artifact');
    const { versions: _versions, ...kept } = row.record;
    const latest = ids.need('version', row.value('latest_version_id'), 'an artifact');
    plan.artifacts.push({ ...kept, artifact_id: artifactId, latest_version_id: latest });
    const versions = fieldsOf(row.objects('versions'), 'an artifact version');
    for (const version of versions.filter((one) => one.value('available') === true)) {
      const sha256 = version.needText('snapshot_sha256');
      const planned = planVersion(reader, ids, version, artifactId);
      plan.versions.push(planned);
      plan.bytes.add(sha256);
      if (planned['version_id'] === latest) plan.files.push({ name: row.needText('filename'), sha256 });
    }
  }
  return plan;
}

function planVersion(reader: PackageReader, ids: Identities, row: Fields, artifactId: string): JsonObject {
  const sha256 = row.needText('snapshot_sha256');
  return {
    ...row.record,
    version_id: ids.need('version', row.value('version_id'), 'an artifact version'),
    artifact_id: artifactId,
    producing_cell_id: ids.find('cell', row.value('producing_cell_id')),
    frame_id: ids.find('branch', row.value('frame_id')) ?? ids.root,
    env_snapshot_id: ids.find('environment', row.value('env_snapshot_id')),
    available: true,
    snapshot_sha256: sha256,
    checksum: sha256,
    size_bytes: reader.pkg.files.get(`artifact-data/${sha256}`)?.size ?? 0,
  };
}

export function planLineage(reader: PackageReader, ids: Identities): JsonObject[] {
  const edges = fieldsOf(reader.records('lineage.json', 'edges'), 'a lineage edge').flatMap((row) => {
    const input = ids.find('version', row.value('input_version_id'));
    const output = ids.find('version', row.value('output_version_id'));
    // A version whose bytes did not travel is not here, nor what was made from it or with it; none is made from itself.
    if (input === null || output === null || input === output) return [];
    const cell = ids.needIfPresent('cell', row.value('producing_cell_id'), 'a lineage edge');
    return [{ input_version_id: input, output_version_id: output, producing_cell_id: cell }];
  });
  return [...new Map(edges.map((edge) => [Object.values(edge).join('\n'), edge])).values()];
}

/** The old names of messages that tell of a delivery. */
export function deliveredMessages(reader: PackageReader): ReadonlySet<string> {
  const rows = fieldsOf(reader.records('artifacts.json', 'completion_deliveries'), 'a completion delivery');
  return new Set(rows.map((row) => row.needText('message_id')));
}

/** Deliveries as they will be bound: local addresses, a new manifest, and a message that claims no review. */
export function planDeliveries(reader: PackageReader, ids: Identities, screen: InjectionScreen): PlannedDelivery[] {
  const urls = localUrls(ids);
  const sources = new Map(
    fieldsOf(reader.records('session.json', 'messages'), 'a message').map((row) => [row.needText('message_id'), row]),
  );
  const rows = fieldsOf(reader.records('artifacts.json', 'completion_deliveries'), 'a completion delivery');
  return rows.map((row) => {
    const old = row.needText('message_id');
    const messageId = ids.need('message', old, 'a completion delivery');
    const source = sources.get(old);
    if (!source) throw fail('PACKAGE_DELIVERY', 'completion delivery: its message is an unknown identity');
    const message = { messageId, createdAt: source.count('created_at') ?? 0 };
    return planDelivery(row, source, message, { ids, screen, urls });
  });
}

interface DeliveryTools {
  readonly ids: Identities;
  readonly screen: InjectionScreen;
  readonly urls: ReadonlyMap<string, string>;
}

function planDelivery(
  row: Fields,
  source: Fields,
  message: Pick<Message, 'messageId' | 'createdAt'>,
  { ids, screen, urls }: DeliveryTools,
) {
  const from = 'a completion delivery';
  const id = ids.need('delivery', row.value('delivery_id'), from);
  const branchId = ids.need('branch', row.value('branch_id'), from);
  const { text: content, flagged } = screen.text(replaceUrls(source.needText('content'), urls));
  const manifest = planManifest(new Fields(row.object('manifest') ?? {}, 'a delivery manifest'), ids);
  const status = row.text('status') === 'published' ? 'published' : 'committed';
  const publishedAt = status === 'published' ? row.needCount('published_at') : null;
  const manifestSha256 = digestJson(manifest);
  const body: JsonObject = {
    delivery_id: id,
    message_id: message.messageId,
    branch_id: branchId,
    frame_id: ids.find('branch', row.value('frame_id')) ?? ids.root,
    status,
    created_at: message.createdAt,
    published_at: publishedAt,
    manifest_sha256: manifestSha256,
    content_sha256: sha256Hex(content),
    manifest,
    idempotency_key: `session-package:${sha256Hex(row.needText('delivery_id'))}`,
  };
  const envelope: JsonObject = {
    delivery_id: id,
    manifest_sha256: manifestSha256,
    status,
    ...(publishedAt === null ? {} : { published_at: publishedAt }),
  };
  const metadata = { ...(metadataOf(source, flagged) as JsonObject | null), completion_delivery: envelope };
  return {
    delivery: recordFrom(COMPLETION_DELIVERY, body),
    message: { messageId: message.messageId, rootFrameId: ids.root, content, metadata },
  };
}

function planManifest(source: Fields, ids: Identities): JsonObject {
  const entries = fieldsOf(source.objects('artifacts'), 'an entry of a delivery manifest');
  return {
    schema_version: 1,
    root_frame_id: ids.root,
    project_id: ids.projectId,
    artifacts: entries.map((entry) => {
      const version = ids.need('version', entry.value('version_id'), 'a delivery manifest');
      return {
        artifact_id: ids.need('artifact', entry.value('artifact_id'), 'a delivery manifest'),
        version_id: version,
        filename: entry.text('filename'),
        content_type: entry.text('content_type'),
        size_bytes: entry.needCount('size_bytes'),
        sha256: entry.needText('sha256'),
        url: versionUrl(version) ?? null,
      };
    }),
  };
}

/** For the exact-version address of every version at the source, the one here. */
function localUrls(ids: Identities): ReadonlyMap<string, string> {
  const urls = new Map<string, string>();
  for (const [old, fresh] of ids.mapOf('version')) {
    const [from, to] = [versionUrl(old), versionUrl(fresh)];
    if (from !== undefined && to !== undefined) urls.set(from, to);
  }
  return urls;
}
