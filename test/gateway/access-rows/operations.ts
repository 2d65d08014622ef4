import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const operationsAccess: Access = {
  listOperations: { roles: ROLES },
  auditOperations: { roles: ['admin'] },
  showOperation: { roles: ROLES },
  askOperation: { roles: ROLES, body: {} },
  processOperation: { roles: ['agent', 'admin'], body: {} },
  settleOperation: { roles: ['approver'], body: { verdict: 'done', reason: 'seen' } },
};
