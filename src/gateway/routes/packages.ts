import { verifyPackage } from '../../archive/index.ts';
import { PACKAGE_CONTENT_TYPE } from '../../packages/index.ts';
import { withPackageBody } from '../package-body.ts';
import { route } from '../route.ts';
import { none } from '../schemas/common.ts';
import * as shape from '../schemas/packages.ts';
import { ANYONE } from './common.ts';

export const packageRoutes = [
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
    handle: ({ gateway, principal, request }) =>
      withPackageBody(gateway, principal, request, async ({ source }) => {
        const { files_verified: files, problems, ...report } = await verifyPackage(source);
        return { ...report, files_verified: [...files], problems: [...problems] };
      }),
  }),
];
