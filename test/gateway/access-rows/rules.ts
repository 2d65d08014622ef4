import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const rulesAccess: Access = {
  listRules: { roles: ROLES },
  putRule: { roles: ['approver'], body: { decision: 'deny', tool: 'nobody_s' } },
  dropRule: { roles: ['approver'] },
};
