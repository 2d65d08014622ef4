import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const framesAccess: Access = {
  showKernel: { roles: ROLES },
  executeInKernel: { roles: ['agent', 'admin'], body: { code: '1' } },
  sendMessage: { roles: ['agent', 'admin'], body: { content: 'go' } },
  createCheckpoint: { roles: ['agent', 'admin'], body: { reason: 'now' } },
  editArtifact: { roles: ['agent', 'admin'], body: { content: 'x' } },
  recoverSession: { roles: ['approver', 'admin'], body: { action: 'restart_fresh', confirmed: true } },
  removeSession: { roles: ['admin'] },
};
