import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const packagesAccess: Access = {
  verifyPackage: { roles: ROLES },
};
