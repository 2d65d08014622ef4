import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const approvalsAccess: Access = {
  listApprovals: { roles: ROLES },
  showApproval: { roles: ROLES },
  decideApproval: { roles: ['approver'], body: { decision: 'approve', digest: 'a'.repeat(64) } },
};
