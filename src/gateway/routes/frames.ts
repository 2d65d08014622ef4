import { z } from 'zod';
import { makeCheckpoint, removeSession, restartFresh } from '../../app/index.ts';
import { fail, HoldfastError, type JsonObject } from '../../core/index.ts';
import {
  type ArtifactVersion,
  exactVersionUrl,
  findArtifact,
  type Principal,
  requireSession,
} from '../../sessions/index.ts';
import type { ReadTx } from '../../store/index.ts';
import { requireStillGood, requireStillGoodIn } from '../authenticate.ts';
import { beginRun } from '../begin-run.ts';
import { checkpointDocument } from '../checkpoint-document.ts';
import type { GatewayContext } from '../context.ts';
import { route } from '../route.ts';
import { id, none } from '../schemas/common.ts';
import * as shape from '../schemas/frames.ts';
import { begunRun } from '../schemas/runs.ts';
import { ADMINS, ANYONE, DECIDERS, WORKERS } from './common.ts';

const ofFrame = z.strictObject({ root_frame_id: id });
const ofArtifact = z.strictObject({ artifact_id: id });
const frameOf = (_gateway: GatewayContext, _principal: Principal, params: z.output<typeof ofFrame>): string =>
  params.root_frame_id;

/** What the contracts of packages say under the name of a session's root frame, which is the session's id. */
export const frameRoutes = [
  route({
    id: 'showKernel',
    method: 'GET',
    path: '/api/v1/frames/{root_frame_id}/kernel',
    summary: 'What runs for a session, and whether it is view-only',
    roles: ANYONE,
    params: ofFrame,
    query: none,
    body: null,
    reply: shape.kernelStatus,
    status: 200,
    creates: false,
    handle: ({ gateway, principal, params }) => kernelStatus(gateway, principal, params.root_frame_id),
  }),
  route({
    id: 'executeInKernel',
    method: 'POST',
    path: '/api/v1/frames/{root_frame_id}/kernel/execute',
    summary: 'Run code in the session’s kernel: refused where none is configured, and before that in quarantine',
    roles: WORKERS,
    params: ofFrame,
    actsIn: frameOf,
    query: none,
    body: shape.execution,
    reply: shape.kernelStatus,
    status: 200,
    creates: false,
    handle: async () => {
      throw fail('KERNEL_MISSING', 'This installation runs no code of sessions: it has no kernel.');
    },
  }),
  route({
    id: 'sendMessage',
    method: 'POST',
    path: '/api/v1/frames/{root_frame_id}/message',
    summary: 'Say something in a session: a run begins with it and goes on in the background',
    roles: WORKERS,
    params: ofFrame,
    actsIn: frameOf,
    query: none,
    body: shape.newMessage,
    reply: begunRun,
    status: 202,
    creates: true,
    handle: async ({ gateway, principal, params, body, keep }) => {
      const { store } = gateway.runtime;
      const { root_frame_id: rootFrameId } = params;
      const { projectId } = await store.read('gateway.frame', (tx) => requireSession(tx, principal, rootFrameId));
      const branch = body.branch_id === undefined ? {} : { branchId: body.branch_id };
      const place = { projectId, rootFrameId, ...branch };
      return beginRun(gateway, principal, { agent: body.agent, task: body.content, place }, keep);
    },
  }),
  route({
    id: 'createCheckpoint',
    method: 'POST',
    path: '/api/v1/frames/{root_frame_id}/branches/checkpoints',
    summary: 'Capture the workspace and make a checkpoint of a branch',
    roles: WORKERS,
    params: ofFrame,
    actsIn: frameOf,
    query: none,
    body: shape.newCheckpoint,
    reply: shape.checkpoint,
    status: 201,
    creates: true,
    handle: async ({ gateway, principal, token, params, body, keep, request }) => {
      const { runtime } = gateway;
      const { store } = runtime;
      const { root_frame_id: rootFrameId } = params;
      const { activeBranchId } = await store.read('gateway.frame', (tx) => requireSession(tx, principal, rootFrameId));
      const { branch_id: branchId = activeBranchId, expected_head: expectedHead, reason } = body;
      const head = expectedHead === undefined ? {} : { expectedHead };
      const asked = { rootFrameId, branchId, reason, ...head };
      const made = await makeCheckpoint(runtime, principal, asked, {
        signal: request.signal,
        within: async (tx, one) => {
          await requireStillGoodIn(tx, gateway, request, token);
          await keep(tx, checkpointDocument(one));
        },
      });
      return checkpointDocument(made);
    },
  }),
  route({
    id: 'editArtifact',
    method: 'POST',
    path: '/api/v1/artifacts/{artifact_id}/edit',
    summary: 'Give an artifact a new version with this text',
    roles: WORKERS,
    params: ofArtifact,
    actsIn: ({ runtime }, principal, { artifact_id: artifactId }) =>
      runtime.store.read('gateway.artifact', (tx) => sessionOfArtifact(tx, principal, artifactId)),
    query: none,
    body: shape.artifactEdit,
    reply: shape.editedArtifact,
    status: 201,
    creates: true,
    handle: async ({ gateway: { runtime }, principal, params, body, keep }) => {
      const { store, histories } = runtime;
      const { id: artifactId, ...artifact } = await store.read('gateway.artifact', (tx) =>
        findArtifact(tx, principal, params.artifact_id),
      );
      const { filename, contentType, rootFrameId } = artifact;
      const document = (version: ArtifactVersion): JsonObject => ({
        artifact_id: artifactId,
        version_id: version.id,
        url: exactVersionUrl(version.id),
        sha256: version.checksum,
      });
      const bytes = Buffer.from(body.content);
      const made = await histories.artifacts.add(principal, rootFrameId, { filename, contentType, bytes }, (tx, one) =>
        keep(tx, document(one)),
      );
      return document(made);
    },
  }),
  route({
    id: 'recoverSession',
    method: 'POST',
    path: '/api/v1/frames/{root_frame_id}/recovery',
    summary: 'Trust an imported session: a confirmed fresh restart, the only way out of its quarantine',
    roles: DECIDERS,
    params: ofFrame,
    query: none,
    body: shape.recovery,
    reply: shape.recovered,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, body: { action, confirmed = false } }) => {
      const { root_frame_id } = params;
      return { root_frame_id, ...(await restartFresh(runtime, principal, root_frame_id, { action, confirmed })) };
    },
  }),
  route({
    id: 'removeSession',
    method: 'DELETE',
    path: '/api/v1/frames/{root_frame_id}',
    summary: 'Remove a session whole, quarantined or not; it cannot be undone',
    roles: ADMINS,
    params: ofFrame,
    query: none,
    body: null,
    reply: shape.removed,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, token, params, request }) => {
      // It may wait for whoever writes to the session.
      const before = () => requireStillGood(gateway, request, token);
      await removeSession(gateway.runtime, principal, params.root_frame_id, { before });
      return { ok: true };
    },
  }),
];

async function kernelStatus(
  { runtime: { store, packages } }: GatewayContext,
  principal: Principal,
  rootFrameId: string,
): Promise<JsonObject> {
  const quarantine = await packages.quarantineOf(principal, rootFrameId);
  const { origin } = await store.read('gateway.frame', (tx) => requireSession(tx, principal, rootFrameId));
  const locked = quarantine !== null;
  return {
    root_frame_id: rootFrameId,
    kernel_state: origin === 'import' ? 'ended' : 'none',
    view_only: locked,
    explicit_recovery_required: locked,
    trust_state: locked ? 'quarantined' : origin === 'import' ? 'trusted' : 'local',
    quarantine: quarantine && {
      reason: quarantine.reason,
      package_sha256: quarantine.package_sha256,
      injection_flags: quarantine.injection_flags,
    },
  };
}

/** Null where there is no such artifact: the route itself says so, once it has read what it was asked. */
async function sessionOfArtifact(tx: ReadTx, principal: Principal, artifactId: string): Promise<string | null> {
  try {
    return (await findArtifact(tx, principal, artifactId)).rootFrameId;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'RECORD_NOT_FOUND') return null;
    throw error;
  }
}
