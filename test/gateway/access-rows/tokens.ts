import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const tokensAccess: Access = {
  showPrincipal: { roles: ROLES },
  listTokens: { roles: ['admin'] },
  createToken: { roles: ['admin'], body: { subject: 's', roles: ['agent'] } },
  rotateToken: { roles: ['admin'], body: {} },
  revokeToken: { roles: ['admin'] },
};
