import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const sideBranchesAccess: Access = {
  showGoals: { roles: ROLES },
  listSideBranches: { roles: ROLES },
  showSideBranch: { roles: ROLES },
};
