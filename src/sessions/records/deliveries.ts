import { versionUrl } from '../../archive/index.ts';
import { digestJson, fail, isJsonObject, type JsonObject, requireWithin, sha256Hex } from '../../core/index.ts';
import type { ReadTx, Tx } from '../../store/index.ts';
import type { SessionContext } from '../ledger.ts';
import type { Message, Principal } from '../model.ts';
import { messageOf } from '../rows.ts';
import { ARTIFACT_VERSION, type ArtifactVersion } from './artifacts.ts';
import { count, id, json, more, type NewRecord, oneOf, orNull, type RecordOf, sha256 } from './field.ts';
import { addRecord, changeRecord, type RecordEntry, requireRecord } from './record-rows.ts';
import { recordOf } from './shape.ts';

/** Binds a final message to exact artifact versions. `committed` until it is published, once. */
export const COMPLETION_DELIVERY = {
  kind: 'completion_delivery',
  table: 'completion_deliveries',
  fields: {
    id: id('delivery_id'),
    messageId: id('message_id'),
    branchId: id('branch_id'),
    frameId: id('frame_id'),
    status: oneOf('status', ['committed', 'published']),
    createdAt: count('created_at'),
    publishedAt: orNull(count('published_at')),
    manifestSha256: sha256('manifest_sha256'),
    contentSha256: sha256('content_sha256'),
    manifest: json('manifest'),
    idempotencyKey: id('idempotency_key'),
    more,
  },
} as const;

export type CompletionDelivery = RecordOf<typeof COMPLETION_DELIVERY.fields>;

const MESSAGE = 'SELECT * FROM messages WHERE message_id = ? AND root_frame_id = ?';
const SET_METADATA = 'UPDATE messages SET metadata = ? WHERE message_id = ?';
const BY_KEY = 'SELECT * FROM completion_deliveries WHERE root_frame_id = ? AND idempotency_key = ?';
const INSERT_RELATION = `INSERT INTO completion_delivery_artifacts (delivery_id, ordinal, root_frame_id, artifact_id,
  version_id) VALUES (?, ?, ?, ?, ?)`;
const DELIVERIES_OF_VERSION = `SELECT delivery_id FROM completion_delivery_artifacts WHERE version_id = ?
ORDER BY delivery_id LIMIT ?`;
const SHOWN = 100;

/** The fields of a message's metadata that a delivery writes, and that no line of the ledger says. */
export const DELIVERY_METADATA: ReadonlySet<string> = new Set([
  'completion_delivery',
  'review_status',
  'review_run_id',
  'candidate_content_sha256',
  'reviewed_content_sha256',
  'candidate_verdict_metadata',
  'candidate_verdict_metadata_sha256',
]);

/** The address of exactly these bytes. INVALID_VALUE for a version whose id has none. */
export function exactVersionUrl(versionId: string): string {
  const url = versionUrl(versionId);
  if (url === undefined) throw fail('INVALID_VALUE', 'A version with this id has no address.');
  return url;
}

export interface NewDelivery {
  readonly rootFrameId: string;
  readonly messageId: string;
  /** At least one, none twice; each with its bytes. */
  readonly versionIds: readonly string[];
  /** The same key again gives the delivery that was made, or DELIVERY_CONFLICT for another one. */
  readonly idempotencyKey: string;
  /** The message is a result that waits for its review. */
  readonly candidate?: boolean;
}

/**
 * Binds a message to versions of the session's artifacts: the manifest names each version with the digest and size of
 * its bytes, and the message's metadata says which delivery it belongs to. RECORD_NOT_FOUND, DELIVERY_CONFLICT,
 * DELIVERY_INVALID, LIMIT_REACHED, else as `addRecord`.
 */
export async function commitDelivery(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  asked: NewDelivery,
): Promise<CompletionDelivery> {
  const { rootFrameId, idempotencyKey } = asked;
  requireWithin('sessionDeliveryVersions', asked.versionIds.length);
  const versions: ArtifactVersion[] = [];
  for (const versionId of asked.versionIds)
    versions.push(await requireRecord(tx, principal, rootFrameId, ARTIFACT_VERSION, versionId));
  const message = await requireMessage(tx, rootFrameId, asked.messageId);
  if (message.role !== 'assistant') throw fail('DELIVERY_INVALID', 'Only a message of the assistant delivers.');
  const projectId = String((await tx.get(PROJECT, [rootFrameId]))?.['project_id']);
  const manifest = manifestOf(rootFrameId, projectId, versions);
  const digests = { manifestSha256: digestJson(manifest), contentSha256: sha256Hex(message.content) };
  const before = await tx.get(BY_KEY, [rootFrameId, idempotencyKey]);
  if (before) return sameDelivery(recordOf(COMPLETION_DELIVERY, before), message, digests);
  // It is as old as what it tells: a package says so, too.
  const { messageId, branchId, createdAt } = message;
  const values = { messageId, branchId, frameId: branchId, ...digests, manifest, idempotencyKey, createdAt };
  const made = await addDelivery(tx, context, principal, rootFrameId, { ...values, status: 'committed' });
  const review = asked.candidate ? { review_status: 'candidate', candidate_content_sha256: digests.contentSha256 } : {};
  await envelop(tx, message, made, review);
  return made;
}

const PROJECT = 'SELECT project_id FROM sessions WHERE root_frame_id = ?';

function sameDelivery(
  made: CompletionDelivery,
  message: Message,
  digests: { readonly manifestSha256: string; readonly contentSha256: string },
): CompletionDelivery {
  const same =
    made.messageId === message.messageId &&
    made.manifestSha256 === digests.manifestSha256 &&
    made.contentSha256 === digests.contentSha256;
  if (same) return made;
  throw fail('DELIVERY_CONFLICT', 'The idempotency key belongs to another delivery.');
}

function manifestOf(rootFrameId: string, projectId: string, versions: readonly ArtifactVersion[]): JsonObject {
  return {
    schema_version: 1,
    root_frame_id: rootFrameId,
    project_id: projectId,
    artifacts: versions.map((version) => ({
      artifact_id: version.artifactId,
      version_id: version.id,
      filename: version.filename,
      content_type: version.contentType,
      size_bytes: version.sizeBytes,
      sha256: version.snapshotSha256,
      url: exactVersionUrl(version.id),
    })),
  };
}

/**
 * Adds a delivery as it is, with its relations to versions: for an importer, which has the message. The manifest must
 * have the digest that the delivery says, at least one entry, no version twice, and each entry must say what the
 * session's version does: else DELIVERY_INVALID. See `addRecord`.
 */
export async function addDelivery(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  values: NewRecord<typeof COMPLETION_DELIVERY.fields> & Pick<CompletionDelivery, 'manifest'>,
  entry: RecordEntry = {},
): Promise<CompletionDelivery> {
  const versions: ArtifactVersion[] = [];
  for (const said of entriesOf(values)) {
    const versionId = id('version_id').check(said['version_id']);
    const version = await requireRecord(tx, principal, rootFrameId, ARTIFACT_VERSION, versionId);
    requireSame(said, version);
    versions.push(version);
  }
  const made = await addRecord(tx, context, principal, rootFrameId, COMPLETION_DELIVERY, values, entry);
  for (const [ordinal, version] of versions.entries())
    await tx.run(INSERT_RELATION, [made.id, ordinal, rootFrameId, version.artifactId, version.id]);
  return made;
}

function entriesOf(values: Pick<CompletionDelivery, 'manifest' | 'manifestSha256'>): JsonObject[] {
  const { manifest, manifestSha256 } = values;
  const artifacts = isJsonObject(manifest) ? manifest['artifacts'] : null;
  const entries = Array.isArray(artifacts) ? artifacts.filter(isJsonObject) : [];
  requireWithin('sessionDeliveryVersions', entries.length);
  const distinct = new Set(entries.map((entry) => entry['version_id']));
  if (entries.length === 0 || distinct.size !== entries.length)
    throw fail('DELIVERY_INVALID', 'A delivery names at least one artifact version, and none twice.');
  if (digestJson(manifest) !== manifestSha256)
    throw fail('DELIVERY_INVALID', 'The manifest of the delivery has another digest than it says.');
  return entries;
}

/** An entry of a manifest says what its version does, and the version has its bytes. */
function requireSame(said: JsonObject, version: ArtifactVersion): void {
  const same =
    version.available &&
    said['artifact_id'] === version.artifactId &&
    said['filename'] === version.filename &&
    (said['content_type'] ?? null) === version.contentType &&
    Number(said['size_bytes']) === version.sizeBytes &&
    said['sha256'] === version.snapshotSha256 &&
    said['url'] === exactVersionUrl(version.id);
  if (!same) throw fail('DELIVERY_INVALID', 'An entry of the delivery differs from the artifact version it names.');
}

async function requireMessage(tx: ReadTx, rootFrameId: string, messageId: string): Promise<Message> {
  const row = await tx.get(MESSAGE, [messageId, rootFrameId]);
  if (!row) throw fail('RECORD_NOT_FOUND', 'There is no such message in this session.');
  return messageOf(row);
}

/** Writes into the message's metadata which delivery it belongs to and how far that is. */
async function envelop(tx: Tx, message: Message, delivery: CompletionDelivery, more: JsonObject): Promise<void> {
  const { id: deliveryId, manifestSha256, status, publishedAt } = delivery;
  const before = isJsonObject(message.metadata) ? message.metadata : {};
  const envelope: JsonObject = {
    delivery_id: deliveryId,
    manifest_sha256: manifestSha256,
    status,
    ...(publishedAt === null ? {} : { published_at: publishedAt }),
  };
  const metadata = { ...before, ...more, completion_delivery: envelope };
  await tx.run(SET_METADATA, [json('metadata').store(metadata), message.messageId]);
}

/** The message of a delivery whose text is still what was delivered. DELIVERY_INVALID. */
async function deliveredMessage(tx: ReadTx, rootFrameId: string, delivery: CompletionDelivery): Promise<Message> {
  const message = await requireMessage(tx, rootFrameId, delivery.messageId);
  if (sha256Hex(message.content) === delivery.contentSha256) return message;
  throw fail('DELIVERY_INVALID', 'The message is no longer the one that was delivered.');
}

/**
 * Publishes a delivery; one that is published stays as it is. RECORD_NOT_FOUND, DELIVERY_INVALID when the message has
 * another text by now, SESSION_QUARANTINED, SESSION_REVERTING.
 */
export async function publishDelivery(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  deliveryId: string,
): Promise<CompletionDelivery> {
  const before = await requireRecord(tx, principal, rootFrameId, COMPLETION_DELIVERY, deliveryId);
  if (before.status === 'published') return before;
  const message = await deliveredMessage(tx, rootFrameId, before);
  const change = { status: 'published', publishedAt: context.clock.nowMs() } as const;
  const made = await changeRecord(tx, context, principal, rootFrameId, COMPLETION_DELIVERY, deliveryId, change);
  await envelop(tx, message, made, {});
  return made;
}

/**
 * Records that a review found the candidate of a delivery good: its message says `verified`, by which review, and the
 * digest of the verdict's own metadata, which is kept beside. DELIVERY_CONFLICT when it is no candidate (any more).
 */
export async function promoteDelivery(
  tx: Tx,
  principal: Principal,
  asked: {
    readonly rootFrameId: string;
    readonly deliveryId: string;
    readonly reviewRunId: string;
    readonly verdict: JsonObject;
  },
): Promise<CompletionDelivery> {
  const { rootFrameId, deliveryId, reviewRunId, verdict } = asked;
  const delivery = await requireRecord(tx, principal, rootFrameId, COMPLETION_DELIVERY, deliveryId);
  const message = await deliveredMessage(tx, rootFrameId, delivery);
  const metadata = isJsonObject(message.metadata) ? message.metadata : {};
  if (metadata['review_status'] !== 'candidate')
    throw fail('DELIVERY_CONFLICT', 'The delivery is not a candidate that waits for its review.');
  await envelop(tx, message, delivery, {
    candidate_verdict_metadata: verdict,
    review_status: 'verified',
    review_run_id: id('review_run_id').check(reviewRunId),
    reviewed_content_sha256: delivery.contentSha256,
    candidate_verdict_metadata_sha256: digestJson(verdict),
  });
  return delivery;
}

/** The deliveries that name a version, the first hundred. */
export async function deliveriesOfVersion(tx: ReadTx, versionId: string): Promise<string[]> {
  const rows = await tx.all(DELIVERIES_OF_VERSION, [versionId, SHOWN]);
  return rows.map((row) => String(row['delivery_id']));
}
