import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const projectsAndSessionsAccess: Access = {
  listProjects: { roles: ROLES },
  createProject: { roles: ['agent', 'admin'], body: { name: 'p' } },
  listSessions: { roles: ROLES },
  createSession: { roles: ['agent', 'admin'], body: {} },
  showSession: { roles: ROLES },
  listBranches: { roles: ROLES },
  listMessages: { roles: ROLES },
};
