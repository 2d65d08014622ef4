import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const batchesAccess: Access = {
  listBatches: { roles: ROLES },
  showBatch: { roles: ROLES },
  decideBatch: { roles: ['approver'], body: { decisions: [{ tool_call_id: 'x', decision: 'approve' }] } },
};
