import { z } from 'zod';
import { exportSession } from '../../app/index.ts';
import { verifyPackage } from '../../archive/index.ts';
import type { JsonObject } from '../../core/index.ts';
import { type ExportedPackage, type ImportResult, PACKAGE_CONTENT_TYPE } from '../../packages/index.ts';
import type { Token } from '../../principals/index.ts';
import type { Tx } from '../../store/index.ts';
import { requireStillGood } from '../authenticate.ts';
import type { GatewayContext } from '../context.ts';
import { answerUpload } from '../keyed-request.ts';
import { withPackageBody } from '../package-body.ts';
import { packageResponse } from '../package-reply.ts';
import { route } from '../route.ts';
import { id, none } from '../schemas/common.ts';
import * as shape from '../schemas/packages.ts';
import { ANYONE, WORKERS } from './common.ts';

export const packageRoutes = [
  route({
    id: 'exportSession',
    method: 'GET',
    path: '/api/v1/frames/{root_frame_id}/session/export',
    summary: 'The whole session as one sealed package, behind whoever writes to it; secrets stay here',
    roles: ANYONE,
    params: z.strictObject({ root_frame_id: id }),
    query: none,
    body: null,
    reply: z.string(),
    media: PACKAGE_CONTENT_TYPE,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, token, params, request, requestId }) => {
      const { runtime } = gateway;
      const free = runtime.packages.takePlace(principal);
      try {
        const made = await exportSession(runtime, principal, params.root_frame_id, request.signal);
        await stillGood(gateway, request, token, made);
        return packageResponse(gateway, made, { request, requestId }, () => {
          made.close();
          free();
        });
      } catch (error) {
        free();
        throw error;
      }
    },
  }),
  route({
    id: 'verifyPackage',
    method: 'POST',
    path: '/api/v1/sessions/verify',
    summary: 'Check a package without admitting anything of it; a failed check is a report, not a refusal',
    roles: ANYONE,
    params: none,
    query: none,
    body: null,
    takes: PACKAGE_CONTENT_TYPE,
    reply: shape.verifyReport,
    status: 200,
    creates: false,
    handle: ({ gateway, principal, token, request }) =>
      withPackageBody(gateway, { principal, token, request }, async ({ source }) => {
        const { files_verified: files, problems, ...report } = await verifyPackage(source);
        return { ...report, files_verified: [...files], problems: [...problems] };
      }),
  }),
  route({
    id: 'importSession',
    method: 'POST',
    path: '/api/v1/sessions/import',
    summary: 'Import a package as a new, locked session; nothing of it is run',
    roles: WORKERS,
    params: none,
    query: none,
    body: null,
    takes: PACKAGE_CONTENT_TYPE,
    reply: shape.imported,
    status: 201,
    creates: true,
    handle: ({ gateway, principal, token, request }) =>
      withPackageBody(gateway, { principal, token, request }, ({ source, sha256 }) =>
        answerUpload(gateway, { id: 'importSession', status: 201, token, request, sha256 }, async (keep) => {
          const within = (tx: Tx, result: ImportResult) => keep(tx, importDocument(result));
          return importDocument(await gateway.runtime.packages.import(principal, source, within));
        }),
      ),
  }),
];

/** An export waits for whoever writes to its session: it is not given to whose token was revoked meanwhile. TOKEN_INVALID. */
async function stillGood(
  gateway: GatewayContext,
  request: Request,
  token: Token,
  made: ExportedPackage,
): Promise<void> {
  try {
    await requireStillGood(gateway, request, token);
  } catch (error) {
    made.close();
    throw error;
  }
}

function importDocument({ identity_remap: remap, ...result }: ImportResult): JsonObject {
  return { ...result, identity_remap: { ...remap } };
}
