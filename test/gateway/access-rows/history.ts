import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const historyAccess: Access = {
  listCheckpoints: { roles: ROLES },
  diffCheckpoint: { roles: ROLES },
  forkBranch: { roles: ['agent', 'admin'], body: { checkpoint_id: 'c' } },
  activateBranch: { roles: ['agent', 'admin'], body: {} },
  revertSession: { roles: ['agent', 'admin'], body: { checkpoint_id: 'c' } },
  listArtifacts: { roles: ROLES },
  listArtifactVersions: { roles: ROLES },
  readArtifactVersion: { roles: ROLES },
  listRecords: { roles: ROLES },
};
