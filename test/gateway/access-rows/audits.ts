import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const auditsAccess: Access = {
  listAudits: { roles: ROLES },
};
