import { digestJson, type JsonObject, type JsonValue, sha256Hex } from '../../core/index.ts';
import { isAbsent, isCount, keyOf, objectOf, objectsOf, textOf } from '../documents.ts';
import type { DeepContext } from './context.ts';

/** Completion deliveries fit their messages, their branches, the artifact versions they name, and their own digests. */
export function checkDeliveries(context: DeepContext): void {
  const deliveries = context.records('artifacts.json', 'completion_deliveries');
  const messages = new Map<JsonValue | undefined, JsonObject>(
    context.records('session.json', 'messages').map((message) => [message['message_id'], message]),
  );
  const relations = deliveries.reduce((sum, delivery) => sum + entriesOf(delivery).length, 0);
  if (relations > context.limit('packageDeliveryRelations'))
    context.add('PACKAGE_LIMIT', 'too many delivery Artifact relations');
  const work = deliveries
    .flatMap(entriesOf)
    .reduce((sum, { size_bytes: size }) => sum + (isCount(size) ? 2 * size : 0), 0);
  if (work > context.limit('deliveryWorkBytes'))
    context.add('PACKAGE_LIMIT', 'completion delivery verification work exceeds its limit');
  const versions = versionsOf(context);
  for (const delivery of deliveries) {
    const wrong = faultOf(context, delivery, messages.get(delivery['message_id']), versions);
    if (wrong !== undefined) context.add('PACKAGE_DELIVERY', `completion delivery: ${wrong}`);
  }
  checkEnvelopes(context, deliveries);
}

const entriesOf = (delivery: JsonObject): readonly JsonObject[] =>
  objectsOf(objectOf(delivery, 'manifest')?.['artifacts']);

/** An envelope in a message without its record would be a claim that nothing backs. */
function checkEnvelopes(context: DeepContext, deliveries: readonly JsonObject[]): void {
  const ids = new Set(
    deliveries.map(({ delivery_id: id, message_id: message }) => keyOf([id ?? null, message ?? null])),
  );
  for (const message of context.records('session.json', 'messages')) {
    const envelope = objectOf(message, 'metadata')?.['completion_delivery'];
    if (isAbsent(envelope)) continue;
    const id = objectOf(objectOf(message, 'metadata'), 'completion_delivery')?.['delivery_id'];
    if (!ids.has(keyOf([id ?? null, message['message_id'] ?? null])))
      context.add('PACKAGE_DELIVERY', 'a completion delivery envelope is missing its ledger record');
  }
}

interface KnownVersion {
  readonly artifactId: JsonValue | undefined;
  readonly version: JsonObject;
}

function versionsOf(context: DeepContext): ReadonlyMap<JsonValue | undefined, KnownVersion> {
  const known = new Map<JsonValue | undefined, KnownVersion>();
  for (const artifact of context.records('artifacts.json', 'artifacts'))
    for (const version of objectsOf(artifact['versions']))
      known.set(version['version_id'], { artifactId: artifact['artifact_id'], version });
  return known;
}

/** The first thing that is wrong with a delivery. */
function faultOf(
  context: DeepContext,
  delivery: JsonObject,
  message: JsonObject | undefined,
  versions: ReadonlyMap<JsonValue | undefined, KnownVersion>,
): string | undefined {
  const { branch_id: branch, frame_id: frame, manifest } = delivery;
  if (!context.knows('branch', branch)) return 'its branch is an unknown identity';
  if (frame !== context.rootId && !context.knows('branch', frame)) return 'its frame is an unknown identity';
  const timing = timingFault(delivery);
  if (timing !== undefined) return timing;
  if (!message) return 'its message is an unknown identity';
  const sealed = messageFault(context, delivery, message);
  if (sealed !== undefined) return sealed;
  if (digestJson(manifest ?? null) !== delivery['manifest_sha256']) return 'its manifest digest does not fit';
  return manifestFault(context, objectOf(delivery, 'manifest')) ?? entriesFault(context, delivery, versions);
}

function timingFault({ status, created_at: created, published_at: published }: JsonObject): string | undefined {
  if (status !== 'committed' && status !== 'published') return 'its status is unknown';
  if (!isCount(created)) return 'it has no time';
  if (status === 'committed') return isAbsent(published) ? undefined : 'it was published before it was';
  return isCount(published) && published >= created ? undefined : 'it was published before it was created';
}

function messageFault(context: DeepContext, delivery: JsonObject, message: JsonObject): string | undefined {
  const branch = isAbsent(message['branch_id']) ? context.rootId : message['branch_id'];
  if (message['role'] !== 'assistant' || branch !== delivery['branch_id']) return 'its message is another';
  if (message['created_at'] !== delivery['created_at']) return 'its message has another time';
  if (sha256Hex(textOf(message, 'content') ?? '') !== delivery['content_sha256'])
    return 'its content digest does not fit';
  const envelope = objectOf(objectOf(message, 'metadata'), 'completion_delivery');
  const published = delivery['status'] === 'published' ? delivery['published_at'] : undefined;
  const fits =
    envelope?.['delivery_id'] === delivery['delivery_id'] &&
    envelope?.['manifest_sha256'] === delivery['manifest_sha256'] &&
    envelope?.['status'] === delivery['status'] &&
    envelope?.['published_at'] === published;
  return fits ? undefined : 'the envelope in its message does not fit';
}

function manifestFault(context: DeepContext, manifest: JsonObject | undefined): string | undefined {
  const entries = objectsOf(manifest?.['artifacts']);
  const own =
    manifest?.['schema_version'] === 1 &&
    manifest['root_frame_id'] === context.rootId &&
    manifest['project_id'] === context.projectId;
  if (!own) return 'its manifest belongs elsewhere';
  const versions = new Set(entries.map(({ version_id: id }) => id));
  return entries.length > 0 && versions.size === entries.length
    ? undefined
    : 'its manifest lists nothing, or one twice';
}

function entriesFault(
  context: DeepContext,
  delivery: JsonObject,
  versions: ReadonlyMap<JsonValue | undefined, KnownVersion>,
): string | undefined {
  for (const entry of entriesOf(delivery)) {
    const known = versions.get(entry['version_id']);
    if (!known || known.artifactId !== entry['artifact_id']) return 'it names an unknown identity (artifact version)';
    const digest = known.version['snapshot_sha256'];
    const row = typeof digest === 'string' ? context.pkg.files.get(`artifact-data/${digest}`) : undefined;
    const fits =
      known.version['available'] === true &&
      entry['filename'] === known.version['filename'] &&
      entry['content_type'] === known.version['content_type'] &&
      entry['sha256'] === digest &&
      entry['size_bytes'] === row?.size &&
      entry['url'] === versionUrl(textOf(entry, 'version_id') ?? '');
    if (!fits) return 'an entry does not fit its artifact version';
  }
  return undefined;
}

/** The exact-version address: every reserved character of the identity is encoded. */
export function versionUrl(versionId: string): string | undefined {
  if (versionId === '' || versionId === '.' || versionId === '..' || !versionId.isWellFormed()) return undefined;
  const encoded = encodeURIComponent(versionId).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `/api/v1/artifacts/versions/${encoded}`;
}
