import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const eventsAccess: Access = {
  streamEvents: { roles: ROLES },
  streamSessionEvents: { roles: ROLES },
};
