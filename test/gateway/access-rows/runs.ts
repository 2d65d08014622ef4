import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const runsAccess: Access = {
  listRuns: { roles: ROLES },
  startRun: { roles: ['agent', 'admin'], body: { task: 'go' } },
  showRun: { roles: ROLES },
  stopRun: { roles: ROLES, body: {} },
  resumeRun: { roles: ['agent', 'admin'], body: {} },
};
