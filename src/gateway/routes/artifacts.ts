import { z } from 'zod';
import { asJsonValue, isJsonObject, JSON_PROFILES, type JsonObject } from '../../core/index.ts';
import {
  type Artifact,
  ARTIFACT,
  type ArtifactVersion,
  countAllRecords,
  documentOf,
  exactVersionUrl,
  type Fields,
  listRecords,
  listVersions,
  RECORD_SHAPES,
  requireSession,
  type Shape,
} from '../../sessions/index.ts';
import { bytesResponse } from '../bytes-reply.ts';
import { route } from '../route.ts';
import { id, none, page, text } from '../schemas/common.ts';
import * as shape from '../schemas/history.ts';
import { ANYONE } from './common.ts';
import { numbered } from './history.ts';

const ofSession = z.strictObject({ session_id: id });
const ofArtifact = z.strictObject({ session_id: id, artifact_id: id });
const ofVersion = z.strictObject({ version_id: id });

/** What a session made, and what else is recorded in it. */
export const artifactRoutes = [
  route({
    id: 'listArtifacts',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/artifacts',
    summary: 'Artifacts of a session, in the order in which they came',
    roles: ANYONE,
    params: ofSession,
    query: page,
    body: null,
    reply: shape.artifactPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query }) => {
      const found = await runtime.store.read('gateway.artifacts', (tx) =>
        listRecords(tx, principal, params.session_id, ARTIFACT, numbered(query)),
      );
      return { artifacts: found.items.map(artifactDocument), next: found.next };
    },
  }),
  route({
    id: 'listArtifactVersions',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/artifacts/{artifact_id}',
    summary: 'One artifact: its versions, oldest first',
    roles: ANYONE,
    params: ofArtifact,
    query: page,
    body: null,
    reply: shape.versionPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params: { session_id, artifact_id }, query }) => {
      const found = await runtime.store.read('gateway.versions', (tx) =>
        listVersions(tx, principal, session_id, artifact_id, numbered(query)),
      );
      return { versions: found.items.map(versionDocument), next: found.next };
    },
  }),
  route({
    id: 'readArtifactVersion',
    method: 'GET',
    path: '/api/v1/artifacts/versions/{version_id}',
    summary: 'The bytes of exactly this version; their digest is in a header, and a damaged content ends the reply',
    roles: ANYONE,
    params: ofVersion,
    query: none,
    body: null,
    reply: text,
    status: 200,
    media: 'application/octet-stream',
    creates: false,
    handle: async ({ gateway, principal, params, ...answering }) =>
      bytesResponse(gateway, await gateway.runtime.histories.artifacts.read(principal, params.version_id), answering),
  }),
  route({
    id: 'listRecords',
    method: 'GET',
    path: '/api/v1/sessions/{session_id}/records',
    summary: 'What is recorded in a session beside its history: how much of each kind, and the records of one kind',
    roles: ANYONE,
    params: ofSession,
    query: shape.recordQuery,
    body: null,
    reply: shape.recordPage,
    status: 200,
    creates: false,
    handle: ({ gateway: { runtime }, principal, params: { session_id }, query: { kind, ...given } }) =>
      runtime.store.read('gateway.records', async (tx) => {
        await requireSession(tx, principal, session_id);
        const counts = { ...(await countAllRecords(tx, session_id)) };
        const of = RECORD_SHAPES.find((one) => one.kind === kind);
        if (!of) return { counts, records: [], next: null };
        const found = await listRecords(tx, principal, session_id, of, numbered(given));
        return { counts, records: found.items.map((one) => plainDocument(of, one)), next: found.next };
      }),
  }),
];

function plainDocument(of: Shape, record: Parameters<typeof documentOf<Fields>>[1]): JsonObject {
  const plain = asJsonValue(documentOf(of, record), JSON_PROFILES.packages);
  return isJsonObject(plain) ? plain : {};
}

const artifactDocument = (one: Artifact): JsonObject => ({
  artifact_id: one.id,
  filename: one.filename,
  content_type: one.contentType,
  latest_version_id: one.latestVersionId,
  created_at: one.createdAt,
});

const versionDocument = (one: ArtifactVersion): JsonObject => ({
  version_id: one.id,
  artifact_id: one.artifactId,
  filename: one.filename,
  content_type: one.contentType,
  size_bytes: one.sizeBytes,
  sha256: one.snapshotSha256,
  available: one.available,
  producing_cell_id: one.producingCellId,
  url: one.available ? exactVersionUrl(one.id) : null,
  created_at: one.createdAt,
});
