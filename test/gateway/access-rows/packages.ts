import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const packagesAccess: Access = {
  exportSession: { roles: ROLES },
  verifyPackage: { roles: ROLES },
  importSession: { roles: ['agent', 'admin'] },
};
