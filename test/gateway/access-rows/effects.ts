import { ROLES } from '../../../src/principals/index.ts';
import type { Access } from './access.ts';

export const effectsAccess: Access = {
  listEffects: { roles: ROLES },
  verifyRunEffects: { roles: ROLES },
  showEffect: { roles: ROLES },
};
